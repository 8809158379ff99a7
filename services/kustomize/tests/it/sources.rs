//! The kinds of source beside GitRepository (KS-SRC-1, -3, -4, -6; SRC-EXT-1, SRC-EXT-4).

use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::AuditKey;

use crate::world::{PATIENCE, World, cm};

#[rstest]
#[case::bucket("Bucket", json!({"interval": "1h", "bucketName": "apps", "endpoint": "s3.example.com"}))]
#[case::external_artifact("ExternalArtifact", json!({"sourceRef": {"kind": "Kiln", "name": "x"}}))]
#[tokio::test]
async fn a_new_artifact_is_applied_at_once(#[case] kind: &str, #[case] spec: Value) {
    let world = World::new().await;
    world.kustomization("app", json!({"sourceRef": {"kind": kind, "name": "made"}})).await;
    let failed = world.not_ready("app", "ArtifactFailed").await;
    let message = &weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert_eq!(message, &format!("{kind}.source.toolkit.fluxcd.io \"made\" not found"));

    world
        .source_of(kind, "made", spec.clone(), "latest@sha256:1", &[("cm.yaml", &cm("settings", "1"))])
        .await;
    world.applied("app", "latest@sha256:1").await;
    world.source_of(kind, "made", spec, "latest@sha256:2", &[("cm.yaml", &cm("settings", "2"))]).await;
    world.applied("app", "latest@sha256:2").await;
    assert_eq!(world.config_map("settings").await.unwrap().data["data"]["k"], "2");
}

/// A source that is told to leave out other files advertises other content of the same revision.
#[tokio::test(flavor = "multi_thread")]
async fn other_content_of_the_same_revision_is_applied_at_once() {
    let world = World::new().await;
    let revision = world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.applied("app", &revision).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "2"))]).await;
    let is_new = async || (world.config_map("a").await?.data["data"]["k"] == "2").then_some(());
    weir_testkit::eventually("the new content", PATIENCE, is_new).await.unwrap();
}

/// The maker of an artifact decides its place; the content is used only when it has the advertised digest.
#[tokio::test]
async fn an_external_artifact_that_is_not_what_its_digest_says_is_refused() {
    let world = World::new().await;
    let files = [("cm.yaml", cm("settings", "1"))];
    let files = [(files[0].0, files[0].1.as_str())];
    world.source_of("ExternalArtifact", "made", json!({}), "v1@sha256:1", &files).await;
    let api = world.api("source.toolkit.fluxcd.io/v1", "ExternalArtifact").await;
    let forged = json!({"status": {"artifact": {"digest": format!("sha256:{}", "0".repeat(64))}}});
    api.patch_status("made", &Default::default(), &kube::api::Patch::Merge(forged)).await.unwrap();
    world.kustomization("app", json!({"sourceRef": {"kind": "ExternalArtifact", "name": "made"}})).await;
    let failed = world.not_ready("app", "ArtifactFailed").await;
    let message = &weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(message.starts_with("failed to verify archive: "), "{message}");
    assert!(world.config_map("settings").await.is_none());
}

/// A source stores an artifact a moment before it advertises it: until then its address has other content than the digest says. Nobody is
/// told of that, and the next try does not wait for the interval.
#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_that_becomes_what_its_digest_says_is_applied_soon() {
    let (world, _process) = World::process(&["--requeue-dependency=10s"]).await;
    let revision = world.source("src", 1, &[("cm.yaml", &cm("settings", "1"))]).await;
    let api = world.api("source.toolkit.fluxcd.io/v1", "GitRepository").await;
    let digest = api.get("src").await.unwrap().data["status"]["artifact"]["digest"].clone();
    let advertise = async |digest: serde_json::Value| {
        let status = kube::api::Patch::Merge(json!({"status": {"artifact": {"digest": digest}}}));
        api.patch_status("src", &Default::default(), &status).await.unwrap();
    };
    advertise(json!(format!("sha256:{}", "0".repeat(64)))).await;
    world.kustomization("app", json!({})).await;
    world.not_ready("app", "ArtifactFailed").await;
    advertise(digest).await;
    world.applied("app", &revision).await;
    let events = world.events("app").await;
    assert!(!events.iter().any(|event| event.contains("failed to verify archive")), "{events:?}");
}

/// Sources leave files out, a `.gitignore` for example, and so directories without any.
#[tokio::test]
async fn a_path_to_a_directory_without_files_applies_nothing() {
    let world = World::new().await;
    let revision = world.source("src", 1, &[("cm.yaml", &cm("settings", "1")), ("none/", "")]).await;
    world.kustomization("app", json!({"path": "./none"})).await;
    let applied = world.applied("app", &revision).await;
    assert_eq!(applied.data["status"]["inventory"]["entries"], json!([]));
    assert!(world.config_map("settings").await.is_none());
}

/// KS-SRC-8: what the API server says now counts, not what a watch has said.
#[tokio::test(flavor = "multi_thread")]
async fn sources_are_read_from_the_api_server_if_asked_for() {
    let world = World::with_flags(&["--feature-gates=DirectSourceFetch=true"]).await;
    world.source("src", 1, &[("cm.yaml", &cm("settings", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let before = world.plane().audit_counts().unwrap();
    world.requested("app").await;
    let is_read =
        |key: &AuditKey| key.user == "weir" && key.verb == "get" && key.resource == "gitrepositories";
    weir_testkit::eventually("the read", PATIENCE, async || {
        let counts = world.plane().audit_counts().unwrap().since(&before);
        (counts.total(is_read) > 0).then_some(())
    })
    .await
    .unwrap();
}
