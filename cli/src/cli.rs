//! The command line: which command runs, and how it ends.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use futures::future::LocalBoxFuture;
use weir_runtime::service::{forbid_core_dumps, install_crypto, single_threaded_runtime, tokio_runtime};

use crate::command::artifact;
use crate::command::bootstrap::Bootstrap;
use crate::command::build::{Build, Directory, Start};
use crate::command::check::Check;
use crate::command::completion::{self, Completion};
use crate::command::create::Create;
use crate::command::debug::Debug;
use crate::command::delete::Delete;
use crate::command::demo::Demo;
use crate::command::diff::Diff;
use crate::command::envsubst::Envsubst;
use crate::command::events::Events;
use crate::command::export::Export;
use crate::command::get::Get;
use crate::command::install::Install;
use crate::command::logs::Logs;
use crate::command::man::Man;
use crate::command::migrate::Migrate;
use crate::command::plan::Plan;
use crate::command::plugin::Plugin;
use crate::command::reconcile::Reconcile;
use crate::command::resume::Resume;
use crate::command::run::{self, Run};
use crate::command::sops::Sops;
use crate::command::stats::Stats;
use crate::command::suspend::Suspend;
use crate::command::trace::Trace;
use crate::command::tree::Tree;
use crate::command::trigger::Trigger;
use crate::command::uninstall::Uninstall;
use crate::command::version::Version;
use crate::command::watch::Watch;
use crate::command::why::Why;
use crate::error::Error;
use crate::examples;
use crate::flag_forms;
use crate::global::Global;
use crate::output::progress;
use crate::plugin::Plugins;
use crate::refusal;
use crate::verb::OnKinds;

/// Shows and steers GitOps in a Kubernetes cluster.
///
/// The cluster is the one that kubectl works with: KUBECONFIG and --context choose it.
#[derive(Parser)]
#[command(
    name = "weir",
    version = concat!("version ", env!("CARGO_PKG_VERSION")),
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_required = true,
    args_override_self = true,
    after_help = "Examples:
  # What is applied, and is it healthy?
  weir get kustomizations -A

  # Fetch the source and apply it now
  weir reconcile kustomization apps --with-source

  # What is wrong with one, and what mends it?
  weir why kustomization/apps

  # What would change if this branch were merged?
  weir plan source git podinfo --branch feature

  # Follow all objects live
  weir watch

  # Run all services in this process against the current cluster
  weir run"
)]
pub(crate) struct Cli {
    /// Print the version.
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the prerequisites and the health of an installation.
    Check(Check),
    /// Show the whole loop on a throw-away control plane.
    Demo(Demo),
    /// Install the services, or print their manifests.
    Install(Box<Install>),
    /// Install the services and have them follow a Git repository.
    #[command(disable_help_subcommand = true)]
    Bootstrap(Box<Bootstrap>),
    /// Take the services away; what they applied stays.
    Uninstall(Uninstall),
    /// Show objects and their status.
    Get(OnKinds<Get>),
    /// Reconcile an object now, and wait until that is done.
    Reconcile(OnKinds<Reconcile>),
    /// Suspend the reconciliation of objects.
    Suspend(OnKinds<Suspend>),
    /// Resume the reconciliation of suspended objects.
    Resume(OnKinds<Resume>),
    /// Create or update objects, or print them as YAML.
    Create(Box<Create>),
    /// Print objects as YAML, without what the cluster added.
    Export(OnKinds<Export>),
    /// Delete an object.
    Delete(OnKinds<Delete>),
    /// Run all services in this process.
    Run(Box<Run>),
    /// Follow the status of objects live.
    Watch(Watch),
    /// Show what an object waits for, and what would unblock it.
    Why(Why),
    /// Show the objects that an object applies.
    Tree(Tree),
    /// Show which source and revision an object comes from.
    Trace(Trace),
    /// Show the Kubernetes events of objects.
    Events(Events),
    /// Print the log lines of the services.
    Logs(Logs),
    /// Send a webhook to a Receiver.
    Trigger(Trigger),
    /// Count the objects of each kind.
    Stats(Stats),
    /// Print the status of an object, and the values that its references resolve to.
    Debug(Debug),
    /// Replace variables in the text of stdin.
    Envsubst(Envsubst),
    /// Build a kustomization and print its resources.
    Build(Box<Build>),
    /// Compare the cluster or a registry with local files.
    #[command(subcommand, disable_help_subcommand = true)]
    Diff(Diff),
    /// Show what another revision of a source would change.
    Plan(OnKinds<Plan>),
    /// Write objects or manifests in the newest version of their kind.
    Migrate(Migrate),
    /// Push artifacts to OCI registries.
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Push(Box<artifact::Push>),
    /// Pull artifacts from OCI registries.
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Pull(artifact::Pull),
    /// Tag artifacts in OCI registries.
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Tag(artifact::Tag),
    /// List artifacts in OCI registries.
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    List(artifact::List),
    /// Decrypt SOPS files.
    Sops(Sops),
    /// List, install and remove plugins: programs that add commands to weir.
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Plugin(Plugin),
    /// Print the script that completes commands in a shell.
    Completion(Completion),
    /// Write a man page for each command.
    Man(Man),
    /// Print the versions of this command and of the services in the cluster.
    Version(Version),
}

/// `weir build DIR` alone: to put the tree of all verbs together takes longer than a small build.
#[derive(Parser)]
#[command(args_override_self = true)]
struct BuildAlone {
    #[command(flatten)]
    _global: Global,
    #[command(flatten)]
    directory: Directory,
}

impl BuildAlone {
    /// Returns the build that this process was started for, if any. Arguments that do not parse are left to [`Cli`]
    /// to explain.
    fn requested() -> Option<Directory> {
        let mut arguments = std::env::args_os().skip(1);
        let verb = arguments.next().filter(|verb| verb == "build")?;
        let Self { directory, .. } = Self::try_parse_from(std::iter::once(verb).chain(arguments)).ok()?;
        Some(directory).filter(|directory| !directory.is_a_kind())
    }
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    if let Some(code) = run::alone() {
        return code;
    }
    if let Some(code) = completion::answer(Cli::command) {
        return code;
    }
    let result = match BuildAlone::requested() {
        Some(directory) => directory.run(),
        None => match parse() {
            Ok(Asked::Command(cli)) => run(*cli),
            Ok(Asked::Plugin(error)) => Err(error),
            Err(refused) => return explain(&refused),
        },
    };
    match result {
        Ok(()) | Err(Error::ReaderGone) => ExitCode::SUCCESS,
        Err(error) => {
            match &error {
                Error::Changed => progress::warning(&error.to_string()),
                error => progress::failure(&error.to_string()),
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Parts of the program that a command line is for.
enum Asked {
    /// A command.
    Command(Box<Cli>),
    /// A plugin, which cannot be started.
    Plugin(Error),
}

/// Reads the command line. A plugin takes the place of this process.
fn parse() -> Result<Asked, clap::Error> {
    let plugins = Plugins::find(Cli::command);
    let words = flag_forms::with_lists_behind(std::env::args_os().collect());
    if plugins.is_empty() {
        let matches = flag_forms::read(words, |words| commands().try_get_matches_from(words))?;
        return read(&matches);
    }
    if let Some(error) = plugins.run(commands()) {
        return Ok(Asked::Plugin(error));
    }
    let matches = flag_forms::read(words, |words| plugins.listed(commands()).try_get_matches_from(words))?;
    read(&matches)
}

/// The tree of commands, as command lines are read.
pub(crate) fn commands() -> clap::Command {
    as_read(Cli::command())
}

fn as_read(command: clap::Command) -> clap::Command {
    flag_forms::with_any_values(examples::kept_whole(command)).mut_subcommands(as_read)
}

fn read(matches: &clap::ArgMatches) -> Result<Asked, clap::Error> {
    let cli = Cli::from_arg_matches(matches).map_err(|refused| refused.format(&mut Cli::command()))?;
    Ok(Asked::Command(Box::new(cli)))
}

fn run(cli: Cli) -> Result<(), Error> {
    let Cli { mut global, command, .. } = cli;
    global.access.drop_empty();
    if !matches!(command, Command::Plugin(_)) {
        global.check()?;
    }
    let runs_services = matches!(command, Command::Run(_));
    let with_cluster: LocalBoxFuture<'_, _> = match command {
        Command::Build(build) => match build.start() {
            Start::Directory(directory) => return directory.run(),
            Start::Artifact(artifact) => return artifact.run(),
            Start::Kustomization(kustomization) => Box::pin(kustomization.run(&global)),
        },
        Command::Sops(sops) => Box::pin(sops.run()),
        Command::Envsubst(envsubst) => return envsubst.run(),
        Command::Completion(completion) => return completion.run(),
        Command::Man(man) => return man.run(Cli::command()),
        Command::Plugin(plugin) => Box::pin(plugin.run(Plugins::find(Cli::command), &global)),
        Command::Check(check) => Box::pin(check.run(&global)),
        Command::Install(install) => Box::pin(install.run(&global)),
        Command::Bootstrap(bootstrap) => Box::pin(bootstrap.run(&global)),
        Command::Uninstall(uninstall) => Box::pin(uninstall.run(&global)),
        Command::Create(create) => Box::pin(create.run(&global)),
        Command::Debug(debug) => Box::pin(debug.run(&global)),
        Command::Demo(demo) => Box::pin(demo.run(&global)),
        Command::Diff(diff) => Box::pin(diff.run(&global)),
        Command::Migrate(migrate) => Box::pin(migrate.run(&global)),
        Command::Plan(OnKinds(plan)) => Box::pin(plan.run(&global)),
        Command::Tree(tree) => Box::pin(tree.run(&global)),
        Command::Trace(trace) => Box::pin(trace.run(&global)),
        Command::Events(events) => Box::pin(events.run(&global)),
        Command::Logs(logs) => Box::pin(logs.run(&global)),
        Command::Trigger(trigger) => Box::pin(trigger.run(&global)),
        Command::Stats(stats) => Box::pin(stats.run(&global)),
        Command::Delete(OnKinds(delete)) => Box::pin(delete.run(&global)),
        Command::Export(OnKinds(export)) => Box::pin(export.run(&global)),
        Command::Get(OnKinds(get)) => Box::pin(get.run(&global)),
        Command::Reconcile(OnKinds(reconcile)) => Box::pin(reconcile.run(&global)),
        Command::Suspend(OnKinds(suspend)) => Box::pin(suspend.run(&global)),
        Command::Resume(OnKinds(resume)) => Box::pin(resume.run(&global)),
        Command::Push(push) => Box::pin(push.run(&global)),
        Command::Pull(pull) => Box::pin(pull.run(&global)),
        Command::Tag(tag) => Box::pin(tag.run(&global)),
        Command::List(list) => Box::pin(list.run(&global)),
        Command::Run(run) => Box::pin(run.run(&global)),
        Command::Version(version) => Box::pin(version.run(&global)),
        Command::Why(why) => Box::pin(why.run(&global)),
        Command::Watch(watch) => Box::pin(watch.run(&global)),
    };
    forbid_core_dumps();
    install_crypto();
    let runtime = if runs_services { tokio_runtime() } else { single_threaded_runtime() };
    let result = runtime?.block_on(with_cluster);
    result.map_err(|error| error.at(global.access.place()))
}

/// Help goes to stdout; a command line that is wrong is one line on stderr, without usage, and exit code 1 (CLI-G11).
fn explain(refused: &clap::Error) -> ExitCode {
    let asked_for_help = matches!(
        refused.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked_for_help {
        return match crate::output::print(&examples::printed(&refused.render().to_string())) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    progress::failure(&refusal::text(refused));
    ExitCode::FAILURE
}
