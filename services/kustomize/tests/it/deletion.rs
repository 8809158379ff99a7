use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{PATIENCE, World, cm};

async fn deleted_with(spec: Value) -> World {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", spec).await;
    world.ready("app").await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_say_what_stays() {
    for (spec, stays) in [
        (json!({"deletionPolicy": "MirrorPrune", "prune": false}), true),
        (json!({"deletionPolicy": "Delete", "prune": false}), false),
        (json!({"deletionPolicy": "Orphan"}), true),
        (json!({"deletionPolicy": "WaitForTermination"}), false),
    ] {
        let world = deleted_with(spec.clone()).await;
        assert_eq!(world.config_map("a").await.is_some(), stays, "{spec}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn termination_is_waited_for() {
    let world = World::new().await;
    let held = cm("a", "1").replace("name: a", "name: a\n  finalizers: [example.com/hold]");
    world.source("src", 1, &[("a.yaml", &held)]).await;
    world.kustomization("app", json!({"deletionPolicy": "WaitForTermination"})).await;
    world.ready("app").await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    let objects = world.api("v1", "ConfigMap").await;
    weir_testkit::wait_for(&objects, "a", "the object is being deleted", PATIENCE, |found| {
        found.is_some_and(|found| found.metadata.deletion_timestamp.is_some())
    })
    .await
    .unwrap();
    assert!(world.event("app", "deleted").await.ends_with(&format!("ConfigMap/{}/a deleted", world.ns)));
    assert!(api.get_opt("app").await.unwrap().is_some());
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    objects.patch("a", &PatchParams::default(), &release).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_deleted_account_are_orphaned() {
    let world = World::new().await;
    let everything = vec![
        serde_json::from_value(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})).unwrap(),
    ];
    world.plane().service_account(&world.ns, "tenant", &everything).await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"serviceAccountName": "tenant"})).await;
    world.ready("app").await;
    for (api_version, kind) in [("rbac.authorization.k8s.io/v1", "RoleBinding"), ("v1", "ServiceAccount")] {
        let api = world.api(api_version, kind).await;
        api.delete_collection(&DeleteParams::default(), &kube::api::ListParams::default()).await.unwrap();
    }
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    let event = world.event("app", "unable to prune objects").await;
    assert!(event.ends_with(&format!("unable to prune objects: \nConfigMap/{}/a", world.ns)), "{event}");
    assert!(world.config_map("a").await.is_some());
}
