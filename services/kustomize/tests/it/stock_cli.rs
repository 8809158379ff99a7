//! Flux's own command line against this service. `FLUX_CLI` names it.

use serde_json::json;
use weir_testkit::{FluxCli, flux_program, wait_gone};

use crate::world::{PATIENCE, World, cm};

#[tokio::test]
async fn commands_about_kustomizations_work() {
    if flux_program("FLUX_CLI").unwrap().is_none() {
        return;
    }
    let world = World::new().await;
    let flux = FluxCli::find(world.plane(), &world.ns).unwrap().unwrap();
    let revision = world.source("src", 1, &[("cm.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.applied("app", &revision).await;
    let applied = format!("applied revision {revision}");
    flux.run("get kustomizations app", &["app", "True", &revision]).await.unwrap();
    flux.run("reconcile kustomization app", &[&applied]).await.unwrap();
    flux.run("suspend kustomization app", &["suspended"]).await.unwrap();
    let (_, refused) = flux.try_run("reconcile kustomization app").await.unwrap();
    assert!(refused.contains("resource is suspended"), "{refused}");
    flux.run("resume kustomization app", &[&applied]).await.unwrap();
    flux.run("tree kustomization app", &["ConfigMap/", "/a"]).await.unwrap();
    flux.run("events --for=Kustomization/app", &["ConfigMap", "created"]).await.unwrap();
    flux.run("export kustomization app", &["prune: true"]).await.unwrap();
    flux.run("delete kustomization app --silent", &["deleted"]).await.unwrap();
    wait_gone(&world.api("v1", "ConfigMap").await, "a", PATIENCE).await.unwrap();
}
