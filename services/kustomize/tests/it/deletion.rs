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

/// After a rename, one Kustomization is new and one is deleted. Nothing is deleted before the new one has taken it over.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_renamed_kustomization_stay() {
    let world = World::new().await;
    let revision = world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("old", json!({})).await;
    world.ready("old").await;
    let before = world.config_map("a").await.unwrap().metadata.uid;
    world.kustomization("new", json!({"dependsOn": [{"name": "base"}]})).await;
    world.not_ready("new", "DependencyNotReady").await;
    let api = world.kustomizations().await;
    api.delete("old", &DeleteParams::default()).await.unwrap();
    let successor = format!("waiting for Kustomization/{}/new, which takes over the objects", world.ns);
    world.event("old", &successor).await;
    world.kustomization("new", json!({})).await;
    world.applied("new", &revision).await;
    weir_testkit::wait_gone(&api, "old", PATIENCE).await.unwrap();
    let after = world.config_map("a").await.unwrap().metadata;
    assert_eq!(after.uid, before);
    assert_eq!(after.labels.unwrap()["kustomize.toolkit.fluxcd.io/name"], "new");
}

/// A Kustomization is deleted, and its object stays for its finalizer.
async fn awaiting_termination(world: &World, spec: Value) {
    let held = cm("a", "1").replace("name: a", "name: a\n  finalizers: [example.com/hold]");
    world.source("src", 1, &[("a.yaml", &held)]).await;
    world.kustomization("app", spec).await;
    world.ready("app").await;
    world.kustomizations().await.delete("app", &DeleteParams::default()).await.unwrap();
    let objects = world.api("v1", "ConfigMap").await;
    weir_testkit::wait_for(&objects, "a", "the object is being deleted", PATIENCE, |found| {
        found.is_some_and(|found| found.metadata.deletion_timestamp.is_some())
    })
    .await
    .unwrap();
}

/// Somebody who may do everything in the namespace of the test.
async fn tenant(world: &World) {
    let everything = vec![
        serde_json::from_value(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})).unwrap(),
    ];
    world.plane().service_account(&world.ns, "tenant", &everything).await.unwrap();
}

/// Deletes all objects of a kind in the namespace of the test.
async fn delete_all(world: &World, api_version: &str, kind: &str) {
    let api = world.api(api_version, kind).await;
    api.delete_collection(&DeleteParams::default(), &kube::api::ListParams::default()).await.unwrap();
}

/// KS-GC-22
#[tokio::test(flavor = "multi_thread")]
async fn termination_is_waited_for() {
    let world = World::new().await;
    awaiting_termination(&world, json!({"deletionPolicy": "WaitForTermination"})).await;
    let (api, objects) = (world.kustomizations().await, world.api("v1", "ConfigMap").await);
    assert!(world.event("app", "deleted").await.ends_with(&format!("ConfigMap/{}/a deleted", world.ns)));
    assert!(api.get_opt("app").await.unwrap().is_some());
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    objects.patch("a", &PatchParams::default(), &release).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
}

/// KS-GC-22, KS-GC-26: a namespace that goes takes the account along, and nobody can see any more what is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_when_the_account_may_no_longer_look() {
    let world = World::new().await;
    tenant(&world).await;
    awaiting_termination(
        &world,
        json!({"deletionPolicy": "WaitForTermination", "serviceAccountName": "tenant", "timeout": "1h"}),
    )
    .await;
    delete_all(&world, "rbac.authorization.k8s.io/v1", "RoleBinding").await;
    weir_testkit::wait_gone(&world.kustomizations().await, "app", PATIENCE).await.unwrap();
    world.event("app", "failed to wait for resources termination").await;
}

/// KS-GC-22, KS-GC-27: all was deleted already, so that the wait has its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_in_time_although_the_kubeconfig_is_gone() {
    let world = World::new().await;
    let kubeconfig = std::fs::read_to_string(world.plane().kubeconfig_path()).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "remote"},
        "stringData": {"value": kubeconfig}});
    world.plane().apply_yaml(&world.ns, &secret.to_string()).await.unwrap();
    let remote = json!({"deletionPolicy": "WaitForTermination", "timeout": "10s",
        "kubeConfig": {"secretRef": {"name": "remote"}}});
    awaiting_termination(&world, remote).await;
    delete_all(&world, "v1", "Secret").await;
    weir_testkit::wait_gone(&world.kustomizations().await, "app", PATIENCE).await.unwrap();
    world.event("app", "failed to wait for resources termination").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_deleted_account_are_orphaned() {
    let world = World::new().await;
    tenant(&world).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"serviceAccountName": "tenant"})).await;
    world.ready("app").await;
    for (api_version, kind) in [("rbac.authorization.k8s.io/v1", "RoleBinding"), ("v1", "ServiceAccount")] {
        delete_all(&world, api_version, kind).await;
    }
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    let event = world.event("app", "unable to prune objects").await;
    assert!(event.ends_with(&format!("unable to prune objects: \nConfigMap/{}/a", world.ns)), "{event}");
    assert!(world.config_map("a").await.is_some());
}
