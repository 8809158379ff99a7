//! Scanning registries.

use kube::api::Patch;
use serde_json::json;
use weir_testkit::{Registry, SinkAnswer, WebhookSink, touch_requested_at, wait_for, wait_gone};

use crate::world::{DEADLINE, World};

#[tokio::test]
async fn a_repository_is_scanned_and_again_on_request() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/scan/app", registry.address());
    registry.push_image("scan/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({"exclusionList": ["-rc"]})).await;
    let status = world.until("ImageRepository", "app", "found 1 tags").await;
    assert_eq!(status["canonicalImageName"], image.as_str());
    assert_eq!(status["lastScanResult"]["latestTags"], json!(["1.0.0"]));
    assert_eq!(status["observedExclusionList"], json!(["-rc"]));

    registry.push_image("scan/app", "1.1.0").await.unwrap();
    registry.push_image("scan/app", "1.2.0-rc").await.unwrap();
    let token = touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    let status = world.until("ImageRepository", "app", "found 2 tags").await;
    assert_eq!(status["lastScanResult"]["latestTags"], json!(["1.1.0", "1.0.0"]));
    assert_eq!(status["lastHandledReconcileAt"], token.as_str());
}

#[tokio::test]
async fn a_private_registry_is_entered_with_the_pull_secret_only() {
    let (world, registry) = (World::start().await, Registry::start_with_basic_auth().await.unwrap());
    registry.push_image("private/app", "1.0.0").await.unwrap();
    let image = format!("{}/private/app", registry.address());
    world.repository("open", &image, json!({})).await;
    world.until("ImageRepository", "open", "UNAUTHORIZED: authentication required").await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "pull"}, "stringData": {".dockerconfigjson": registry.docker_config()},
    });
    world.plane.apply(&world.namespace, secret).await.unwrap();
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller"},
        "imagePullSecrets": [{"name": "pull"}],
    });
    world.plane.apply(&world.namespace, account).await.unwrap();
    world.repository("secret", &image, json!({"secretRef": {"name": "pull"}})).await;
    world.repository("account", &image, json!({"serviceAccountName": "puller"})).await;
    world.until("ImageRepository", "secret", "found 1 tags").await;
    world.until("ImageRepository", "account", "found 1 tags").await;
}

#[tokio::test]
async fn deleting_a_repository_deletes_its_tags() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_image("gone/app", "1.0.0").await.unwrap();
    world.repository("app", &format!("{}/gone/app", registry.address()), json!({})).await;
    world.until("ImageRepository", "app", "found 1 tags").await;
    let folder = world.storage().join(format!("imagerepository/{}/app", world.namespace));
    assert_eq!(std::fs::read_to_string(folder.join("tags.txt")).unwrap(), "1.0.0\n");
    let api = world.api("ImageRepository").await;
    api.delete("app", &Default::default()).await.unwrap();
    wait_gone(&api, "app", DEADLINE).await.unwrap();
    assert!(!folder.exists());
}

/// IR-10: with nothing left, a run scans even if nobody has asked for it and no time has passed.
#[tokio::test]
async fn a_repository_without_tags_is_scanned_by_each_run() {
    let (world, sink) = (World::start().await, WebhookSink::start().await.unwrap());
    sink.answer_with(|_| SinkAnswer { body: r#"{"tags":["1.0.0"]}"#.into(), ..SinkAnswer::default() });
    let image = format!("{}/org/app", sink.url("").replace("http://", ""));
    world.repository("app", &image, json!({"exclusionList": ["."]})).await;
    world.until("ImageRepository", "app", "found 0 tags").await;
    sink.forget();
    let change = Patch::Merge(json!({"spec": {"interval": "2h"}}));
    world.api("ImageRepository").await.patch("app", &Default::default(), &change).await.unwrap();
    sink.wait_for("another scan", DEADLINE, |request| request.path.ends_with("/tags/list")).await.unwrap();
}

/// IR-11: a suspended repository shows the same as before when its tags are lost, and is scanned once it may be.
#[tokio::test]
async fn a_suspended_repository_keeps_its_status_when_its_tags_are_lost() {
    let (mut world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_image("kept/app", "1.0.0").await.unwrap();
    let image = format!("{}/kept/app", registry.address());
    world.repository("app", &image, json!({})).await;
    let before = world.until("ImageRepository", "app", "found 1 tags").await;
    let api = world.api("ImageRepository").await;
    let suspend = |is_suspended: bool| Patch::Merge(json!({"spec": {"suspend": is_suspended}}));
    api.patch("app", &Default::default(), &suspend(true)).await.unwrap();
    world.controller.kill();
    std::fs::remove_dir_all(world.storage()).unwrap();
    world.start_again();
    // The request is noted, so that the object has been looked at.
    let token = touch_requested_at(&api, "app").await.unwrap();
    let is_noted = |object: Option<&kube::core::DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["lastHandledReconcileAt"] == token.as_str())
    };
    let seen = wait_for(&api, "app", "the request to be noted", DEADLINE, is_noted).await.unwrap().unwrap();
    for field in ["lastScanResult", "canonicalImageName"] {
        assert_eq!(seen.data["status"][field], before[field], "{field}");
    }
    assert!(!world.storage().join(format!("imagerepository/{}/app", world.namespace)).exists());

    registry.push_image("kept/app", "1.1.0").await.unwrap();
    api.patch("app", &Default::default(), &suspend(false)).await.unwrap();
    world.until("ImageRepository", "app", "found 2 tags").await;
}
