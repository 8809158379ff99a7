//! `weir stats` (CLI-STA01).

use serde_json::json;

use crate::world::{World, artifact, ready, with};

const COMMANDS: [&str; 2] = ["stats", "stats -n default"];

async fn world(namespace: &str) -> World {
    let world = World::new(namespace).await;
    for (name, size) in [("a", 12_345), ("b", 1_000_000)] {
        world.object("GitRepository", name).await;
        let mut stored = artifact("main@sha1:0123");
        stored["artifact"]["size"] = size.into();
        world.status("GitRepository", name, with(ready(1, "True", "Succeeded", "stored"), stored)).await;
    }
    world.object("Kustomization", "a").await;
    world.status("Kustomization", "a", ready(1, "False", "HealthCheckFailed", "not ready")).await;
    let spec = json!({ "url": "https://example.com", "interval": "1m", "suspend": true });
    world.object_with("HelmRepository", "a", spec).await;
    world
}

#[tokio::test]
async fn objects_are_counted_by_kind() {
    insta::assert_snapshot!(world("stats").await.weir().transcript(&COMMANDS).await);
}

#[tokio::test]
async fn flux_counts_the_same() {
    world("stats-flux").await.weir().agrees_wholly_with_flux(&COMMANDS).await;
}

/// Nobody takes a table of noughts for an empty cluster who may not look.
#[tokio::test]
async fn what_may_not_be_counted_is_told() {
    let world = world("stats-refused").await;
    let sources = ("source.toolkit.fluxcd.io", &["gitrepositories"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", sources, &["list"]).await.unwrap();
    let weir = world.weir().with_kubeconfig(&world.plane.kubeconfig_for(&token).unwrap());
    let transcript = weir.transcript(&["stats"]).await;
    assert!(transcript.contains("GitRepository        →2 "), "{transcript}");
    assert!(
        transcript.contains("2> ✗ kustomizations.kustomize.toolkit.fluxcd.io is forbidden: "),
        "{transcript}"
    );
    assert!(!transcript.contains("gitrepositories"), "{transcript}");
}
