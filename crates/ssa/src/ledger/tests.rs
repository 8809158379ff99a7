use std::sync::Arc;

use kube::api::DynamicObject;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn owner(name: &str) -> Owner {
    Owner { group: "kustomize.toolkit.fluxcd.io".into(), name: name.into(), namespace: "flux-system".into() }
}

fn id() -> ObjectId {
    "apps_web_apps_Deployment".parse().unwrap()
}

fn kind() -> GroupKind {
    GroupKind { group: "apps".into(), kind: "Deployment".into() }
}

fn everywhere() -> Scope {
    Scope::everywhere(kind())
}

fn object(version: &str, field: &str, status: Value) -> DynamicObject {
    let labels = json!({"kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"});
    let fields = json!({"f:spec": {format!("f:{field}"): {}}});
    let own = json!({"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields});
    serde_json::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "apps", "uid": "u", "generation": 1, "resourceVersion": version,
            "labels": labels, "managedFields": [own]},
        "spec": {"replicas": 0}, "status": status}))
    .unwrap()
}

fn ready() -> Value {
    json!({"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]})
}

type Notices = Arc<Mutex<Vec<(String, Notice)>>>;

fn ledger() -> (Ledger, Notices) {
    let notices = Notices::default();
    let sink = Arc::clone(&notices);
    let notify = move |owner: &Owner, _: &ObjectId, notice| sink.lock().push((owner.name.clone(), notice));
    let ledger = Ledger::new("kustomize-controller", &[], notify);
    list(&ledger, &kind(), Depth::Whole, &HashSet::new(), Instant::now());
    (ledger, notices)
}

/// A watch no longer sees an object, which is gone.
fn lose(ledger: &Ledger, id: &ObjectId, last: Option<&ObjectMeta>) {
    let missed = ledger.lost(id, last);
    missed.iter().for_each(|missed| ledger.missed(&missed.id));
}

/// A watch lists objects; the others are gone.
fn list(ledger: &Ledger, kind: &GroupKind, depth: Depth, present: &HashSet<ObjectId>, began: Instant) {
    let missed = ledger.listed(&Scope::everywhere(kind.clone()), depth, present, began);
    missed.iter().for_each(|missed| ledger.missed(&missed.id));
}

fn entries() -> Vec<Entry> {
    vec![Entry { id: id(), version: "v1".into() }]
}

#[test]
fn settled_object_is_proved_until_our_fields_change() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    assert!(ledger.proves(&owner("app"), &entries()));
    let churn = object("6", "a", ready());
    ledger.saw(&id(), &mut LiveObject::from(&churn));
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Settled);
    assert_eq!(ledger.trust(&owner("app"), &id(), 2), Trust::Untouched { version: "6".into() });
    assert!(notices.lock().is_empty());
    let drift = object("7", "b", ready());
    ledger.saw(&id(), &mut LiveObject::from(&drift));
    assert!(!ledger.proves(&owner("app"), &entries()));
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::None);
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
}

/// A new version of a definition may have other defaults, of which no watch of its objects tells. A write of somebody is left to the next
/// run all the same.
#[test]
fn objects_of_a_definition_that_was_written_are_compared_twice() {
    let (ledger, _) = ledger();
    let compare = || {
        ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)))
    };
    compare();
    ledger.redefine(&GroupKind { group: "apps".into(), kind: "StatefulSet".into() });
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Settled, "of another kind");
    ledger.redefine(&kind());
    for _ in 0..DOUBTS {
        assert!(ledger.doubts(&owner("app"), &entries()));
        assert!(ledger.proves(&owner("app"), &entries()), "there is no drift");
        assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::None);
        compare();
    }
    assert!(!ledger.doubts(&owner("app"), &entries()));
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Settled);
    ledger.redefine(&kind());
    ledger.open(&owner("other"), &id());
    assert!(ledger.doubts(&owner("other"), &entries()), "whoever applies it now");
    compare();
    ledger.redefine(&kind());
    let mut restarted = object("6", "b", ready());
    let entry = json!({"manager": LEFT_FOR_NOW[1], "operation": "Update", "time": "2026-01-02T00:00:00Z"});
    restarted.metadata.managed_fields.as_mut().unwrap().push(serde_json::from_value(entry).unwrap());
    ledger.saw(&id(), &mut LiveObject::from(&restarted));
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Left);
}

/// An upgrade by `flux bootstrap` is in the source soon, and Pods that `kubectl rollout restart` starts would end at once. Anybody who
/// writes after them is as others.
#[rstest]
#[case("flux")]
#[case("kubectl-rollout")]
fn writes_of_some_are_left_to_the_next_run(#[case] left: &str) {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    let written = |version: &str, own: &str, manager: &str, time: &str| {
        let mut object = object(version, own, ready());
        let entries = object.metadata.managed_fields.as_mut().unwrap();
        let entry = |manager: &str, time: &str, subresource: Option<&str>| {
            let entry =
                json!({"manager": manager, "operation": "Apply", "time": time, "subresource": subresource});
            serde_json::from_value(entry).unwrap()
        };
        entries.push(entry(manager, time, None));
        entries.push(entry(left, "2026-01-01T00:00:00Z", None));
        entries.push(entry("kube-controller-manager", "2026-01-03T00:00:00Z", Some("status")));
        object
    };
    let command = written("6", "b", left, "2026-01-02T00:00:00Z");
    ledger.saw(&id(), &mut LiveObject::from(&command));
    assert!(!ledger.proves(&owner("app"), &entries()), "the next run looks at it");
    assert_eq!(*notices.lock(), []);
    let person = written("7", "c", "kubectl-edit", "2026-01-02T00:00:00Z");
    ledger.saw(&id(), &mut LiveObject::from(&person));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
}

/// People protect an object with `kubectl annotate` before it leaves the source, and say that it may be replaced before its immutable
/// field changes there.
#[rstest]
#[case::protected("prune", "disabled")]
#[case::replaceable("force", "enabled")]
fn a_mark_that_somebody_sets_is_left_to_the_next_run(#[case] key: &str, #[case] value: &str) {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    let with_mark = |version: &str, field: &str| {
        let mut object = object(version, field, ready());
        let annotation = (format!("kustomize.toolkit.fluxcd.io/{key}"), value.to_owned());
        object.metadata.annotations = Some([annotation].into());
        object
    };
    let marked = with_mark("6", "b");
    ledger.saw(&id(), &mut LiveObject::from(&marked));
    assert!(!ledger.proves(&owner("app"), &entries()), "the next run looks at it");
    assert_eq!(*notices.lock(), []);
    let edited = with_mark("7", "c");
    ledger.saw(&id(), &mut LiveObject::from(&edited));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
}

/// KS-TST-5: put back at once, a label by which people keep an object would keep nothing.
#[test]
fn another_owner_in_the_label_is_left_to_the_next_run() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    let labelled = |version: &str, field: &str| {
        let mut object = object(version, field, ready());
        let labels = object.metadata.labels.as_mut().unwrap();
        labels.insert("kustomize.toolkit.fluxcd.io/name".to_owned(), "other".to_owned());
        object
    };
    for object in [labelled("6", "a"), labelled("7", "b")] {
        ledger.saw(&id(), &mut LiveObject::from(&object));
        assert!(!ledger.proves(&owner("app"), &entries()), "the next run looks at it");
        assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Left, "a correction does not put it back");
        assert_eq!(ledger.prunable(&owner("app"), &id()), None);
    }
    assert_eq!(*notices.lock(), []);
    let back = object("8", "c", ready());
    ledger.saw(&id(), &mut LiveObject::from(&back));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
}

/// The watch no longer sees such an object, and tells of it as of one that is gone.
#[test]
fn an_object_that_is_there_without_the_label_is_left_to_the_next_run() {
    let (ledger, notices) = ledger();
    let applied = object("5", "a", Value::Null);
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&applied));
    let missed = ledger.lost(&id(), Some(&applied.metadata)).unwrap();
    assert_eq!(missed, Missed { id: id(), uid: "u".to_owned() });
    ledger.await_status(&owner("app"));
    ledger.release_lost(&id());
    assert!(!ledger.proves(&owner("app"), &entries()), "the next run looks at it");
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Left, "a correction does not put it back");
    assert_eq!(ledger.trust(&owner("app"), &id(), 2), Trust::None);
    assert_eq!(ledger.assessment(&owner("app"), &id()), None, "it may be healthy");
    assert_eq!(
        notices.lock().split_off(0),
        [("app".to_owned(), Notice::Status)],
        "a check takes it for gone"
    );
    ledger.status_settled(&owner("app"));
    // Applied anew meanwhile, it is known again.
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("7", "a", Value::Null)));
    ledger.release_lost(&id());
    ledger.missed(&id());
    assert!(ledger.proves(&owner("app"), &entries()));
    assert_eq!(*notices.lock(), []);
}

/// The watch tells of a write before the answer to it comes: nobody else has changed anything.
#[test]
fn own_write_is_no_drift() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    ledger.open(&owner("app"), &id());
    assert!(!ledger.proves(&owner("app"), &entries()), "nobody knows how far the write has come");
    let written = object("6", "b", Value::Null);
    ledger.saw(&id(), &mut LiveObject::from(&written));
    ledger.settle(&owner("app"), &id(), Some(2), &mut LiveObject::from(&written));
    assert!(notices.lock().is_empty());
    assert_eq!(ledger.trust(&owner("app"), &id(), 2), Trust::Settled);
}

#[test]
fn nothing_is_proved_without_a_watch_or_for_another_owner() {
    let (ledger, _) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    assert!(!ledger.proves(&owner("other"), &entries()));
    assert_eq!(ledger.trust(&owner("other"), &id(), 1), Trust::None);
    ledger.unwatched(&everywhere());
    assert!(!ledger.proves(&owner("app"), &entries()));
    assert_eq!(ledger.assessment(&owner("app"), &id()), None);
}

/// KS-IMP-7: where only some namespaces may be watched, the watch of one tells nothing of the others.
#[test]
fn a_watch_of_one_namespace_proves_its_own_objects() {
    let (ledger, notices) = ledger();
    ledger.unwatched(&everywhere());
    let other: ObjectId = "other_web_apps_Deployment".parse().unwrap();
    let entries = |id: &ObjectId| vec![Entry { id: id.clone(), version: "v1".into() }];
    for id in [&id(), &other] {
        ledger.settle(&owner("app"), id, Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    }
    let scope = |namespace: &str| Scope { namespace: Some(namespace.to_owned()), ..everywhere() };
    let present = HashSet::from([id()]);
    assert!(ledger.listed(&scope("apps"), Depth::Whole, &present, Instant::now()).is_empty());
    assert_eq!([&id(), &other].map(|id| ledger.proves(&owner("app"), &entries(id))), [true, false]);
    assert_eq!(ledger.namespaces_of(&kind()), ["apps", "other"].map(str::to_owned).into());
    let missed = ledger.listed(&scope("other"), Depth::Whole, &present, Instant::now());
    assert_eq!(missed.iter().map(|missed| &missed.id).collect::<Vec<_>>(), [&other]);
    assert!(notices.lock().is_empty());
    ledger.unwatched(&scope("apps"));
    assert!(!ledger.proves(&owner("app"), &entries(&id())));
}

#[test]
fn late_event_about_an_older_version_changes_nothing() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    let old = object("4", "b", Value::Null);
    ledger.saw(&id(), &mut LiveObject::from(&old));
    assert!(ledger.proves(&owner("app"), &entries()));
    assert!(notices.lock().is_empty());
}

#[test]
fn event_that_comes_before_the_answer_is_kept() {
    let (ledger, _) = ledger();
    ledger.open(&owner("app"), &id());
    let event = object("6", "a", ready());
    ledger.saw(&id(), &mut LiveObject::from(&event));
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    assert_eq!(ledger.assessment(&owner("app"), &id()).map(|found| found.status), Some(Status::Current));
}

#[test]
fn status_is_told_only_to_those_who_wait() {
    let (ledger, notices) = ledger();
    ledger.settle(
        &owner("app"),
        &id(),
        Some(1),
        &mut LiveObject::from(&object("5", "a", json!({"observedGeneration": 0}))),
    );
    ledger.await_status(&owner("app"));
    let done = object("6", "a", ready());
    ledger.saw(&id(), &mut LiveObject::from(&done));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Status)]);
    ledger.status_settled(&owner("app"));
    let back = object("7", "a", json!({"observedGeneration": 0}));
    ledger.saw(&id(), &mut LiveObject::from(&back));
    assert_eq!(notices.lock().len(), 1);
}

#[test]
fn deleted_object_is_drift_whether_seen_or_missing_from_a_list() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    lose(&ledger, &id(), None);
    assert_eq!(ledger.assessment(&owner("app"), &id()), Some(Assessment::not_found()));
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("8", "a", Value::Null)));
    list(&ledger, &kind(), Depth::Whole, &HashSet::new(), Instant::now());
    assert_eq!(notices.lock().len(), 2);
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("9", "a", Value::Null)));
    list(&ledger, &kind(), Depth::Whole, &HashSet::from([id()]), Instant::now());
    assert_eq!(notices.lock().len(), 2);
}

#[test]
fn released_object_tells_nobody() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    let judged = Precise { uid: "u".to_owned(), version: "5".to_owned() };
    assert_eq!(ledger.prunable(&owner("app"), &id()), Some(judged));
    ledger.release(&owner("app"), &id());
    lose(&ledger, &id(), None);
    assert!(notices.lock().is_empty());
    assert_eq!(ledger.prunable(&owner("app"), &id()), None);
}

#[test]
fn security_object_of_another_owner_is_neither_shown_nor_released() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", ready())));
    assert_eq!(ledger.assessment(&owner("thief"), &id()), None);
    ledger.release(&owner("thief"), &id());
    assert!(ledger.proves(&owner("app"), &entries()));
    let drift = object("6", "b", ready());
    ledger.saw(&id(), &mut LiveObject::from(&drift));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
}

#[test]
fn forgotten_owner_keeps_nothing() {
    let (ledger, _) = ledger();
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    ledger.forget(&owner("other"));
    assert!(ledger.proves(&owner("app"), &entries()));
    ledger.forget(&owner("app"));
    assert!(!ledger.proves(&owner("app"), &entries()));
}

#[test]
fn progress_is_not_told_from_metadata() {
    let (ledger, _) = ledger();
    list(&ledger, &kind(), Depth::Metadata, &HashSet::new(), Instant::now());
    ledger.settle(
        &owner("app"),
        &id(),
        Some(1),
        &mut LiveObject::from(&object("5", "a", json!({"observedGeneration": 0}))),
    );
    assert_eq!(ledger.assessment(&owner("app"), &id()), None);
    let failed =
        json!({"conditions": [{"type": "Stalled", "status": "True", "reason": "x", "message": "y"}]});
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("6", "a", failed)));
    assert_eq!(ledger.assessment(&owner("app"), &id()), None, "nor the end of a failure");
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("7", "a", ready())));
    assert_eq!(ledger.assessment(&owner("app"), &id()).map(|found| found.status), Some(Status::Current));
}

/// The watch tells of the deletion twice: as wish, since it is done in the foreground, and as fact.
#[rstest]
#[case::job("apps_web_batch_Job", json!({"ttlSecondsAfterFinished": 60}), 0)]
#[case::job_that_stays("apps_web_batch_Job", json!({}), 1)]
#[case::other_kind("apps_web_example.com_Job", json!({"ttlSecondsAfterFinished": 60}), 1)]
fn jobs_that_end_by_themselves_are_no_drift(
    #[case] id: ObjectId,
    #[case] spec: Value,
    #[case] expected: usize,
) {
    let (ledger, notices) = ledger();
    let kind = GroupKind { group: id.group.clone(), kind: id.kind.clone() };
    list(&ledger, &kind, Depth::Whole, &HashSet::new(), Instant::now());
    let mut job = object("5", "a", Value::Null);
    job.data["spec"] = spec;
    ledger.settle(&owner("app"), &id, Some(1), &mut LiveObject::from(&job));
    let mut going = object("6", "a", Value::Null);
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    ledger.saw(&id, &mut LiveObject::from(&going));
    assert_eq!(notices.lock().len(), expected);
    lose(&ledger, &id, None);
    assert_eq!(notices.lock().len(), 2 * expected);
    let entry = Entry { id: id.clone(), version: "v1".into() };
    assert!(!ledger.proves(&owner("app"), &[entry]), "the next run makes it");
    let trust = if expected == 0 { Trust::Ended } else { Trust::None };
    assert_eq!(ledger.trust(&owner("app"), &id, 1), trust);
    assert_eq!(ledger.trust(&owner("app"), &id, 2), Trust::None, "another Job");
    // Changes by others are drift all the same.
    ledger.settle(&owner("app"), &id, Some(1), &mut LiveObject::from(&job));
    let edited = object("9", "b", Value::Null);
    ledger.saw(&id, &mut LiveObject::from(&edited));
    assert_eq!(notices.lock().len(), 2 * expected + 1);
}

/// A change that comes between the read of an object and the verdict about it.
#[test]
fn event_that_comes_while_an_object_is_read_is_kept() {
    let (ledger, notices) = ledger();
    ledger.make_room(&owner("app"), &id());
    assert_eq!(ledger.assessment(&owner("app"), &id()), None, "nobody has seen it");
    let event = object("6", "b", Value::Null);
    ledger.saw(&id(), &mut LiveObject::from(&event));
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    assert_eq!(*notices.lock(), [("app".to_owned(), Notice::Drift)]);
    ledger.make_room(&owner("thief"), &id());
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::None);
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("7", "a", Value::Null)));
    ledger.make_room(&owner("app"), &id());
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::Settled, "what is known stays");
}

#[test]
fn object_about_which_something_is_to_be_done_is_seen_and_not_proved() {
    let (ledger, notices) = ledger();
    ledger.settle(&owner("app"), &id(), None, &mut LiveObject::from(&object("5", "a", ready())));
    assert!(!ledger.proves(&owner("app"), &entries()));
    assert_eq!(ledger.trust(&owner("app"), &id(), 1), Trust::None);
    assert_eq!(ledger.assessment(&owner("app"), &id()).map(|found| found.status), Some(Status::Current));
    let other = object("6", "b", ready());
    ledger.saw(&id(), &mut LiveObject::from(&other));
    assert!(notices.lock().is_empty());
}

/// Somebody deletes an object as soon as it is applied: the watch tells of that before the answer to the apply comes.
#[rstest]
#[case::since_it_was_applied("6", true)]
#[case::before_it_was_applied_anew("4", false)]
fn deletion_that_comes_before_the_answer_is_kept(#[case] deleted: &str, #[case] is_drift: bool) {
    let (ledger, notices) = ledger();
    ledger.open(&owner("app"), &id());
    lose(&ledger, &id(), Some(&object(deleted, "a", Value::Null).metadata));
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&object("5", "a", Value::Null)));
    assert_eq!(ledger.proves(&owner("app"), &entries()), !is_drift);
    assert_eq!(notices.lock().contains(&("app".to_owned(), Notice::Drift)), is_drift);
    let anew = object("7", "a", Value::Null);
    ledger.settle(&owner("app"), &id(), Some(1), &mut LiveObject::from(&anew));
    assert!(ledger.proves(&owner("app"), &entries()));
}
