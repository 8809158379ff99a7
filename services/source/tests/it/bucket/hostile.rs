//! Buckets that mean harm, and secrets that must not be seen.

use serde_json::json;
use weir_testkit::touch_requested_at;

use super::stand_in::StandIn;
use super::{BUCKET, revision};
use crate::world::{World, paths};

/// SRC-SCK-1.
#[tokio::test]
async fn keys_that_lead_elsewhere_are_refused() {
    for key in ["../evil", "a/../../evil", "a/./b", "a\\..\\evil"] {
        let (world, server) = (World::start().await, StandIn::start(None).await);
        server.put("good.yaml", "good");
        server.put(key, "evil");
        world.bucket("evil", &server.endpoint(), "apps", json!({})).await;
        let (reason, message) = world.failure(BUCKET, "evil").await;
        assert_eq!(reason, "BucketOperationFailed");
        let expected =
            format!("fetch from bucket 'apps' failed: failed to resolve path for '{key}' object: ");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(server.requests(), 4, "nothing of it is downloaded");
        // An ignored file does no harm.
        world.bucket("evil", &server.endpoint(), "apps", json!({"ignore": "/*\n!/good.yaml"})).await;
        world.ready(BUCKET, "evil").await;
    }
}

/// One name cannot be a file and a folder; that is no fault of the disk.
#[tokio::test]
async fn a_key_below_another_is_refused() {
    let (world, server) = (World::start().await, StandIn::start(None).await);
    for key in ["a", "a/b"] {
        server.put(key, "a");
    }
    world.bucket("apps", &server.endpoint(), "apps", json!({})).await;
    let (reason, message) = world.failure(BUCKET, "apps").await;
    assert_eq!(reason, "BucketOperationFailed", "{message}");
}

/// SRC-SCK-1: a key is a key, and not what it would be after decoding.
#[tokio::test]
async fn escapes_in_keys_are_not_undone() {
    let (world, server) = (World::start().await, StandIn::start(None).await);
    let keys = ["%2e%2e/%2e%2e/x", "..%2f..%2fy", "/etc/passwd"];
    for key in keys {
        server.put(key, "evil");
    }
    world.bucket("apps", &server.endpoint(), "apps", json!({})).await;
    let status = world.ready(BUCKET, "apps").await;
    assert_eq!(paths(&status).await, ["%2e%2e/%2e%2e/x", "..%2f..%2fy", "etc/passwd"]);
}

#[tokio::test]
async fn what_cannot_be_read_leaves_the_artifact_alone() {
    let (world, server) = (World::start().await, StandIn::start(None).await);
    server.put("a.yaml", "a");
    world.bucket("apps", &server.endpoint(), "apps", json!({})).await;
    let before = world.ready(BUCKET, "apps").await;
    for (content, part) in [
        ("denied", "failed to get 'b' object: AccessDenied"),
        ("cut", "failed to get 'b' object: Get \"http://"),
    ] {
        server.put("b", content);
        touch_requested_at(&world.api(BUCKET).await, "apps").await.unwrap();
        let status = world
            .until(BUCKET, "apps", part, |object| {
                object.data["status"]["conditions"].to_string().replace("\\\"", "\"").contains(part)
            })
            .await;
        assert_eq!(status["artifact"], before["artifact"]);
    }
    world.bucket("apps", &server.endpoint(), "other", json!({})).await;
    let (_, message) = world.failure_of(BUCKET, "apps", "bucket 'other' not found").await;
    assert_eq!(message, "bucket 'other' not found");
    assert_eq!(revision(&world.at(BUCKET, "apps", &revision(&before)).await), revision(&before));
}

#[tokio::test]
async fn secrets_are_seen_nowhere() {
    let world = World::start().await;
    let signature = "aHVudGVyMmh1bnRlcjJodW50ZXIy";
    world.secret("sas", "Opaque", json!({"sasKey": format!("?sv=2021-12-02&sig={signature}")})).await;
    let azure = json!({"provider": "azure", "secretRef": {"name": "sas"}});
    world.bucket("sas", "http://127.0.0.1:1/account", "apps", azure).await;
    let inline = format!("http://127.0.0.1:1/account?sig={signature}");
    world.bucket("inline", &inline, "apps", json!({"provider": "azure"})).await;
    world.bucket("user", "user:aHVudGVyMm@127.0.0.1:1", "apps", json!({})).await;
    for name in ["sas", "inline", "user"] {
        let (_, message) = world.failure(BUCKET, name).await;
        assert!(!message.contains("aHVudGVyMm"), "{message}");
    }
    let log = std::fs::read_to_string(world.folder.path().join("log")).unwrap();
    assert!(log.contains("127.0.0.1:1") && !log.contains("aHVudGVyMm"), "{log}");
}
