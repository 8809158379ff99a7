//! `weir resume` and its waits (CLI-SUS02); the test plays the service.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::wait_for;

use crate::weir::DEADLINE;
use crate::world::{World, condition, ready, with};

async fn suspended(world: &World, name: &str) {
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let spec = json!({ "interval": "1m", "prune": true, "suspend": true, "sourceRef": source });
    world.object_with("Kustomization", name, spec).await;
}

/// Waits until the object is resumed, and returns its generation.
async fn resumed(world: &World, name: &str) -> i64 {
    let api = world.api("Kustomization").await;
    let is_resumed = |object: Option<&DynamicObject>| {
        object
            .is_some_and(|object| object.data.pointer("/spec/suspend").and_then(Value::as_bool) != Some(true))
    };
    let object = wait_for(&api, name, "to be resumed", DEADLINE, is_resumed).await.unwrap();
    object.unwrap().metadata.generation.unwrap()
}

#[tokio::test]
async fn one_object_is_waited_for() {
    let world = World::new("resume-one").await;
    suspended(&world, "app").await;
    let running = world.weir().start("resume kustomization app");
    let generation = resumed(&world, "app").await;
    let applied = json!({ "lastAppliedRevision": "main@sha1:0123" });
    let status = with(ready(generation, "True", "ReconciliationSucceeded", "Applied"), applied);
    world.status("Kustomization", "app", status).await;
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn several_are_waited_for_when_asked_and_failures_are_counted() {
    let world = World::new("resume-all").await;
    for name in ["a-stalled", "b-ready", "c-silent"] {
        suspended(&world, name).await;
    }
    let running = world.weir().start("resume kustomization --all --wait --timeout 8s");
    let generation = resumed(&world, "a-stalled").await;
    let conditions = json!([
        condition("Stalled", generation, "True", "InvalidCELExpression", "bad expression"),
        condition("Ready", generation, "False", "InvalidCELExpression", "bad expression"),
    ]);
    let status = json!({ "observedGeneration": generation, "conditions": conditions });
    world.status("Kustomization", "a-stalled", status).await;
    let generation = resumed(&world, "b-ready").await;
    let applied = json!({ "lastAppliedRevision": "main@sha1:0123" });
    world
        .status("Kustomization", "b-ready", with(ready(generation, "True", "Succeeded", "Applied"), applied))
        .await;
    insta::assert_snapshot!(running.end().await);
}

/// A manifest that says `suspend: false` is as it should be, and `resume` is no reason for a new generation.
#[tokio::test]
async fn an_object_that_is_not_suspended_stays_as_it_is() {
    let world = World::new("resume-not-suspended").await;
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let spec = json!({ "interval": "1m", "prune": true, "suspend": false, "sourceRef": source });
    world.object_with("Kustomization", "app", spec).await;
    let weir = world.weir();
    for command in [Some(weir.clone()), weir.as_flux()].into_iter().flatten() {
        let transcript = command.transcript(&["resume ks app --wait=false"]).await;
        assert!(transcript.ends_with("kustomization resumed\n\n"), "{transcript}");
        let object = world.api("Kustomization").await.get("app").await.unwrap();
        assert_eq!(object.data["spec"]["suspend"], json!(false));
        assert_eq!(object.metadata.generation, Some(1));
    }
}

#[tokio::test]
async fn nothing_is_waited_for_where_nobody_asked() {
    let world = World::new("resume-now").await;
    for name in ["backend", "frontend"] {
        suspended(&world, name).await;
    }
    world.object("Alert", "slack").await;
    world.object("Provider", "slack").await;
    let commands = [
        "resume kustomization frontend backend missing",
        "get kustomizations",
        "resume ks frontend --wait=false",
        "resume alert slack",
        "resume alert-provider slack",
        "resume kustomization",
        "resume kustomization missing",
        "resume image policy --all",
    ];
    insta::assert_snapshot!(world.weir().transcript(&commands).await);
}
