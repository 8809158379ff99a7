//! Selecting tags.

use serde_json::json;
use weir_testkit::{Registry, touch_requested_at};

use crate::world::World;

#[tokio::test]
async fn a_policy_follows_the_scans_of_its_repository() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/follow/app", registry.address());
    registry.push_image("follow/app", "1.0.0").await.unwrap();
    // Applied before its repository, so that it has to wait.
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    world.until("ImagePolicy", "app", "referenced ImageRepository does not exist").await;
    world.repository("app", &image, json!({})).await;
    world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    registry.push_image("follow/app", "1.1.0").await.unwrap();
    registry.push_image("follow/app", "2.0.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    let status = world.until("ImagePolicy", "app", "resolved to 1.1.0").await;
    assert_eq!(status["latestRef"], json!({"name": image, "tag": "1.1.0"}));
    assert_eq!(status["observedPreviousRef"], json!({"name": image, "tag": "1.0.0"}));
}

#[tokio::test]
async fn digests_are_reflected() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/digest/app", registry.address());
    let digest = registry.push_image("digest/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    let spec = json!({
        "imageRepositoryRef": {"name": "app"}, "policy": {"alphabetical": {}}, "digestReflectionPolicy": "IfNotPresent",
    });
    world.apply("ImagePolicy", "app", spec).await;
    let status = world.until("ImagePolicy", "app", "with digest").await;
    assert_eq!(status["latestRef"], json!({"name": image, "tag": "1.0.0", "digest": digest}));
}

#[tokio::test]
async fn a_lost_tag_database_is_rebuilt_without_a_change() {
    let (mut world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/lost/app", registry.address());
    registry.push_image("lost/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    let before = world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    world.controller.kill();
    std::fs::remove_dir_all(world.storage()).unwrap();
    world.start_again();
    // A new tag is seen only after the store is filled again; then the old selection is still the previous one.
    registry.push_image("lost/app", "1.1.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    let after = world.until("ImagePolicy", "app", "resolved to 1.1.0").await;
    assert_eq!(after["observedPreviousRef"], before["latestRef"]);
}
