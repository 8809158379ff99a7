//! Scanning registries.

use serde_json::json;
use weir_testkit::{Registry, touch_requested_at, wait_gone};

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
