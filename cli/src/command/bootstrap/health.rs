//! The proof that the cluster follows the repository now (CLI-BST08, CLI-BST09).

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;

use super::plan::Plan;
use super::sync;
use super::work_tree::WorkTree;
use crate::cluster::Cluster;
use crate::deployment;
use crate::error::Error;
use crate::kind::{Kind, last_handled, ready, text};
use crate::output::progress;
use crate::readiness::Wait;

/// The objects that have to see the newest commit: kind, and the field with the revision.
const FOLLOWERS: [(&str, &str); 2] =
    [("gitrepository", "/status/artifact/revision"), ("kustomization", "/status/lastAttemptedRevision")];

/// Times that the objects are applied again because those of another repository were put back. One run may be at it, and one may follow.
const MAX_REPEATS: usize = 3;

/// Time for services that work to take over a commit; they need a second or two.
const PATIENCE: Duration = Duration::from_secs(15);

/// Waits until source, Kustomization and services are as they should be. All are looked at, whatever fails.
pub(super) async fn report(cluster: &Cluster, plan: &Plan, tree: &WorkTree) -> Result<(), Error> {
    let revision = newest(plan, tree);
    let mut failures = Vec::new();
    for (word, field) in FOLLOWERS {
        let Some(kind) = Kind::find(word) else { continue };
        progress::waiting(&format!(
            "waiting for {0} \"{1}/{1}\" to be reconciled",
            kind.name, plan.namespace
        ));
        match stays(cluster, plan, tree, follows(cluster, plan, kind, field, &revision)).await {
            Ok(()) => progress::success(&format!("{} reconciled successfully", kind.name)),
            Err(reason) => {
                progress::failure(&reason);
                failures.push(format!("error while waiting for {} to be ready: '{reason}'", kind.name));
            }
        }
    }
    progress::action("confirming components are healthy");
    match healthy(cluster, plan).await {
        Ok(()) => progress::success("all components are healthy"),
        Err(error) => failures.push(error.to_string()),
    }
    match failures.as_slice() {
        [] => Ok(()),
        [only] => Err(failed(1, only)),
        several => Err(failed(several.len(), &format!("[{}]", several.join(", ")))),
    }
}

/// Waits, and applies the objects again where a run that was at it for the repository of before puts the old ones back.
async fn stays(
    cluster: &Cluster,
    plan: &Plan,
    tree: &WorkTree,
    followed: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let mut followed = pin!(followed);
    for _ in 0..MAX_REPEATS {
        tokio::select! {
            found = &mut followed => return found,
            () = moved_back(cluster, plan) => {
                sync::apply_to(cluster, plan, tree).await.map_err(|error| error.to_string())?;
            }
        }
    }
    followed.await
}

/// Ends when the source in the cluster is another one than that of this run.
async fn moved_back(cluster: &Cluster, plan: &Plan) {
    let Some(kind) = Kind::find("gitrepository") else { return std::future::pending().await };
    let is_moved = |object: &DynamicObject, _| if is_of(object, plan) { Wait::GoesOn } else { Wait::Over };
    let waited = cluster.in_namespace(&plan.namespace).wait(kind, &plan.namespace, is_moved).await;
    // A fault of the source is printed by the wait for the source, which runs beside this one.
    if waited.is_err() {
        std::future::pending().await
    }
}

/// Lets services that follow the repository already apply its newest commit by themselves. They take the objects of this command for
/// drift until they know the commit, and would undo it. Where they do not get there in time, [`report`] tells why.
pub(super) async fn give_way(cluster: &Cluster, plan: &Plan, tree: &WorkTree) {
    if !reads(cluster, plan).await {
        return;
    }
    let revision = newest(plan, tree);
    let followed = async {
        for (word, field) in FOLLOWERS {
            let Some(kind) = Kind::find(word) else { continue };
            follows(cluster, plan, kind, field, &revision).await?;
        }
        Ok::<(), String>(())
    };
    drop(tokio::time::timeout(PATIENCE, followed).await);
}

/// Returns true when the source in the cluster is the branch of this run already.
async fn reads(cluster: &Cluster, plan: &Plan) -> bool {
    let Some(kind) = Kind::find("gitrepository") else { return false };
    let found = cluster.in_namespace(&plan.namespace).get(kind, &plan.namespace).await;
    found.is_ok_and(|object| is_of(&object, plan))
}

/// Returns true for the source of this run: the repository and its branch.
fn is_of(source: &DynamicObject, plan: &Plan) -> bool {
    (text(source, "/spec/url"), text(source, "/spec/ref/branch"))
        == (plan.sync_url.clone(), plan.flags.branch.clone())
}

fn newest(plan: &Plan, tree: &WorkTree) -> String {
    format!("{}@sha1:{}", plan.flags.branch, tree.head())
}

fn failed(count: usize, reasons: &str) -> Error {
    Error::Bootstrap(format!("bootstrap failed with {count} health check failure(s): {reasons}"))
}

async fn follows(
    cluster: &Cluster,
    plan: &Plan,
    kind: &'static Kind,
    field: &str,
    revision: &str,
) -> Result<(), String> {
    let name = &plan.namespace;
    let cluster = cluster.in_namespace(name);
    let token = Timestamp::now().to_string();
    // Otherwise it looks at the repository once an interval only. Its Kustomization follows by itself.
    let is_asked = kind.name == "GitRepository";
    if is_asked {
        cluster.request(kind, name, &token).await.map_err(|error| error.to_string())?;
    }
    let judge = |object: &DynamicObject, _| {
        let has_looked = !is_asked || last_handled(object) == Some(&token);
        judge(kind, object, field, revision, has_looked)
    };
    cluster.wait(kind, name, judge).await.map_err(|error| error.to_string())?;
    Ok(())
}

/// Judges an object by its condition Ready, once that is about the spec as it is now. A failure counts when `has_looked` is true:
/// before, it may be one that this run has mended.
fn judge(kind: &Kind, object: &DynamicObject, field: &str, revision: &str, has_looked: bool) -> Wait {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    if object.data.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true) {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        return Wait::Failed(format!("{} '{namespace}/{name}' is suspended", kind.name));
    }
    let observed = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    if observed.is_some_and(|observed| Some(observed) != object.metadata.generation) {
        return Wait::GoesOn;
    }
    match ready(object) {
        Some(("True", _)) if text(object, field) == revision => Wait::Over,
        Some(("False", message)) if has_looked => Wait::Failed(message.to_owned()),
        _ => Wait::GoesOn,
    }
}

async fn healthy(cluster: &Cluster, plan: &Plan) -> Result<(), Error> {
    let cluster = &cluster.in_namespace(&plan.namespace);
    match deployment::all_rolled_out(cluster, &plan.flags.choice.components()).await? {
        true => Ok(()),
        false => Err(Error::Bootstrap("timed out waiting for all resources to be ready".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::reconciled(1, "True", "main@sha1:1", true, Wait::Over)]
    #[case::of_an_older_commit(1, "True", "main@sha1:0", true, Wait::GoesOn)]
    #[case::of_an_older_spec(0, "False", "main@sha1:1", true, Wait::GoesOn)]
    #[case::fails(1, "False", "main@sha1:1", true, Wait::Failed("because".to_owned()))]
    #[case::has_failed_before(1, "False", "main@sha1:1", false, Wait::GoesOn)]
    #[case::at_work(1, "Unknown", "main@sha1:1", true, Wait::GoesOn)]
    fn an_object_follows(
        #[case] observed: i64,
        #[case] status: &str,
        #[case] found: &str,
        #[case] has_looked: bool,
        #[case] expected: Wait,
    ) {
        let object = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": { "name": "flux-system", "namespace": "flux-system", "generation": 1 },
            "status": {
                "observedGeneration": observed,
                "lastAttemptedRevision": found,
                "conditions": [{ "type": "Ready", "status": status, "message": "because" }],
            },
        }));
        let kind = Kind::find("kustomization").unwrap();
        let field = "/status/lastAttemptedRevision";
        assert_eq!(judge(kind, &object.unwrap(), field, "main@sha1:1", has_looked), expected);
    }

    #[test]
    fn a_suspended_object_is_not_waited_for() {
        let object = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": { "name": "a", "namespace": "b" },
            "spec": { "suspend": true },
        }));
        let kind = Kind::find("kustomization").unwrap();
        let expected = Wait::Failed("Kustomization 'b/a' is suspended".to_owned());
        assert_eq!(judge(kind, &object.unwrap(), "", "", true), expected);
    }
}
