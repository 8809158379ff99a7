//! Which Kustomizations a change elsewhere concerns (KS-REC-3..6).

mod order;

use std::sync::Arc;

use kube::Resource;
use weir_api::kustomize::KustomizationSpec;
use weir_api::{Artifact, Kustomization, SourceObject};
use weir_runtime::{Cache, Cause, Change, ObjectKey, Queue, condition};

pub use self::order::in_order;
use super::decide::conditions;
use super::memory::Memory;
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
    let mut concerned = kustomizations.list();
    concerned.retain(|kustomization| SourceId::of(kustomization) == id && !has_seen(kustomization, &new));
    for kustomization in in_order(&concerned) {
        queue.enqueue(ObjectKey::of(&**kustomization), Cause::Revision);
    }
}

/// A Secret or ConfigMap has appeared, changed or gone (KS-REC-6).
pub(crate) fn wake_by_config<K>(
    kind: &str,
    change: &Change<K>,
    kustomizations: &Cache<Kustomization>,
    memory: &Memory,
    queue: &Queue,
) where
    K: Resource,
{
    let Some(config) = change.latest().map(|config| ObjectKey::of(&**config)) else { return };
    queue.wake(kustomizations, Cause::Config, |kustomization| {
        let is_concerned = kustomization.metadata.namespace.as_ref() == Some(&config.namespace)
            && refers_to(&kustomization.spec, kind, &config.name);
        if is_concerned {
            let subject = format!("{kind}/{config}");
            memory.change(&ObjectKey::of(kustomization), |unit| unit.woken_by = Some(subject));
        }
        is_concerned
    });
}

/// Returns true when a spec takes something from a Secret or ConfigMap of its namespace.
fn refers_to(spec: &KustomizationSpec, kind: &str, name: &str) -> bool {
    let of_variables = spec.post_build.iter().flat_map(|post_build| &post_build.substitute_from);
    let mut of_variables = of_variables.map(|reference| (reference.kind.as_str(), reference.name.as_str()));
    let remote = spec.kube_config.as_ref();
    let of_secrets = [
        spec.decryption.as_ref().and_then(|decryption| decryption.secret_ref.as_ref()).map(|it| &it.name),
        remote.and_then(|remote| remote.secret_ref.as_ref()).map(|it| &it.name),
    ];
    let config_map = remote.and_then(|remote| remote.config_map_ref.as_ref()).map(|it| it.name.as_str());
    of_variables.any(|reference| reference == (kind, name))
        || kind == "Secret" && of_secrets.into_iter().flatten().any(|secret| secret == name)
        || kind == "ConfigMap" && config_map == Some(name)
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
