//! A run that waits for others keeps nobody waiting: with one worker, the next Kustomization gets its turn.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::json;
use weir_testkit::{FaultProxy, condition, eventually, wait_ready};

use crate::world::{PATIENCE, World, cm};

/// Time until another Kustomization had its turn: a silent server is given up after 10 s, and nothing is waited for beyond that. All
/// tries of a download take Flux minutes, and a deletion that does not end its whole `spec.timeout`.
const TURN: Duration = Duration::from_secs(20);

/// Lets a source advertise an artifact where nobody answers.
async fn advertise_nowhere(world: &World, name: &str, nowhere: &FaultProxy, revision: &str) {
    world.source(name, 1, &[("a.yaml", &cm("a", "1"))]).await;
    let api = world.api("source.toolkit.fluxcd.io/v1", "GitRepository").await;
    let url = format!("http://{}/a.tar.gz", nowhere.address());
    let artifact = json!({"url": url, "revision": revision, "digest": format!("sha256:{}", "0".repeat(64))});
    let status = json!({"status": {"artifact": artifact}});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

async fn asked(nowhere: &FaultProxy) {
    let requests = || async { (!nowhere.requests().is_empty()).then_some(()) };
    eventually("the artifact to be asked for", PATIENCE, requests).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_does_not_answer_keeps_nobody_waiting() {
    let (world, _process) = World::process(&["--concurrent=1"]).await;
    let nowhere = FaultProxy::silent().await.unwrap();
    advertise_nowhere(&world, "hole", &nowhere, "main@sha1:1").await;
    world.source("src", 1, &[("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("stuck", json!({"sourceRef": {"kind": "GitRepository", "name": "hole"}})).await;
    asked(&nowhere).await;
    world.kustomization("app", json!({})).await;
    wait_ready(&world.kustomizations().await, "app", TURN).await.unwrap();
    let failed = world.not_ready("stuck", "ArtifactFailed").await;
    let ready = condition(&failed, "Ready").unwrap();
    assert!(ready.message.starts_with("failed to download archive: "), "{}", ready.message);
    assert!(condition(&failed, "Reconciling").is_some_and(|it| it.reason == "ProgressingWithRetry"));
    let tries = || async { (nowhere.requests().len() > 1).then_some(()) };
    eventually("the download to be tried again", PATIENCE, tries).await.unwrap();

    // Something newer does not wait for what is obsolete.
    world.source("hole", 2, &[("a.yaml", &cm("a", "2"))]).await;
    world.applied("stuck", "main@sha1:2").await;
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_does_not_go_keeps_nobody_waiting() {
    let (world, _process) = World::process(&["--concurrent=1"]).await;
    let immutable = |value: &str| format!("{}immutable: true\n", cm("fixed", value));
    world.source("fixed", 1, &[("a.yaml", &immutable("1"))]).await;
    let source = json!({"kind": "GitRepository", "name": "fixed"});
    world.kustomization("fixed", json!({"sourceRef": source, "force": true})).await;
    world.ready("fixed").await;
    let maps = world.api("v1", "ConfigMap").await;
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    maps.patch("fixed", &PatchParams::default(), &Patch::Merge(held)).await.unwrap();

    world.source("fixed", 2, &[("a.yaml", &immutable("2"))]).await;
    let deleted = || async {
        let found = maps.get("fixed").await.unwrap();
        found.metadata.deletion_timestamp.map(drop)
    };
    eventually("the object to be deleted", PATIENCE, deleted).await.unwrap();
    world.source("src", 1, &[("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("app", json!({})).await;
    wait_ready(&world.kustomizations().await, "app", TURN).await.unwrap();
    let failed = world.not_ready("fixed", "ReconciliationFailed").await;
    let message = &condition(&failed, "Ready").unwrap().message;
    assert!(message.contains("failed to wait for object to be deleted"), "{message}");

    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("fixed", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    world.applied("fixed", "main@sha1:2").await;
    assert_eq!(world.config_map("fixed").await.unwrap().data["data"]["k"], "2");
}
