//! A Kustomization that takes the place of a deleted one: after a rename, the same objects are wanted under another name.

use std::time::Duration;

use jiff::Timestamp;
use weir_api::Kustomization;
use weir_api::kustomize::{KustomizationSpec, KustomizationStatus};
use weir_runtime::ObjectKey;
use weir_ssa::Owner;

use super::KustomizationReconciler;
use super::failure::reason;

/// Longest wait of a deleted Kustomization for its successor. Whoever deletes one waits for no more than that.
const LONGEST: Duration = Duration::from_secs(5 * 60);

impl KustomizationReconciler {
    /// Returns the Kustomization that is about to take over the objects of a deleted one. Once it has applied them, they are its own, and are
    /// not deleted.
    pub(super) fn successor(&self, deleted: &Kustomization, now: Timestamp) -> Option<ObjectKey> {
        if !has_time(deleted, now) {
            return None;
        }
        let all = self.kustomizations.list();
        let mut successors =
            all.iter().filter(|other| succeeds(other, deleted)).map(|other| ObjectKey::of(&**other));
        successors.find(|key| !self.memory.waits(key))
    }

    /// Returns true for the owner of objects that is being deleted.
    pub(super) fn is_going(&self, owner: &Owner) -> bool {
        let found = self.kustomizations.get(&ObjectKey::new(owner.namespace.clone(), owner.name.clone()));
        found.is_some_and(|found| found.metadata.deletion_timestamp.is_some())
    }
}

fn has_time(deleted: &Kustomization, now: Timestamp) -> bool {
    let since = deleted.metadata.deletion_timestamp.as_ref().map(|time| now.duration_since(time.0));
    since.is_some_and(|since| since.unsigned_abs() < LONGEST)
}

/// Returns true for a Kustomization of the same namespace that is the same but for its name and what it waits for, and that has not applied
/// anything yet.
fn succeeds(other: &Kustomization, deleted: &Kustomization) -> bool {
    let is_new = other.status.as_ref().is_none_or(|status| !has_applied(status));
    let is_going = other.metadata.deletion_timestamp.is_some() || other.spec.suspend;
    let wanted = |it: &Kustomization| KustomizationSpec { depends_on: Vec::new(), ..it.spec.clone() };
    is_new
        && !is_going
        && other.metadata.namespace == deleted.metadata.namespace
        && wanted(other) == wanted(deleted)
}

/// Returns true once an apply has come to its end: also when what is applied never becomes healthy, or a prune has failed.
fn has_applied(status: &KustomizationStatus) -> bool {
    let mut results = status.history.iter().map(|entry| entry.last_reconciled_status.as_str());
    let is_after_apply = |result| ![reason::RECONCILIATION_FAILED, reason::PRUNE_REFUSED].contains(&result);
    status.last_applied_revision.is_some() || results.any(is_after_apply)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn kustomization(fields: &Value) -> Kustomization {
        let mut object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "new", "namespace": "apps", "deletionTimestamp": null},
            "spec": {"interval": "1m", "prune": true, "path": "./app", "suspend": false, "dependsOn": [],
                "sourceRef": {"kind": "Bucket", "name": "app"}},
            "status": {"lastAppliedRevision": null, "history": []},
        });
        for (pointer, value) in fields.as_object().unwrap() {
            *object.pointer_mut(pointer).unwrap() = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn snapshot(status: &str) -> Value {
        let time = "2026-01-01T00:00:00Z";
        json!({"digest": "sha256:1", "firstReconciled": time, "lastReconciled": time,
            "lastReconciledDuration": "1s", "lastReconciledStatus": status, "totalReconciliations": 1})
    }

    #[rstest]
    #[case::renamed(json!({}), true)]
    #[case::waits_for_others(json!({"/spec/dependsOn": [{"name": "base"}]}), true)]
    #[case::in_another_namespace(json!({"/metadata/namespace": "team"}), false)]
    #[case::of_another_path(json!({"/spec/path": "./other"}), false)]
    #[case::applied_before(json!({"/status/lastAppliedRevision": "main@sha1:1"}), false)]
    #[case::apply_has_failed(json!({"/status/history": [snapshot("ReconciliationFailed")]}), true)]
    #[case::prune_is_refused(json!({"/status/history": [snapshot("ReconciliationFailed"), snapshot("PruneRefused")]}), true)]
    #[case::applied_but_never_healthy(json!({"/status/history": [snapshot("ReconciliationFailed"), snapshot("HealthCheckFailed")]}), false)]
    #[case::suspended(json!({"/spec/suspend": true}), false)]
    #[case::deleted_too(json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}), false)]
    fn one_that_is_the_same_but_for_its_name_is_the_successor(#[case] fields: Value, #[case] expected: bool) {
        let deleted = json!({"/metadata/name": "old", "/metadata/deletionTimestamp": "2026-01-01T00:00:00Z",
            "/status/lastAppliedRevision": "main@sha1:1"});
        assert_eq!(succeeds(&kustomization(&fields), &kustomization(&deleted)), expected);
    }

    #[rstest]
    #[case("2026-01-01T00:00:01Z", true)]
    #[case("2026-01-01T00:04:59Z", true)]
    #[case("2026-01-01T00:05:00Z", false)]
    fn a_successor_is_waited_for_for_a_while(#[case] now: &str, #[case] expected: bool) {
        let deleted = kustomization(&json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}));
        assert_eq!(has_time(&deleted, now.parse().unwrap()), expected);
        assert!(!has_time(&kustomization(&json!({})), now.parse().unwrap()));
    }
}
