//! Kustomizations that others wait for: Ready may be left from the revision before.

use std::collections::{HashMap, HashSet};

use weir_api::Kustomization;
use weir_runtime::{ObjectKey, condition};
use weir_ssa::{Judge, ObjectId};

use super::super::KustomizationReconciler;
use super::super::decide::conditions;
use super::super::expression::HealthChecks;
use crate::cluster::is_kustomization;
use crate::source::{Source, SourceId, is_revision};

impl KustomizationReconciler {
    /// Returns the Kustomizations among objects of a cluster that are not ready for the latest revision of their source. A run says so in
    /// the status only once it has lasted for two seconds (docs/adr/0013), or at its end. Nothing is known of those in `remote` clusters, and
    /// where a `custom` expression covers Kustomizations, it alone decides (KS-CEL-3).
    pub(crate) async fn outdated(
        &self,
        remote: Option<[u8; 32]>,
        custom: &HealthChecks,
        ids: &[ObjectId],
    ) -> HashSet<ObjectId> {
        let mut sources: HashMap<SourceId, Source> = HashMap::new();
        let mut outdated = HashSet::new();
        if remote.is_some() {
            return outdated;
        }
        for id in ids.iter().filter(|id| is_kustomization(id) && !custom.covers(id)) {
            let key = ObjectKey::new(id.namespace.clone(), id.name.clone());
            let Some(child) = self.kustomizations.get(&key) else { continue };
            let source_id = SourceId::of(&child);
            let source = match sources.remove(&source_id) {
                Some(source) => source,
                None => self.sources.find(&source_id).await,
            };
            if is_outdated(&child, &source) {
                outdated.insert(id.clone());
            }
            sources.insert(source_id, source);
        }
        outdated
    }
}

/// One that is suspended stays as it is, and one without an artifact has nothing newer to begin with.
fn is_outdated(child: &Kustomization, source: &Source) -> bool {
    let Source::Artifact(artifact) = source else { return false };
    let applied = child.status.as_ref().and_then(|status| status.last_applied_revision.as_deref());
    let is_ready = condition::is_ready(conditions(child)) && is_revision(applied, &artifact.revision);
    !is_ready && !child.spec.suspend
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn child(fields: Value) -> Kustomization {
        let mut object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "child"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "Bucket", "name": "app"}},
            "status": {"lastAppliedRevision": "r1", "lastAttemptedRevision": "r1",
                "conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        for (pointer, value) in fields.as_object().unwrap() {
            *object.pointer_mut(pointer).unwrap() = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn artifact(revision: &str) -> Source {
        let artifact = json!({"path": "p", "url": "u", "revision": revision, "digest": "sha256:1",
            "lastUpdateTime": "2026-01-01T00:00:00Z"});
        Source::Artifact(Arc::new(serde_json::from_value(artifact).unwrap()))
    }

    #[rstest]
    #[case::at_the_revision(json!({}), artifact("r1"), false)]
    #[case::behind_it(json!({}), artifact("r2"), true)]
    #[case::failed_at_it(json!({"/status/conditions/0/status": "False"}), artifact("r1"), true)]
    #[case::suspended(json!({"/spec": {"interval": "1m", "prune": true, "suspend": true,
        "sourceRef": {"kind": "Bucket", "name": "app"}}}), artifact("r2"), false)]
    #[case::without_an_artifact(json!({}), Source::Empty, false)]
    #[case::without_a_source(json!({}), Source::Missing, false)]
    fn children_are_outdated_until_they_are_ready_for_what_their_source_has(
        #[case] fields: Value,
        #[case] source: Source,
        #[case] expected: bool,
    ) {
        assert_eq!(is_outdated(&child(fields), &source), expected);
    }
}
