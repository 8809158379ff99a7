//! `weir resume` (CLI-SUS02).

use clap::{ArgMatches, Args, Command, FromArgMatches};
use futures::future::join_all;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use weir_runtime::args::Switch;

use super::suspend::Objects;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Group, Kind, Verbs};
use crate::output::progress;
use crate::readiness::is_ready;
use crate::verb::{Target, Verb};

/// The object to resume.
#[derive(Debug)]
pub(crate) struct Resume {
    target: Target,
    objects: Objects,
    flags: Flags,
}

#[derive(Args, Debug)]
struct Flags {
    /// Wait until the objects are ready; without the flag, one object is waited for and several are not.
    #[arg(long, switch())]
    wait: Option<bool>,
}

impl Verb for Resume {
    const WORD: &'static str = "resume";
    const EXAMPLES: &'static str = "  # Apply a Kustomization again
  weir resume kustomization podinfo

  # Fetch all Git repositories of the namespace again
  weir resume source git --all";

    fn applies_to(kind: &Kind) -> bool {
        kind.verbs != Verbs::Get
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Resume the reconciliation of suspended {} objects", kind.name),
            Target::Group(group) => format!("Resume the reconciliation of suspended {}", group.about()),
            Target::All => "Resume the reconciliation of everything".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        format!(
            "  # Resume one {noun}, and wait until it is ready\n  {command} podinfo\n\n  \
               # Two of another namespace, and wait for both\n  {command} podinfo redis --namespace apps --wait\n\n  \
               # All of the namespace\n  {command} --all"
        )
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        if group.is_none() { Flags::augment_args(Objects::flags(command)) } else { command }
    }

    fn arguments(_: Target, command: Command) -> Command {
        Objects::arguments(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (objects, flags) = (Objects::read(matches)?, Flags::from_arg_matches(matches)?);
        Ok(Self { target, objects, flags })
    }
}

impl Resume {
    /// Resumes each object, then waits for them if that is wanted.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let waits = self.flags.wait.unwrap_or(self.objects.names.len() == 1);
        for kind in self.target.kinds() {
            self.objects.check(kind)?;
            let cluster = &global.cluster().await?;
            let not_found = |name: &str| {
                format!("{} object '{name}' not found in {} namespace", kind.name, cluster.namespace)
            };
            let mut names = vec![];
            let resume = async |object: &DynamicObject| {
                let name = object.name_any();
                progress::action(&format!(
                    "resuming {} {name} in {} namespace",
                    kind.human, cluster.namespace
                ));
                cluster.patch(kind, &name, change(object)).await?;
                progress::success(&format!("{} resumed", kind.human));
                names.push(name);
                Ok(())
            };
            let each = self.objects.each(cluster, kind, not_found, resume, |_, error| Err(error)).await;
            let has_any = each.map_err(|error| match self.objects.names.is_empty() {
                true => error.prefixed("failed patching objects"),
                false => error,
            })?;
            if !has_any {
                progress::failure(&format!(
                    "no {} objects found in {} namespace",
                    kind.name, cluster.namespace
                ));
            }
            if waits && !names.is_empty() {
                names.sort();
                wait(cluster, kind, &names).await?;
            }
        }
        Ok(())
    }
}

/// Returns the change that resumes an object; none for one that is not suspended. A `suspend: false` stays: to remove it would make a new
/// generation, and take away what the manifest sets.
fn change(object: &DynamicObject) -> Value {
    let is_suspended = object.data.pointer("/spec/suspend") == Some(&Value::Bool(true));
    if is_suspended { json!({ "spec": { "suspend": null } }) } else { json!({}) }
}

async fn wait(cluster: &Cluster, kind: &'static Kind, names: &[String]) -> Result<(), Error> {
    names.iter().for_each(|_| progress::waiting(&format!("waiting for {} reconciliation", kind.name)));
    let waits = names.iter().map(|name| cluster.wait(kind, name, |object, now| is_ready(kind, object, now)));
    let mut count = 0;
    for (name, outcome) in names.iter().zip(join_all(waits).await) {
        match outcome {
            Ok(object) => {
                progress::success(&format!("{} {name} reconciliation completed", kind.name));
                progress::success(&(kind.success)(&object));
            }
            Err(error) => {
                count += 1;
                progress::failure(&format!("{} {name} reconciliation failed: {error}", kind.name));
            }
        }
    }
    if count > 0 { Err(Error::Resume { count, kind: kind.name }) } else { Ok(()) }
}
