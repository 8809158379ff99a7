//! `weir create`: makes objects, or prints them as YAML (cli.md 5 and 6).
//!
//! ```text
//! flags ──► recipe of the kind ──► spec ──► --export: YAML
//!                                      └──► cluster: create or update, wait
//! ```

mod address;
mod credentials;
mod flag;
mod metadata;
mod recipe;
mod reference;
mod secret;
mod source_secret;
mod tenant;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value, json};

use self::flag::Flags;
use self::recipe::Recipe;
use crate::cluster::{Cluster, Upsert};
use crate::csv::Record;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Group, Kind, revision_of, text};
use crate::output::{manifest, print, progress};
use crate::readiness::is_ready;
use crate::verb::{OnKinds, Target, Verb};

/// The object to make.
pub(crate) enum Create {
    /// One of the kinds that services work on.
    Object(Object),
    /// A Secret with credentials.
    Secret(secret::Command),
    /// Namespaces and rights of a tenant.
    Tenant(ArgMatches),
}

/// An object of one of the kinds.
pub(crate) struct Object {
    target: Target,
    matches: ArgMatches,
}

impl Args for Create {
    fn augment_args(command: Command) -> Command {
        OnKinds::<Object>::augment_args(command).defer(|command| {
            OnKinds::<Object>::with_kinds(command)
                .subcommand(secret::command())
                .subcommand(with_name(tenant::command()))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Create {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some(("secret", matches)) => secret::Command::read(matches).map(Self::Secret),
            Some(("tenant", matches)) => Ok(Self::Tenant(matches.clone())),
            _ => OnKinds::<Object>::from_arg_matches(matches).map(|OnKinds(object)| Self::Object(object)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Create {
    /// Makes or prints the object.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.run(global).await,
            Self::Secret(secret) => secret.run(global).await,
            Self::Tenant(matches) => tenant::run(&Flags(&matches), global).await,
        }
    }
}

pub(crate) use self::address::hint_of_url;
pub(crate) use self::credentials::{
    DEFAULT_RSA_BITS, Entries, KeyChoice, chosen_key_pair, rsa_bits, ssh_host,
};
pub(crate) use self::recipe::below;
pub(crate) use self::secret::{Draft, apply_pull_secret, host_keys};

/// Adds the name of the object.
fn with_name(command: Command) -> Command {
    command.arg(Arg::new("name").value_name("NAME").help("Name of the object"))
}

/// Adds the flags of all of `create`: an interval, labels, and the choice to print only.
fn with_common_flags(command: Command) -> Command {
    flag::augment(command, &[recipe::ANY_INTERVAL])
        .arg(
            Arg::new("export")
                .long("export")
                .action(ArgAction::SetTrue)
                .help("Print the object as YAML instead"),
        )
        .arg(
            Arg::new("label")
                .long("label")
                .value_name("KEY=VALUE")
                .value_parser(clap::value_parser!(Record))
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .help("Label of the object; may be given several times"),
        )
}

impl Verb for Object {
    const WORD: &'static str = "create";
    const EXAMPLES: &'static str = "  # Fetch a Git repository
  weir create source git podinfo --url https://github.com/stefanprodan/podinfo --branch master

  # Apply a folder of it, and wait until all is healthy
  weir create kustomization podinfo --source GitRepository/podinfo --path ./kustomize --prune --wait

  # Print a Secret with a token, to be encrypted before it goes to Git
  weir create secret git podinfo-auth --url https://github.com/stefanprodan/podinfo \\
    --bearer-token \"$TOKEN\" --export";

    fn applies_to(kind: &Kind) -> bool {
        Recipe::of(kind).is_some()
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Create or update one {}", kind.name),
            Target::Group(group) => format!("Create or update {}", group.about()),
            Target::All => "Create everything".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let recipe = if let Target::Kind(kind) = target { Recipe::of(kind) } else { None };
        format!(
            "  # Print one {}, as it would be made\n  {command} {}",
            target.noun(),
            recipe.map_or("", |recipe| recipe.example)
        )
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        match group {
            None => with_common_flags(command),
            Some(Group::Source) => flag::augment(command, &[recipe::FETCH_TIMEOUT]),
            Some(_) => command,
        }
    }

    fn arguments(target: Target, command: Command) -> Command {
        let recipe = if let Target::Kind(kind) = target { Recipe::of(kind) } else { None };
        flag::augment(with_name(command), recipe.map_or(&[], |recipe| recipe.flags))
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { target, matches: matches.clone() })
    }
}

impl Object {
    async fn run(self, global: &Global) -> Result<(), Error> {
        let flags = Flags(&self.matches);
        for kind in self.target.kinds() {
            let Some(recipe) = Recipe::of(kind) else { continue };
            let (name, mut spec) = (metadata::name(&flags)?, Map::new());
            (recipe.complete)(&flags, &mut spec)?;
            flag::fill(&mut spec, recipe.flags, &flags);
            let labels = metadata::labels(&flags)?;
            let namespace = global.namespace()?;
            if flags.is_on("export") {
                if kind.name == "HelmChart" {
                    progress::generating("generating HelmChart source");
                }
                print(&manifest::document(&object(kind, name, &namespace, labels, spec))?)?;
                continue;
            }
            let cluster = &global.cluster().await?;
            let noun = noun(kind);
            if kind.name != "OCIRepository" {
                progress::generating(&format!("generating {noun}"));
            }
            if let Some(secret) = source_secret::apply(kind, name, &flags, &labels, cluster).await? {
                manifest::put(&mut spec, "/secretRef/name", secret);
                if flags.is_on("pass-credentials") {
                    manifest::put(&mut spec, "/passCredentials", true);
                }
            }
            apply(cluster, kind, name, &object(kind, name, &cluster.namespace, labels, spec), &noun).await?;
        }
        Ok(())
    }
}

/// Returns the words for a source that is ready and has no artifact, which are others for each kind.
fn without_artifact(kind: &Kind, noun: &str) -> String {
    let missing = "no artifact was found";
    match kind.name {
        "OCIRepository" => missing.to_owned(),
        "Bucket" => format!("{noun} reconciliation but {missing}"),
        _ => format!("{noun} reconciliation completed but {missing}"),
    }
}

fn object(
    kind: &Kind,
    name: &str,
    namespace: &str,
    labels: Map<String, Value>,
    spec: Map<String, Value>,
) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{}", kind.group, kind.version),
        "kind": kind.name,
        "metadata": { "name": name, "namespace": namespace },
        "spec": spec,
    });
    if !labels.is_empty() {
        manifest::set(&mut object, "/metadata/labels", labels);
    }
    object
}

/// Returns the name of a kind in messages.
fn noun(kind: &Kind) -> String {
    match kind.words.group == Some(Group::Source) && kind.name != "OCIRepository" {
        true => format!("{} source", kind.name),
        false => kind.name.to_owned(),
    }
}

/// Makes or updates an object, and waits until it is ready.
async fn apply(
    cluster: &Cluster,
    kind: &'static Kind,
    name: &str,
    object: &Value,
    noun: &str,
) -> Result<(), Error> {
    let is_source = kind.words.group == Some(Group::Source);
    progress::action(&format!("applying {noun}"));
    let outcome = cluster.upsert(kind, name, object).await?;
    let made = if matches!(kind.name, "HelmRepository" | "HelmChart") { "source" } else { noun };
    match outcome {
        Upsert::Created => progress::success(&format!("{made} created")),
        // Flux says so of these kinds only if it is true.
        Upsert::Unchanged if kind.words.group == Some(Group::Image) => {}
        Upsert::Updated | Upsert::Unchanged => progress::success(&format!("{made} updated")),
    }
    progress::waiting(&format!("waiting for {noun} reconciliation"));
    let ready = cluster.wait(kind, name, |object, now| is_ready(kind, object, now)).await?;
    progress::success(&match kind.words.group {
        Some(_) => format!("{noun} reconciliation completed"),
        None => format!("{} {name} is ready", kind.name),
    });
    match kind.name {
        "Receiver" => {
            progress::success(&format!("generated webhook URL {}", text(&ready, "/status/webhookPath")));
        }
        "Kustomization" | "HelmRelease" => progress::success(&(kind.success)(&ready)),
        _ if is_source && (kind.static_message)(&ready).is_none() => match revision_of(&ready) {
            revision if revision.is_empty() => return Err(Error::NoArtifact(without_artifact(kind, noun))),
            revision => progress::success(&format!("fetched revision: {revision}")),
        },
        _ => {}
    }
    Ok(())
}
