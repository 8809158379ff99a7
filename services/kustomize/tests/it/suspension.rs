//! A suspended Kustomization: nothing is done until it is resumed.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{PATIENCE, World, cm};

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_and_a_new_revision_change_nothing_during_a_suspension() {
    let world = World::new().await;
    let files = |value: &str| [("app/a.yaml", cm("a", value)), ("fence/b.yaml", cm("b", value))];
    let publish = async |number: u32| {
        let files = files(&number.to_string());
        world.source("src", number, &files.each_ref().map(|(path, text)| (*path, text.as_str()))).await
    };
    let first = publish(1).await;
    for name in ["app", "fence"] {
        world.kustomization(name, json!({"path": format!("./{name}")})).await;
        world.ready(name).await;
    }
    let suspended = |suspend: bool| json!({"path": "./app", "suspend": suspend});
    world.kustomization("app", suspended(true)).await;
    world.requested("app").await;

    let maps = world.api("v1", "ConfigMap").await;
    let value = async |name: &str| world.config_map(name).await.unwrap().data["data"]["k"].clone();
    for name in ["a", "b"] {
        let edit = Patch::Merge(json!({"data": {"k": "hand"}}));
        maps.patch(name, &PatchParams::apply("hand"), &edit).await.unwrap();
    }
    // The later edit of what is not suspended is put back, so that the earlier one has been seen too.
    let put_back = async || (value("b").await == "1").then_some(());
    weir_testkit::eventually("the other edit to be put back", PATIENCE, put_back).await.unwrap();
    let second = publish(2).await;
    world.applied("fence", &second).await;
    let app = world.kustomizations().await.get("app").await.unwrap();
    assert_eq!(app.data["status"]["lastAppliedRevision"], json!(first));
    assert_eq!(value("a").await, "hand");

    world.kustomization("app", suspended(false)).await;
    world.applied("app", &second).await;
    assert_eq!(value("a").await, "2");
}

/// KS-GC-20: also where the policy says that they go.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_suspended_kustomization_stay_when_it_is_deleted() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let policy = |suspend: Value| json!({"deletionPolicy": "Delete", "suspend": suspend});
    world.kustomization("app", policy(json!(false))).await;
    world.ready("app").await;
    world.kustomization("app", policy(json!(true))).await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    assert!(world.config_map("a").await.is_some());
}
