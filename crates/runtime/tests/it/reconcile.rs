use std::sync::atomic::Ordering;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use weir_runtime::args::EventsArgs;
use weir_testkit::{condition, eventually, touch_requested_at, wait_for, wait_gone, wait_ready};

use crate::world::{DEADLINE, MarkReady, World, flags};

async fn world(reconciler: MarkReady) -> World {
    World::start(flags(&[]), EventsArgs::default(), reconciler).await
}

/// Makes a Receiver, and waits until it is Ready.
async fn with_ready(world: &World, name: &str) -> Api<DynamicObject> {
    world.receiver(name, "").await;
    let receivers = world.receivers().await;
    wait_ready(&receivers, name, DEADLINE).await.unwrap();
    receivers
}

/// Requests a run, and waits until the request is handled.
async fn requested(receivers: &Api<DynamicObject>, name: &str) -> DynamicObject {
    let token = touch_requested_at(receivers, name).await.unwrap();
    let handled = wait_for(receivers, name, "the request is handled", DEADLINE, |object| {
        object.is_some_and(|object| object.data["status"]["lastHandledReconcileAt"] == token.as_str())
    });
    handled.await.unwrap().unwrap()
}

fn finalizers(names: &[&str]) -> Patch<serde_json::Value> {
    Patch::Merge(serde_json::json!({"metadata": {"finalizers": names}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_gets_its_finalizer_its_status_and_an_event() {
    let world = world(MarkReady::default()).await;
    world.receiver("a", "").await;
    let object = wait_ready(&world.receivers().await, "a", DEADLINE).await.unwrap();
    assert_eq!(object.metadata.finalizers.as_deref(), Some(&["finalizers.fluxcd.io".to_owned()][..]));
    let events: Api<Event> = Api::namespaced(world.env.client.clone(), &world.namespace);
    let event = eventually("the event", DEADLINE, async || {
        events.list(&ListParams::default()).await.ok()?.items.pop()
    });
    let event = event.await.unwrap();
    assert_eq!(event.message.as_deref(), Some("all good"));
    assert_eq!(event.source.unwrap().component.as_deref(), Some("test-controller"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_comes_again_counts_up() {
    let world = world(MarkReady::default()).await;
    let receivers = with_ready(&world, "a").await;
    touch_requested_at(&receivers, "a").await.unwrap();
    let events: Api<Event> = Api::namespaced(world.env.client.clone(), &world.namespace);
    let counts = eventually("the event to count two", DEADLINE, async || {
        let listed = events.list(&ListParams::default()).await.ok()?.items;
        let counts: Vec<_> = listed.iter().map(|event| event.count.unwrap_or_default()).collect();
        (counts.iter().sum::<i32>() == 2).then_some(counts)
    });
    assert_eq!(counts.await.unwrap(), [2]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_recorded_as_handled() {
    let world = world(MarkReady::default()).await;
    let receivers = with_ready(&world, "a").await;
    requested(&receivers, "a").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_object_is_not_reconciled_but_its_request_is_recorded() {
    let reconciler = MarkReady::default();
    let runs = reconciler.runs.clone();
    let world = world(reconciler).await;
    world.receiver("a", "suspend: true").await;
    let receivers = world.receivers().await;
    let object = requested(&receivers, "a").await;
    assert!(condition(&object, "Ready").is_none());
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    // It has a series all the same, as in Flux. A run is counted when it ends, after its last write.
    let counted = || async {
        let text = world.env.metrics.encode().ok()?;
        text.contains("gotk_reconcile_duration_seconds_count{kind=\"Receiver\",name=\"a\"").then_some(())
    };
    eventually("the run to be counted", DEADLINE, counted).await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_object_is_finalized_once_and_goes() {
    let reconciler = MarkReady::default();
    let finalized = reconciler.finalized.clone();
    let world = world(reconciler).await;
    let receivers = with_ready(&world, "a").await;
    receivers.delete("a", &DeleteParams::default()).await.unwrap();
    wait_gone(&receivers, "a", DEADLINE).await.unwrap();
    assert_eq!(finalized.load(Ordering::SeqCst), 1);
    world.stop().await;
}

/// OBS: a deletion that fails is an error in the metrics, as in Flux, where alerts see it.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_fails_is_counted_as_an_error() {
    let world = world(MarkReady::default()).await;
    let receivers = with_ready(&world, "stuck").await;
    receivers.delete("stuck", &DeleteParams::default()).await.unwrap();
    wait_gone(&receivers, "stuck", DEADLINE).await.unwrap();
    let text = world.env.metrics.encode().unwrap();
    assert!(
        text.contains("controller_runtime_reconcile_errors_total{controller=\"receiver\"} 1\n"),
        "{text}"
    );
    // The series of an object goes with it, whatever the last run has counted.
    let gone = || async {
        let text = world.env.metrics.encode().ok()?;
        (!text.contains("gotk_reconcile_duration_seconds_count{")).then_some(())
    };
    eventually("the object's series to go", DEADLINE, gone).await.unwrap();
    world.stop().await;
}

/// An object that the finalizer of somebody else keeps shows that its deletion was seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_object_that_others_keep_shows_its_last_generation() {
    let world = world(MarkReady::default()).await;
    let receivers = with_ready(&world, "a").await;
    let both = finalizers(&["finalizers.fluxcd.io", "example.com/other"]);
    receivers.patch("a", &PatchParams::default(), &both).await.unwrap();
    receivers.delete("a", &DeleteParams::default()).await.unwrap();
    let is_let_go = |object: Option<&kube::core::DynamicObject>| {
        object.is_some_and(|object| {
            object.metadata.finalizers.as_deref() == Some(&["example.com/other".to_owned()])
        })
    };
    let kept =
        wait_for(&receivers, "a", "its own finalizer to go", DEADLINE, is_let_go).await.unwrap().unwrap();
    assert_eq!(kept.data["status"]["observedGeneration"], kept.metadata.generation.unwrap());
    receivers.patch("a", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    wait_gone(&receivers, "a", DEADLINE).await.unwrap();
    world.stop().await;
}

/// KS-REC-21: the deletion counts, not the finalizer, which somebody may have taken off.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_lost_its_finalizer_is_finalized_while_others_keep_it() {
    let reconciler = MarkReady::default();
    let finalized = reconciler.finalized.clone();
    let world = world(reconciler).await;
    world.receiver("a", "suspend: true").await;
    let receivers = world.receivers().await;
    requested(&receivers, "a").await;
    let other = finalizers(&["example.com/other"]);
    receivers.patch("a", &PatchParams::default(), &other).await.unwrap();
    receivers.delete("a", &DeleteParams::default()).await.unwrap();
    let once = async || (finalized.load(Ordering::SeqCst) == 1).then_some(());
    eventually("the end of its work", DEADLINE, once).await.unwrap();
    let kept = receivers.get("a").await.unwrap();
    assert_eq!(kept.metadata.finalizers.unwrap(), ["example.com/other"]);
    receivers.patch("a", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    wait_gone(&receivers, "a", DEADLINE).await.unwrap();
    world.stop().await;
}

/// DEP-K8S-4, KS-API-5: an object that does not fit its API type says so, and its deletion does not hang.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_does_not_fit_is_let_go_when_it_is_deleted() {
    let reconciler = MarkReady::default();
    let (runs, finalized) = (reconciler.runs.clone(), reconciler.finalized.clone());
    let world = world(reconciler).await;
    let receivers = with_ready(&world, "a").await;
    let before = runs.load(Ordering::SeqCst);
    // The API server takes an object without a spec.
    let patch = Patch::Merge(serde_json::json!({"spec": null}));
    receivers.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let stalled = eventually("the object is refused", DEADLINE, async || {
        let object = receivers.get("a").await.unwrap();
        condition(&object, "Stalled").is_some().then_some(object)
    });
    let stalled = stalled.await.unwrap();
    let ready = condition(&stalled, "Ready").unwrap();
    let expected = "the object does not fit its API type: missing field `spec`";
    assert_eq!((&*ready.status, &*ready.reason, &*ready.message), ("False", "InvalidObject", expected));
    assert_eq!(stalled.data["status"]["observedGeneration"], stalled.metadata.generation.unwrap());
    // A change of the metadata is no news of what does not fit.
    let label = Patch::Merge(serde_json::json!({"metadata": {"labels": {"x": "y"}}}));
    receivers.patch("a", &PatchParams::default(), &label).await.unwrap();
    receivers.delete("a", &DeleteParams::default()).await.unwrap();
    wait_gone(&receivers, "a", DEADLINE).await.unwrap();
    assert_eq!((runs.load(Ordering::SeqCst), finalized.load(Ordering::SeqCst)), (before, 0));
    world.stop().await;
}

/// KS-API-5: once it is put right, nothing is left of the verdict.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_fits_again_is_reconciled() {
    let world = world(MarkReady::default()).await;
    let receivers = world.receivers().await;
    let bare = "apiVersion: notification.toolkit.fluxcd.io/v1\nkind: Receiver\nmetadata: {name: a}\n";
    world.plane.apply_yaml(&world.namespace, bare).await.unwrap();
    eventually("the object is refused", DEADLINE, async || {
        let object = receivers.get("a").await.unwrap();
        condition(&object, "Stalled").is_some().then_some(())
    })
    .await
    .unwrap();
    world.receiver("a", "").await;
    wait_ready(&receivers, "a", DEADLINE).await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_only_its_own_object() {
    let world = world(MarkReady::default()).await;
    world.receiver("panic", "").await;
    world.receiver("b", "").await;
    wait_ready(&world.receivers().await, "b", DEADLINE).await.unwrap();
    let text = eventually("the panic is counted", DEADLINE, async || {
        let text = world.env.metrics.encode().ok()?;
        text.contains("controller_runtime_reconcile_panics_total").then_some(text)
    });
    assert!(
        text.await.unwrap().contains(r#"controller_runtime_reconcile_errors_total{controller="receiver"}"#)
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spec_change_moves_the_generation_and_not_the_transition_time() {
    let reconciler = MarkReady::default();
    let runs = reconciler.runs.clone();
    let world = world(reconciler).await;
    world.receiver("a", "").await;
    let receivers = world.receivers().await;
    let first = wait_ready(&receivers, "a", DEADLINE).await.unwrap();
    let before = runs.load(Ordering::SeqCst);
    world.receiver("a", "interval: 5m").await;
    let second = eventually("the second run", DEADLINE, async || {
        let object = receivers.get("a").await.ok()?;
        (runs.load(Ordering::SeqCst) > before && object.data["status"]["observedGeneration"] == 2)
            .then_some(object)
    });
    let second = second.await.unwrap();
    assert_ne!(first.metadata.resource_version, second.metadata.resource_version);
    assert_eq!(
        first.data["status"]["conditions"][0]["lastTransitionTime"],
        second.data["status"]["conditions"][0]["lastTransitionTime"]
    );
    world.stop().await;
}

/// SRC-REC-11: another controller's condition, written while a run is on, is neither lost nor does it cost a second run.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_others_survive() {
    let reconciler = MarkReady::default();
    let (held, runs) = (reconciler.held.clone(), reconciler.runs.clone());
    let world = world(reconciler).await;
    world.receiver("held", "").await;
    let receivers = world.receivers().await;
    eventually("the run", DEADLINE, async || (runs.load(Ordering::SeqCst) == 1).then_some(())).await.unwrap();
    let foreign = serde_json::json!({"type": "Audited", "status": "True", "reason": "Fine", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let patch = Patch::Merge(serde_json::json!({"status": {"conditions": [foreign]}}));
    receivers.patch_status("held", &PatchParams::default(), &patch).await.unwrap();
    held.add_permits(1);
    let object = wait_ready(&receivers, "held", DEADLINE).await.unwrap();
    assert_eq!(condition(&object, "Audited").unwrap().reason, "Fine");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let managers = object.metadata.managed_fields.unwrap_or_default();
    assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("test-controller")), "{managers:?}");
    world.stop().await;
}

/// The whole condition, with its time.
fn ready_of(object: &DynamicObject) -> serde_json::Value {
    let conditions = object.data["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == "Ready").unwrap().clone()
}

/// GEN-9: a run that lasts shows it, and a Ready object stays so until the run has found something new.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_that_only_looks_leaves_ready_as_it_is() {
    let reconciler = MarkReady::default();
    let held = reconciler.held.clone();
    let world = world(reconciler).await;
    world.receiver("held", "").await;
    let receivers = world.receivers().await;
    let seen = async |expected: &str| {
        let what = format!("Ready={expected} in a run that lasts");
        let object = wait_for(&receivers, "held", &what, DEADLINE, |object| {
            let status = |type_| Some(condition(object?, type_)?.status);
            status("Reconciling").as_deref() == Some("True") && status("Ready").as_deref() == Some(expected)
        });
        ready_of(&object.await.unwrap().unwrap())
    };
    seen("Unknown").await;
    held.add_permits(1);
    let ready = ready_of(&wait_ready(&receivers, "held", DEADLINE).await.unwrap());
    touch_requested_at(&receivers, "held").await.unwrap();
    assert_eq!(seen("True").await, ready);
    held.add_permits(1);
    let done = wait_for(&receivers, "held", "the end", DEADLINE, |object| {
        object.is_some_and(|object| condition(object, "Reconciling").is_none())
    });
    assert_eq!(ready_of(&done.await.unwrap().unwrap()), ready);
    world.stop().await;
}

/// SRC-REC-6.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_runs_at_once_than_workers() {
    let reconciler = MarkReady::default();
    let (held, runs) = (reconciler.held.clone(), reconciler.runs.clone());
    let world = world(reconciler).await;
    for number in 0..6 {
        world.receiver(&format!("held-{number}"), "").await;
    }
    let metrics = &world.env.metrics;
    let waiting = eventually("two to wait for the four workers", DEADLINE, async || {
        let text = metrics.encode().ok()?;
        text.contains("workqueue_depth{controller=\"receiver\",name=\"receiver\"} 2\n").then_some(())
    });
    waiting.await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 4);
    held.add_permits(6);
    for number in 0..6 {
        wait_ready(&world.receivers().await, &format!("held-{number}"), DEADLINE).await.unwrap();
    }
    world.stop().await;
}

/// GEN-6, SRC-REC-18, KS-REC-21: an object that is on its way out before it has a finalizer gets none. It is finalized all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_deleted_before_it_is_known_gets_no_finalizer() {
    let namespace = World::namespace().await;
    let plane = weir_testkit::ControlPlane::shared().await.unwrap();
    let receivers = plane.api("notification.toolkit.fluxcd.io/v1", "Receiver", &namespace).await.unwrap();
    let yaml = "apiVersion: notification.toolkit.fluxcd.io/v1\nkind: Receiver\n\
                metadata: {name: going, finalizers: [example.com/other]}\n\
                spec: {type: generic, secretRef: {name: s}, resources: []}\n";
    plane.apply_yaml(&namespace, yaml).await.unwrap();
    receivers.delete("going", &DeleteParams::default()).await.unwrap();
    let reconciler = MarkReady::default();
    let (runs, finalized) = (reconciler.runs.clone(), reconciler.finalized.clone());
    let config = plane.config().unwrap();
    let world = World::start_in(namespace, config, flags(&[]), EventsArgs::default(), reconciler).await;
    world.receiver("b", "").await;
    wait_ready(&receivers, "b", DEADLINE).await.unwrap();
    let going = receivers.get("going").await.unwrap();
    assert_eq!(going.metadata.finalizers.unwrap(), ["example.com/other"]);
    let once = async || (finalized.load(Ordering::SeqCst) == 1).then_some(());
    eventually("the end of its work", DEADLINE, once).await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1, "of the other object");
    receivers.patch("going", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    wait_gone(&receivers, "going", DEADLINE).await.unwrap();
    let text = world.env.metrics.encode().unwrap();
    assert!(text.contains("controller_runtime_reconcile_errors_total{controller=\"receiver\"} 0"), "{text}");
    world.stop().await;
}
