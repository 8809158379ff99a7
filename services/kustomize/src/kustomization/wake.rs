//! The Kustomizations that a change elsewhere concerns (KS-REC-3..6).

mod order;

use std::sync::Arc;

use kube::Resource;
use weir_api::{Artifact, Kustomization, SourceObject};
use weir_runtime::{Cause, Change, Index, ObjectKey, Queue, condition};

pub use self::order::in_order;
use super::decide::conditions;
use super::memory::Memory;
use super::observe::dependencies_of;
use super::prune_limit;
use crate::cluster::GROUP;
use crate::source::{SourceId, is_revision, is_same};
use crate::variables::CONFIG_MAP;

/// Kind of object from which a Kustomization takes variables, keys, and ways to other clusters; the other one is [`CONFIG_MAP`].
pub(crate) const SECRET: &str = "Secret";

/// A Secret or ConfigMap: kind and name.
pub(crate) type ConfigId = (&'static str, ObjectKey);

/// A source has a new artifact. It may be of the same revision, as when the source leaves out other files of it.
pub(crate) fn wake_by_source<S: SourceObject>(
    change: &Change<S>,
    by_source: &Index<Kustomization, SourceId>,
    memory: &Memory,
    queue: &Queue,
) {
    let artifact = |object: &Option<Arc<S>>| object.as_ref().and_then(|object| object.artifact().cloned());
    let (Some(latest), Some(new)) = (change.latest(), artifact(&change.new)) else { return };
    if artifact(&change.old).is_some_and(|old| is_same(&old, &new)) {
        return;
    }
    let id = SourceId { kind: S::KIND.to_owned(), key: ObjectKey::of(&**latest) };
    let mut concerned = by_source.naming(&id);
    concerned.retain(|kustomization| {
        let seen = memory.seen(&ObjectKey::of(&**kustomization));
        !has_seen(kustomization, seen.as_deref(), &new)
    });
    for kustomization in in_order(&concerned) {
        queue.enqueue(ObjectKey::of(&**kustomization), Cause::Revision);
    }
}

/// A Secret or ConfigMap has appeared, changed or gone (KS-REC-6).
pub(crate) fn wake_by_config<K>(
    kind: &'static str,
    change: &Change<K>,
    by_config: &Index<Kustomization, ConfigId>,
    memory: &Memory,
    queue: &Queue,
) where
    K: Resource,
{
    let Some(config) = change.latest().map(|config| ObjectKey::of(&**config)) else { return };
    let subject = format!("{kind}/{config}");
    for kustomization in in_order(&by_config.naming(&(kind, config))) {
        let key = ObjectKey::of(&**kustomization);
        memory.change(&key, |unit| unit.woken_by = Some(subject.clone()));
        queue.enqueue(key, Cause::Config);
    }
}

/// Returns the Secrets and ConfigMaps of its namespace from which a Kustomization takes something.
pub(crate) fn configs_of(kustomization: &Kustomization) -> Vec<ConfigId> {
    let spec = &kustomization.spec;
    let own = kustomization.metadata.namespace.as_deref().unwrap_or_default();
    let of_variables = spec.post_build.iter().flat_map(|post_build| &post_build.substitute_from);
    let of_variables = of_variables.filter_map(|reference| {
        let kind = [SECRET, CONFIG_MAP].into_iter().find(|kind| *kind == reference.kind)?;
        Some((kind, reference.name.as_str()))
    });
    let keys = spec.decryption.iter().filter_map(|decryption| decryption.secret_ref.as_ref());
    let logins = spec.kube_config.iter().filter_map(|remote| remote.secret_ref.as_ref());
    let clusters = spec.kube_config.iter().filter_map(|remote| remote.config_map_ref.as_ref());
    let named = of_variables
        .chain(keys.map(|keys| (SECRET, keys.name.as_str())))
        .chain(logins.map(|login| (SECRET, login.name.as_str())))
        .chain(clusters.map(|cluster| (CONFIG_MAP, cluster.name.as_str())));
    named.map(|(kind, name)| (kind, ObjectKey::new(own, name))).collect()
}

/// KS-REC-4; the memory knows of runs that the status does not tell of yet.
fn has_seen(kustomization: &Kustomization, seen: Option<&Artifact>, artifact: &Artifact) -> bool {
    let conditions = conditions(kustomization);
    let is_at_it = condition::is_ready(conditions) || condition::is_true(conditions, "Reconciling");
    let attempted = || kustomization.status.as_ref()?.last_attempted_revision.as_deref();
    is_at_it
        && match seen {
            Some(seen) => is_same(seen, artifact),
            None => is_revision(attempted(), &artifact.revision),
        }
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
    by_dependency: &Index<Kustomization, ObjectKey>,
    memory: &Memory,
    queue: &Queue,
) {
    let Some(new) = &change.new else { return };
    let has_become_ready = has_become_ready(change);
    let key = ObjectKey::of(&**new);
    let mut waiting = by_dependency.naming(&key);
    waiting.retain(|kustomization| {
        let is_blocked = memory.is_blocked(&ObjectKey::of(&**kustomization));
        waits_for(kustomization, &key, has_become_ready, is_blocked)
    });
    queue.wake(waiting, Cause::Dependency);
}

/// Returns true when a change of a dependency may let a Kustomization begin: it is not ready, or will not be as soon as its run is
/// over, which waits for its dependencies.
fn waits_for(
    kustomization: &Kustomization,
    dependency: &ObjectKey,
    has_become_ready: bool,
    is_blocked: bool,
) -> bool {
    // An expression may look at anything of the dependency.
    let mut dependencies = dependencies_of(kustomization).zip(&kustomization.spec.depends_on);
    let is_concerned = dependencies
        .any(|(key, reference)| key == *dependency && (has_become_ready || reference.ready_expr.is_some()));
    is_concerned && (is_blocked || !condition::is_ready(conditions(kustomization)))
}

/// A Kustomization has become ready, or ready for another revision: the one that applied it may wait for that.
pub(crate) fn wake_by_child(change: &Change<Kustomization>, memory: &Memory, queue: &Queue) {
    if let Some(parent) = parent_of_ready(change).filter(|parent| memory.waits(parent)) {
        queue.enqueue(parent, Cause::Health);
    }
}

fn parent_of_ready(change: &Change<Kustomization>) -> Option<ObjectKey> {
    let labels = change.new.as_ref()?.metadata.labels.as_ref()?;
    let label = |name: &str| labels.get(&format!("{GROUP}/{name}")).map(String::as_str);
    let parent = ObjectKey::new(label("namespace")?, label("name")?);
    has_become_ready(change).then_some(parent)
}

fn has_become_ready(change: &Change<Kustomization>) -> bool {
    let state = |object: &Arc<Kustomization>| {
        let status = object.status.as_ref()?;
        let applied = status.last_applied_revision.clone();
        condition::is_ready(conditions(object)).then_some((applied, status.observed_generation))
    };
    let new = change.new.as_ref().and_then(state);
    new.is_some() && change.old.as_ref().and_then(state) != new
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn child(revision: &str, ready: &str, labels: &str) -> Arc<Kustomization> {
        let object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "child", "labels": {format!("{labels}/name"): "parent", format!("{labels}/namespace"): "apps"}},
            "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "Bucket", "name": "app"}},
            "status": {"lastAppliedRevision": revision, "conditions": [{"type": "Ready", "status": ready, "reason": "x",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    /// KS-REC-4, KS-REC-51: a source may go back to the revision of the status while a run works on the one between.
    #[rstest]
    #[case::the_same("True", None, ("r1", "d"), true)]
    #[case::another("True", None, ("r2", "d"), false)]
    #[case::failed("False", None, ("r1", "d"), false)]
    #[case::back_during_a_run("True", Some(("r2", "d")), ("r1", "d"), false)]
    #[case::told_again_during_a_run("True", Some(("r2", "d")), ("r2", "d"), true)]
    #[case::other_content("True", Some(("r2", "d")), ("r2", "e"), false)]
    #[case::about_to_look("True", Some(("", "")), ("r1", "d"), false)]
    fn an_artifact_that_no_run_has_seen_is_news(
        #[case] ready: &str,
        #[case] seen: Option<(&str, &str)>,
        #[case] new: (&str, &str),
        #[case] expected: bool,
    ) {
        let artifact = |(revision, digest): (&str, &str)| Artifact {
            revision: revision.to_owned(),
            digest: digest.to_owned(),
            ..Artifact::default()
        };
        let mut kustomization = Kustomization::clone(&child("r1", ready, GROUP));
        kustomization.status.as_mut().unwrap().last_attempted_revision = Some("r1".to_owned());
        let seen = seen.map(artifact);
        assert_eq!(has_seen(&kustomization, seen.as_ref(), &artifact(new)), expected);
    }

    /// The status of a run that has found a dependency not ready may still be on its way.
    #[rstest]
    #[case::not_ready("False", true, false, true)]
    #[case::not_ready_yet_in_the_cache("True", true, true, true)]
    #[case::ready("True", true, false, false)]
    #[case::no_news("False", false, true, false)]
    fn dependents_that_wait_are_woken(
        #[case] ready: &str,
        #[case] has_become_ready: bool,
        #[case] is_blocked: bool,
        #[case] expected: bool,
    ) {
        let mut dependent = Kustomization::clone(&child("r1", ready, GROUP));
        dependent.spec.depends_on = serde_json::from_value(json!([{"name": "base"}])).unwrap();
        let waits = waits_for(&dependent, &ObjectKey::new("", "base"), has_become_ready, is_blocked);
        assert_eq!(waits, expected);
        assert!(!waits_for(&dependent, &ObjectKey::new("", "other"), true, true));
    }

    /// A dependency may become ready between the look of a run and its decision.
    #[test]
    fn a_run_counts_as_blocked_until_it_has_decided() {
        let (memory, key) = (Memory::default(), ObjectKey::new("apps", "app"));
        assert!(!memory.is_blocked(&key));
        memory.looks(&key);
        assert!(memory.is_blocked(&key));
        memory.decided(&key, false);
        assert!(!memory.is_blocked(&key));
        memory.decided(&key, true);
        assert!(memory.is_blocked(&key));
    }

    #[rstest]
    #[case::another_revision(("r1", "True"), ("r2", "True"), GROUP, true)]
    #[case::ready_again(("r1", "False"), ("r1", "True"), GROUP, true)]
    #[case::no_news(("r1", "True"), ("r1", "True"), GROUP, false)]
    #[case::failed(("r1", "True"), ("r1", "False"), GROUP, false)]
    #[case::applied_by_something_else(("r1", "True"), ("r2", "True"), "example.com", false)]
    fn parents_hear_of_children_that_become_ready(
        #[case] old: (&str, &str),
        #[case] new: (&str, &str),
        #[case] labels: &str,
        #[case] is_woken: bool,
    ) {
        let of = |(revision, ready): (&str, &str)| Some(child(revision, ready, labels));
        let parent = parent_of_ready(&Change { old: of(old), new: of(new) });
        assert_eq!(parent, is_woken.then(|| ObjectKey::new("apps", "parent")));
    }
}
