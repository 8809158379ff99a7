//! Selecting tags.

use axum::http::StatusCode;
use serde_json::json;
use weir_testkit::{Registry, SinkAnswer, WebhookSink, touch_requested_at};

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

/// The words of Flux's library; one question is asked, which registries do not count as a pull.
#[tokio::test]
async fn digests_that_cannot_be_looked_up() {
    let (world, sink) = (World::start().await, WebhookSink::start().await.unwrap());
    sink.answer_with(|request| match request.path.as_str() {
        "/v2/org/app/tags/list" => {
            SinkAnswer { body: r#"{"tags":["1.0.0"]}"#.into(), ..SinkAnswer::default() }
        }
        "/v2/" => SinkAnswer::default(),
        _ => SinkAnswer { status: StatusCode::NOT_FOUND, ..SinkAnswer::default() },
    });
    let address = sink.url("").replace("http://", "");
    let image = format!("{address}/org/app");
    world.repository("app", &image, json!({"insecure": true})).await;
    let spec = json!({
        "imageRepositoryRef": {"name": "app"}, "policy": {"alphabetical": {}}, "digestReflectionPolicy": "IfNotPresent",
    });
    world.apply("ImagePolicy", "app", spec).await;
    let expected = format!(
        "failed fetching digest of {image}:1.0.0: failed fetching descriptor for \"{image}:1.0.0\": HEAD \
         http://{address}/v2/org/app/manifests/1.0.0: unexpected status code 404 Not Found (HEAD responses have no \
         body, use GET for details)"
    );
    world.until("ImagePolicy", "app", &expected).await;
    let asked = sink.requests().into_iter().filter(|request| request.path.contains("/manifests/"));
    assert!(asked.map(|request| request.method).all(|method| method == "HEAD"));
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
