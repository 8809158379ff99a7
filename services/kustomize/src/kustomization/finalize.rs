//! The end of applied objects when their Kustomization is deleted (KS 10.2). Dependencies play no part (KS-DEP-11).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use weir_api::Kustomization;
use weir_api::condition_type::READY;
use weir_runtime::{EventDraft, Finalized, ObjectKey, Run, Severity, condition};
use weir_ssa::{Entry, Pruned, Remains, Session};

use super::decide::conditions;
use super::health::{AT_ONCE, timeout_of};
use super::memory::Deletion;
use super::{KustomizationReconciler, inventory, report};
use crate::cluster::{GROUP, TargetError};

/// Pause between two looks at objects that are being deleted (KS-GC-22), or about to be taken over.
const PAUSE: Duration = Duration::from_secs(2);

impl KustomizationReconciler {
    pub(super) async fn delete_applied(&self, run: &Run<Kustomization>) -> Finalized<Kustomization> {
        let kustomization = &*run.object;
        let unit = self.memory.get(&run.key);
        let entries = unit.known_inventory(inventory::entries(kustomization));
        if unit.deletion.is_none() {
            if !deletes(kustomization) || entries.is_empty() {
                return Finalized::Done { events: Vec::new() };
            }
            if let Some(successor) = self.successor(kustomization, run.now) {
                return self.await_successor(run, &successor);
            }
        }
        // A cluster that cannot be reached keeps its Kustomization (KS-GC-27).
        let cluster = match self.clusters.target(kustomization, &self.keys.secrets).await {
            Ok(cluster) => cluster,
            Err(TargetError::Asking(pause)) => {
                return Finalized::Wait { give_up: pause, events: Vec::new() };
            }
            // All was deleted: its end is waited for no longer than if it could be seen.
            Err(TargetError::Failed(_)) if let Some(deletion) = unit.deletion => {
                return self.go_on(run, deletion, Vec::new());
            }
            Err(TargetError::Failed(error)) => {
                let message = format!("pruning for deleted resource failed: {error}");
                let events = vec![event(kustomization, EventDraft::error, &message)];
                return Finalized::Retry { object: report::left(kustomization), events };
            }
        };
        let session = cluster.session(kustomization);
        if let Some(deletion) = unit.deletion {
            return self.await_termination(run, &session, deletion, Vec::new()).await;
        }
        let pruned = session.prune(&self.owner(kustomization), &entries).await;
        if let Some(failure) = pruned.failure() {
            // The namespace is perhaps being deleted, and must not hang (KS-GC-26).
            if cluster.lacks_account(kustomization).await {
                return Finalized::Done { events: left_behind(kustomization, &pruned, &entries) };
            }
            let (name, namespace) = (&run.key.name, &run.key.namespace);
            tracing::error!(name, namespace, error = failure, "pruning failed");
            let message = "pruning for deleted resource failed";
            return Finalized::Retry {
                object: report::left(kustomization),
                events: vec![event(kustomization, EventDraft::error, message)],
            };
        }
        let events = vec![event(kustomization, EventDraft::info, &pruned.changes.lines())];
        if policy(kustomization) != "WaitForTermination" {
            return Finalized::Done { events };
        }
        let deletion = Deletion { entries: deleted(&pruned, &entries), started: Instant::now() };
        self.await_termination(run, &session, deletion, events).await
    }

    /// Leaves the objects to their next owner. An event says so once, for those who wait for the deletion.
    fn await_successor(&self, run: &Run<Kustomization>, successor: &ObjectKey) -> Finalized<Kustomization> {
        let message = format!("waiting for Kustomization/{successor}, which takes over the objects");
        let is_news = self.memory.is_news(&run.key, &message);
        let events = is_news.then(|| event(&run.object, EventDraft::info, &message)).into_iter().collect();
        Finalized::Wait { give_up: PAUSE, events }
    }

    async fn await_termination(
        &self,
        run: &Run<Kustomization>,
        session: &Session,
        deletion: Deletion,
        events: Vec<EventDraft>,
    ) -> Finalized<Kustomization> {
        let looks = deletion.entries.into_iter().map(|entry| async move {
            let remains = session.remains(&entry).await;
            (entry, remains)
        });
        let mut found: Vec<_> = stream::iter(looks).buffered(AT_ONCE).collect().await;
        found.retain(|(_, remains)| *remains != Remains::Gone);
        let is_hidden = found.iter().any(|(_, remains)| *remains == Remains::Hidden);
        let entries: Vec<Entry> = found.into_iter().map(|(entry, _)| entry).collect();
        match entries.len() {
            0 => Finalized::Done { events },
            // Nobody will see their end: the account has lost its rights, as when its namespace goes.
            left if is_hidden => gave_up(run, left, events),
            _ => self.go_on(run, Deletion { entries, ..deletion }, events),
        }
    }

    /// KS-GC-22: an object that stays past the timeout does not keep the Kustomization.
    fn go_on(
        &self,
        run: &Run<Kustomization>,
        deletion: Deletion,
        events: Vec<EventDraft>,
    ) -> Finalized<Kustomization> {
        if deletion.started.elapsed() >= timeout_of(&run.object) {
            return gave_up(run, deletion.entries.len(), events);
        }
        self.memory.change(&run.key, |unit| unit.deletion = Some(deletion));
        Finalized::Wait { give_up: PAUSE, events }
    }
}

/// Ends a wait although objects are left.
fn gave_up(run: &Run<Kustomization>, left: usize, mut events: Vec<EventDraft>) -> Finalized<Kustomization> {
    let message = "failed to wait for resources termination";
    tracing::error!(left, "{message}");
    events.push(event(&run.object, EventDraft::error, message));
    Finalized::Done { events }
}

/// Returns true when the applied objects of a Kustomization go with it (KS-GC-20..23).
#[must_use]
pub fn deletes(kustomization: &Kustomization) -> bool {
    if kustomization.spec.suspend {
        return false;
    }
    match policy(kustomization) {
        "Orphan" => false,
        "Delete" | "WaitForTermination" => true,
        _ => kustomization.spec.prune,
    }
}

fn policy(kustomization: &Kustomization) -> &str {
    kustomization.spec.deletion_policy.as_deref().unwrap_or("MirrorPrune")
}

fn deleted(pruned: &Pruned, entries: &[Entry]) -> Vec<Entry> {
    let changes = pruned.changes.0.iter().filter(|change| change.action == weir_ssa::Action::Deleted);
    let deleted: HashSet<_> = changes.map(|change| &change.id).collect();
    entries.iter().filter(|entry| deleted.contains(&entry.id)).cloned().collect()
}

/// Returns the events of a deletion that nobody can bring to its end: one of the objects that went, if any did, and one of those that
/// are left (KS-GC-26).
fn left_behind(kustomization: &Kustomization, pruned: &Pruned, entries: &[Entry]) -> Vec<EventDraft> {
    let lines = pruned.changes.lines();
    let told = (!lines.is_empty()).then(|| event(kustomization, EventDraft::info, &lines));
    told.into_iter().chain([orphaned(kustomization, &pruned.unsettled(entries))]).collect()
}

fn orphaned(kustomization: &Kustomization, entries: &[Entry]) -> EventDraft {
    let mut ids: Vec<_> = entries.iter().map(|entry| &entry.id).collect();
    ids.sort_by(|a, b| weir_ssa::by_apply_order(a, b));
    let subjects: Vec<String> = ids.into_iter().map(|id| id.subject()).collect();
    let message = format!("unable to prune objects: \n{}", subjects.join("\n"));
    event(kustomization, EventDraft::error, &message)
}

/// The reason is that of the Ready condition, or else the severity (KS-EVT-2), the metadata that of the applied revision.
fn event(
    kustomization: &Kustomization,
    make: impl Fn(String, String) -> EventDraft,
    message: &str,
) -> EventDraft {
    let ready = condition::find(conditions(kustomization), READY);
    let mut event = make(String::new(), message.to_owned());
    let severity = if event.severity == Severity::Error { "error" } else { "info" };
    event.reason = ready.map_or(severity, |ready| ready.reason.as_str()).to_owned();
    let Some(status) = &kustomization.status else { return event };
    let revisions = [
        ("revision", &status.last_applied_revision),
        ("originRevision", &status.last_applied_origin_revision),
    ];
    revisions.into_iter().fold(event, |event, (key, revision)| match revision {
        Some(revision) => event.with(format!("{GROUP}/{key}"), revision.clone()),
        None => event,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use weir_ssa::{Action, Change, ChangeSet, Conflict};

    use super::*;

    /// Objects that a prune could not delete stand behind the rest of the inventory.
    #[test]
    fn objects_that_are_left_behind_are_named_in_the_order_of_the_apply() {
        let kustomization: Kustomization = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}},
        }))
        .unwrap();
        let ids = ["n_web_apps_Deployment", "n_a__ConfigMap", "_n__Namespace"];
        let entries = ids.map(|id| Entry { id: id.parse().unwrap(), version: "v1".into() });
        let message = orphaned(&kustomization, &entries).message;
        assert_eq!(message, "unable to prune objects: \nNamespace/n\nConfigMap/n/a\nDeployment/n/web");
    }

    /// KS-GC-26: an account that is gone may still be bound to some rights.
    #[test]
    fn objects_that_were_deleted_are_not_called_left_behind() {
        let kustomization: Kustomization = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}},
        }))
        .unwrap();
        let tried = [
            ("n_web_apps_Deployment", Action::Deleted),
            ("n_a__ConfigMap", Action::Unknown),
            ("n_b__Secret", Action::Skipped),
        ];
        let entries = tried.map(|(id, _)| Entry { id: id.parse().unwrap(), version: "v1".into() });
        let changes = tried.map(|(id, action)| Change {
            id: id.parse().unwrap(),
            version: "v1".into(),
            action,
            conflict: Conflict::default(),
        });
        let pruned = Pruned { changes: ChangeSet(changes.into()), errors: Vec::new() };
        let events = left_behind(&kustomization, &pruned, &entries);
        let told: Vec<_> = events.iter().map(|event| (event.severity, event.message.as_str())).collect();
        let expected = [
            (Severity::Info, "Deployment/n/web deleted\nSecret/n/b skipped"),
            (Severity::Error, "unable to prune objects: \nConfigMap/n/a"),
        ];
        assert_eq!(told, expected);
        let nothing = left_behind(&kustomization, &Pruned::default(), &entries);
        assert_eq!(nothing.len(), 1, "nothing was deleted");
    }

    #[test]
    fn events_of_a_deletion_tell_what_was_applied() {
        let kustomization: Kustomization = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}},
            "status": {"lastAppliedRevision": "main@sha1:1", "lastAppliedOriginRevision": "v1.0@sha1:2"},
        }))
        .unwrap();
        let told = event(&kustomization, EventDraft::info, "Deployment/app/app deleted");
        let expected = [("originRevision", "v1.0@sha1:2"), ("revision", "main@sha1:1")]
            .map(|(key, revision)| (format!("{GROUP}/{key}"), revision.to_owned()));
        assert_eq!(told.metadata, BTreeMap::from(expected));
    }

    /// KS-EVT-2
    #[test]
    fn events_without_a_ready_condition_have_their_severity_as_reason() {
        let mut object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}},
        });
        let reasons = |object: &serde_json::Value| {
            let object = serde_json::from_value(object.clone()).unwrap();
            [event(&object, EventDraft::info, ""), event(&object, EventDraft::error, "")]
                .map(|event| event.reason)
        };
        assert_eq!(reasons(&object), ["info", "error"]);
        object["status"] = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        assert_eq!(reasons(&object), ["BuildFailed", "BuildFailed"]);
    }
}
