//! `weir suspend` (CLI-SUS01), and the choice of objects that it shares with `weir resume`.

use std::collections::HashSet;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::json;

use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Group, Kind, Verbs};
use crate::output::progress;
use crate::verb::{Target, Verb};

/// The object to suspend.
#[derive(Debug)]
pub(crate) struct Suspend {
    target: Target,
    objects: Objects,
}

/// The objects of a kind that the command line names.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) names: Vec<String>,
    all: bool,
}

#[derive(Args, Debug)]
struct Names {
    /// Names of objects.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

#[derive(Args, Debug)]
struct All {
    /// All objects of the namespace.
    #[arg(long)]
    all: bool,
}

impl Verb for Suspend {
    const WORD: &'static str = "suspend";
    const EXAMPLES: &'static str = "  # Leave the objects of a Kustomization alone for a while
  weir suspend kustomization podinfo

  # Fetch nothing new from any Git repository of the namespace
  weir suspend source git --all";

    fn applies_to(kind: &Kind) -> bool {
        kind.verbs != Verbs::Get
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Suspend the reconciliation of {} objects", kind.name),
            Target::Group(group) => format!("Suspend the reconciliation of {}", group.about()),
            Target::All => "Suspend the reconciliation of everything".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        format!(
            "  # Suspend one {noun}\n  {command} podinfo\n\n  \
               # Two of another namespace\n  {command} podinfo redis --namespace apps\n\n  \
               # All of the namespace\n  {command} --all"
        )
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        if group.is_none() { Objects::flags(command) } else { command }
    }

    fn arguments(_: Target, command: Command) -> Command {
        Objects::arguments(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { target, objects: Objects::read(matches)? })
    }
}

impl Suspend {
    /// Suspends each object.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        for kind in self.target.kinds() {
            self.objects.check(kind)?;
            let cluster = &global.cluster().await?;
            let not_found =
                |name: &str| format!("{} {name} not found in {} namespace", kind.name, cluster.namespace);
            let suspend = async |object: &DynamicObject| {
                let name = &object.name_any();
                progress::action(&format!(
                    "suspending {} {name} in {} namespace",
                    kind.human, cluster.namespace
                ));
                cluster.patch(kind, name, json!({ "spec": { "suspend": true } })).await?;
                progress::success(&format!("{} suspended", kind.human));
                Ok(())
            };
            let failed = |name: &str, error: Error| {
                let place = format!("{name} in {} namespace", cluster.namespace);
                progress::failure(&format!("failed suspending {} {place}: {error}", kind.name));
                Ok(())
            };
            if !self.objects.each(cluster, kind, not_found, suspend, failed).await? {
                return Err(Error::NoObjects);
            }
        }
        Ok(())
    }
}

impl Objects {
    /// Adds the flag that stands for names.
    pub(super) fn flags(command: Command) -> Command {
        All::augment_args(command)
    }

    /// Adds the names.
    pub(super) fn arguments(command: Command) -> Command {
        Names::augment_args(command)
    }

    /// Reads both.
    pub(super) fn read(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (Names { names }, All { all }) =
            (Names::from_arg_matches(matches)?, All::from_arg_matches(matches)?);
        Ok(Self { names, all })
    }

    /// Refuses a command line that names no object.
    pub(super) fn check(&self, kind: &Kind) -> Result<(), Error> {
        if self.names.is_empty() && !self.all { Err(Error::NameRequired(kind.human)) } else { Ok(()) }
    }

    /// Does something with each object that exists, once and in the order given. A missing one is printed and passed over; `failed`
    /// decides if the others are done behind a failure with one that is named. Returns false when no name is given and the namespace
    /// has none.
    pub(super) async fn each(
        &self,
        cluster: &Cluster,
        kind: &'static Kind,
        not_found: impl Fn(&str) -> String,
        mut act: impl AsyncFnMut(&DynamicObject) -> Result<(), Error>,
        failed: impl Fn(&str, Error) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if self.names.is_empty() {
            let objects = cluster.list(kind, &Selection::default()).await?;
            for object in &objects {
                act(object).await?;
            }
            return Ok(!objects.is_empty());
        }
        let mut seen = HashSet::new();
        for name in self.names.iter().filter(|name| seen.insert(*name)) {
            let selection = Selection { name: Some(name.clone()), ..Selection::default() };
            let done = match cluster.list(kind, &selection).await {
                Ok(found) => match found.first() {
                    Some(object) => act(object).await,
                    None => {
                        progress::failure(&(not_found(name) + &cluster.similar(kind, name).await));
                        Ok(())
                    }
                },
                Err(error) => Err(error),
            };
            done.or_else(|error| failed(name, error))?;
        }
        Ok(true)
    }
}
