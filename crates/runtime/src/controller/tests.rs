use std::sync::Arc;

use weir_api::Kustomization;

use super::*;

fn object(generation: i64, annotation: Option<&str>) -> Kustomization {
    let mut object: Kustomization = serde_json::from_value(serde_json::json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": { "name": "web", "namespace": "apps" },
        "spec": { "interval": "1m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "web" } },
    }))
    .unwrap();
    object.metadata.generation = Some(generation);
    object.metadata.annotations =
        annotation.map(|token| [(weir_api::REQUESTED_AT_ANNOTATION.to_owned(), token.to_owned())].into());
    object
}

fn cause(old: Option<Kustomization>, new: Option<Kustomization>) -> Option<Cause> {
    cause_of(&Change { old: old.map(Arc::new), new: new.map(Arc::new) }).map(|(_, cause)| cause)
}

#[test]
fn new_objects_and_new_generations_are_reconciled() {
    assert_eq!(cause(None, Some(object(1, None))), Some(Cause::Spec));
    assert_eq!(cause(Some(object(1, None)), Some(object(2, None))), Some(Cause::Spec));
}

#[test]
fn a_new_request_is_the_most_urgent_change_of_a_living_object() {
    assert_eq!(cause(Some(object(1, None)), Some(object(1, Some("now")))), Some(Cause::Requested));
    assert_eq!(cause(Some(object(1, Some("now"))), Some(object(1, Some("now")))), None);
    assert_eq!(cause(Some(object(1, Some("now"))), Some(object(1, None))), None, "one that is taken away");
    assert_eq!(cause(Some(object(1, Some("now"))), Some(object(1, Some("")))), Some(Cause::Requested));
    assert_eq!(requested_at(&object(1, Some(""))), None, "nothing for the status");
}

#[test]
fn status_and_label_changes_are_not_reconciled() {
    let mut labelled = object(1, None);
    labelled.metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
    assert_eq!(cause(Some(object(1, None)), Some(labelled)), None);
}

#[test]
fn what_is_known_from_before_a_restart_comes_last() {
    let mut known = object(1, None);
    known.status = Some(serde_json::from_value(serde_json::json!({ "observedGeneration": 1 })).unwrap());
    assert_eq!(cause(None, Some(known)), Some(Cause::Startup));
}

#[test]
fn a_deletion_is_seen_once_as_wish_and_once_as_fact() {
    let mut deleting = object(1, None);
    deleting.metadata.deletion_timestamp = Some(weir_api::condition_time(jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(cause(Some(object(1, None)), Some(deleting.clone())), Some(Cause::Deleted));
    assert_eq!(cause(Some(deleting.clone()), Some(deleting.clone())), None);
    assert_eq!(cause(Some(deleting), None), Some(Cause::Deleted));
}
