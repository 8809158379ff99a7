//! Which Kustomizations a change elsewhere concerns (KS-REC-3..6).

use std::sync::Arc;

use weir_api::{Artifact, Kustomization, SourceObject};
use weir_runtime::{Cache, Cause, Change, ObjectKey, Queue, condition};

use super::decide::conditions;
use super::observe::dependencies_of;
use super::prune_limit;
use crate::source::{SourceId, is_revision};

/// A source has a new artifact.
pub(crate) fn wake_by_source<S: SourceObject>(
    change: &Change<S>,
    kustomizations: &Cache<Kustomization>,
    queue: &Queue,
) {
    let artifact = |object: &Option<Arc<S>>| object.as_ref().and_then(|object| object.artifact().cloned());
    let (Some(latest), Some(new)) = (change.latest(), artifact(&change.new)) else { return };
    if is_revision(artifact(&change.old).map(|old| old.revision).as_deref(), &new.revision) {
        return;
    }
    let id = SourceId { kind: S::KIND.to_owned(), key: ObjectKey::of(&**latest) };
    queue.wake(kustomizations, Cause::Revision, |kustomization| {
        SourceId::of(kustomization) == id && !has_seen(kustomization, &new)
    });
}

/// KS-REC-4
fn has_seen(kustomization: &Kustomization, artifact: &Artifact) -> bool {
    let conditions = conditions(kustomization);
    let is_at_it = condition::is_ready(conditions) || condition::is_true(conditions, "Reconciling");
    let attempted =
        kustomization.status.as_ref().and_then(|status| status.last_attempted_revision.as_deref());
    is_at_it && is_revision(attempted, &artifact.revision)
}

/// Somebody has confirmed a prune or changed its limit. No generation counts annotations.
pub(crate) fn wake_by_confirmation(change: &Change<Kustomization>, queue: &Queue) {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return };
    if prune_limit::marks(old) != prune_limit::marks(new) {
        queue.enqueue(ObjectKey::of(&**new), Cause::Spec);
    }
}

/// A Kustomization has become ready, or ready for another revision: those that wait for it start at once. Those with a
/// `readyExpr` look at every change.
pub(crate) fn wake_by_dependency(
    change: &Change<Kustomization>,
    kustomizations: &Cache<Kustomization>,
    queue: &Queue,
) {
    let Some(new) = &change.new else { return };
    let state = |object: &Kustomization| {
        let status = object.status.as_ref()?;
        let applied = status.last_applied_revision.clone();
        condition::is_ready(conditions(object)).then_some((applied, status.observed_generation))
    };
    let is_ready = state(new);
    let has_become_ready = is_ready.is_some() && change.old.as_ref().is_none_or(|old| state(old) != is_ready);
    let key = ObjectKey::of(&**new);
    queue.wake(kustomizations, Cause::Dependency, |kustomization| {
        // An expression may look at anything of the dependency.
        let mut dependencies = dependencies_of(kustomization).zip(&kustomization.spec.depends_on);
        let waits = dependencies.any(|(dependency, reference)| {
            dependency == key && (has_become_ready || reference.ready_expr.is_some())
        });
        waits && !condition::is_ready(conditions(kustomization))
    });
}
