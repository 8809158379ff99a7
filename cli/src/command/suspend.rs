//! `weir suspend` (CLI-SUS01), and the choice of objects that it shares with `weir resume`.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use kube::ResourceExt;
use serde_json::json;

use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Kind, Verbs};
use crate::output::progress;
use crate::verb::{Target, Verb};

/// The object to suspend.
#[derive(Debug)]
pub(crate) struct Suspend {
    target: Target,
    objects: Objects,
}

/// Which objects of a kind.
#[derive(Args, Debug, Clone)]
pub(crate) struct Objects {
    /// Names of objects.
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,
    /// All objects of the namespace.
    #[arg(long)]
    pub(super) all: bool,
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

    fn flags(_: Target, command: Command) -> Command {
        Objects::augment_args(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { target, objects: Objects::from_arg_matches(matches)? })
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
            for name in self.objects.find(cluster, kind, not_found).await? {
                progress::action(&format!(
                    "suspending {} {name} in {} namespace",
                    kind.human, cluster.namespace
                ));
                cluster.patch(kind, &name, json!({ "spec": { "suspend": true } })).await?;
                progress::success(&format!("{} suspended", kind.human));
            }
        }
        Ok(())
    }
}

impl Objects {
    /// Refuses a command line that names no object.
    pub(super) fn check(&self, kind: &Kind) -> Result<(), Error> {
        if self.names.is_empty() && !self.all { Err(Error::NameRequired(kind.human)) } else { Ok(()) }
    }

    /// Returns the names of the objects that exist, each once and in the order given. Missing ones are printed and
    /// left out.
    pub(super) async fn find(
        &self,
        cluster: &Cluster,
        kind: &'static Kind,
        not_found: impl Fn(&str) -> String,
    ) -> Result<Vec<String>, Error> {
        if self.names.is_empty() {
            let objects = cluster.list(kind, &Selection::default()).await?;
            let names: Vec<_> = objects.iter().map(ResourceExt::name_any).collect();
            return if names.is_empty() { Err(Error::NoObjects) } else { Ok(names) };
        }
        let mut found: Vec<String> = Vec::new();
        for name in &self.names {
            if found.contains(name) {
                continue;
            }
            let selection = Selection { name: Some(name.clone()), ..Selection::default() };
            if cluster.list(kind, &selection).await?.is_empty() {
                progress::failure(&not_found(name));
            } else {
                found.push(name.clone());
            }
        }
        Ok(found)
    }
}
