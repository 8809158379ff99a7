//! Flags, gates and environment variables that an operator sets.

use std::process::Command;

use kube::api::{Patch, PatchParams};
use serde_json::json;
use weir_testkit::{AuditKey, eventually};

use crate::world::{PATIENCE, PROGRAM, World, cm};

/// KS-TST-11
#[tokio::test(flavor = "multi_thread")]
async fn fields_of_a_manager_that_is_listed_are_taken_away() {
    let world = World::with_flags(&["--override-manager=listed"]).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let maps = world.api("v1", "ConfigMap").await;
    for manager in ["other", "listed"] {
        let edit = Patch::Merge(json!({"data": {manager: "x"}}));
        maps.patch("a", &PatchParams::apply(manager), &edit).await.unwrap();
    }
    world.requested("app").await;
    assert_eq!(world.config_map("a").await.unwrap().data["data"], json!({"k": "1", "other": "x"}));
}

/// KS-REC-6: Secrets that nobody applies are watched for those who name them only.
#[tokio::test(flavor = "multi_thread")]
async fn configs_are_not_watched_where_the_gate_says_so() {
    let world = World::with_flags(&["--feature-gates=DisableConfigWatchers=true"]).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let watches = |resource: &str| {
        let is_watch = |key: &AuditKey| key.user == "weir" && key.verb == "watch" && key.resource == resource;
        world.plane().audit_counts().unwrap().total(is_watch)
    };
    let watched = async || (watches("gitrepositories") > 0).then_some(());
    eventually("the watch of sources", PATIENCE, watched).await.unwrap();
    assert_eq!(watches("secrets"), 0);
}

/// KS-SRC-25
#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_fetched_from_the_local_host_of_their_service() {
    let world = World::idle().await;
    world.kustomization("app", json!({})).await;
    let api = world.api("source.toolkit.fluxcd.io/v1", "GitRepository").await;
    let variables = ["SOURCE_CONTROLLER_LOCALHOST", "SOURCE_WATCHER_LOCALHOST"];
    for (number, (own, other), service) in [
        (1, (variables[0], variables[1]), "source-controller"),
        (2, (variables[1], variables[0]), "source-watcher"),
    ] {
        let revision = world.source("src", number, &[("a.yaml", &cm("a", &number.to_string()))]).await;
        let found = api.get("src").await.unwrap().data["status"]["artifact"]["url"].clone();
        let (host, path) = found.as_str().unwrap().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let elsewhere = json!({"status": {"artifact": {"url": format!("http://{service}.invalid/{path}")}}});
        api.patch_status("src", &PatchParams::default(), &Patch::Merge(elsewhere)).await.unwrap();
        let mut command = Command::new(PROGRAM);
        command.env(own, host).env(other, "127.0.0.1:1");
        let mut process = world.launch(command, &[]);
        world.applied("app", &revision).await;
        process.kill();
    }
}
