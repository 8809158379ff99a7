//! `weir run`: all services in one process, for a laptop or an edge box.
//!
//! Takes the flags of every service and hands each service its own as an argument list, so that Flux's flag names
//! stay the only interface. The addresses by which the services of the process reach each other are filled in
//! ([`Layout`]).

mod layout;
mod member;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use weir_runtime::args::RuntimeArgs;
use weir_runtime::service::{Entry, cancel_at_signal};
use weir_runtime::{Environment, ServiceError, run_together, service_main};

use self::layout::Layout;
use self::member::MEMBERS;
use crate::error::Error;
use crate::global::Global;

/// Defaults that differ from the services' own: loopback only, and no port twice.
const DEFAULTS: [(&str, &str); 7] = [
    ("metrics_addr", "127.0.0.1:8080"),
    ("health_addr", "127.0.0.1:9440"),
    ("grpc_addr", "127.0.0.1:9393"),
    ("storage_addr", "127.0.0.1:9790"),
    ("events_addr", "127.0.0.1:9090"),
    ("receiver_addr", "127.0.0.1:9292"),
    ("log_encoding", "console"),
];

const EXAMPLES: &str = "Examples:
  # Against the current cluster, state in the user's data folder
  weir run

  # Another cluster, state in a folder of its own, more objects at once
  weir run --context edge --storage-path /var/lib/weir/artifacts --state-dir /var/lib/weir/state --concurrent 20

  # The CRDs have to be there before
  weir build deploy/kustomize/crds | kubectl apply --server-side -f -";

/// The flags, as they were given.
#[derive(Debug)]
pub(crate) struct Run {
    runtime: RuntimeArgs,
    folders: Folders,
    matches: ArgMatches,
}

#[derive(Args, Debug)]
struct Folders {
    /// Folder for data that must survive a restart: image tags and undelivered events [default: weir/state in the user's
    /// data folder].
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Folder of the artifacts [default: weir/artifacts in the user's data folder].
    #[arg(long, value_name = "DIR", env = "STORAGE_PATH")]
    storage_path: Option<PathBuf>,
}

impl Args for Run {
    fn augment_args(command: Command) -> Command {
        let command = Folders::augment_args(command).after_help(EXAMPLES);
        let mut command = RuntimeArgs::augment_args(command.next_help_heading("Flags of all services"));
        for member in &MEMBERS {
            let heading = format!("Flags of {}", member.name);
            for flag in member.own_flags() {
                if !command.get_arguments().any(|known| known.get_id() == flag.get_id()) {
                    command = command.arg(flag.help_heading(heading.clone()));
                }
            }
        }
        for (flag, default) in DEFAULTS {
            command = command.mut_arg(flag, |arg| arg.default_value(default));
        }
        // Flux's camel case stays as an alias.
        command.mut_arg("receiver_addr", |arg| arg.long("receiver-addr").visible_alias("receiverAddr"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Run {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            runtime: RuntimeArgs::from_arg_matches(matches)?,
            folders: Folders::from_arg_matches(matches)?,
            matches: matches.clone(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs one service alone, if this process was started by its name (docs/adr/0021).
pub(crate) fn alone() -> Option<ExitCode> {
    Some(service_main(member::Member::of_this_process()?.program))
}

impl Run {
    /// Runs the services until SIGTERM or SIGINT; a second signal cuts the stop short.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        weir_runtime::log::init(self.runtime.log_level, self.runtime.log_encoding);
        let (config, login) = global.configuration().await?;
        let namespace = match std::env::var("RUNTIME_NAMESPACE") {
            Ok(namespace) if !namespace.is_empty() => namespace,
            _ => global.namespace()?,
        };
        let services = self.services()?;
        let env = Environment::with_login(config, namespace, login.as_ref()).map_err(ServiceError::from)?;
        let stopping = cancel_at_signal(env.shutdown.clone());
        let outcome = tokio::select! {
            outcome = run_together(&self.runtime, env, services) => outcome,
            () = stopping => Err(ServiceError::Other("stopped by a second signal".to_owned())),
        };
        Ok(outcome?)
    }

    fn services(&self) -> Result<Vec<Entry>, Error> {
        member::check_gates(&self.runtime.feature_gates.join(","))?;
        let events_addr = self.matches.get_one::<String>("events_addr").map_or("", String::as_str);
        let Folders { state_dir, storage_path } = &self.folders;
        let layout = Layout::new(&self.runtime, events_addr, storage_path.as_deref(), state_dir.as_deref())?;
        let start = |member: &member::Member| {
            let arguments = member.arguments(&self.matches, &layout);
            let program = (member.program)(arguments).map_err(|refused| Error::Flags(refused.to_string()))?;
            Ok(program.into_entry())
        };
        let services = MEMBERS.iter().map(start).collect::<Result<_, Error>>()?;
        layout.make_folders()?;
        Ok(services)
    }
}

#[cfg(test)]
mod tests;
