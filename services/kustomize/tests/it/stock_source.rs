//! Artifacts of Flux's own source-controller are applied (SRC-CNS-3). `FLUX_SOURCE_CONTROLLER` names it.

use std::process::Command;

use serde_json::json;
use weir_testkit::object::{git_repository, oci_repository};
use weir_testkit::{Controller, GitServer, Registry, flux_program, storage_flags, touch_requested_at};

use crate::world::{World, cm};

#[tokio::test]
async fn artifacts_of_flux_are_applied() {
    let Some(program) = flux_program("FLUX_SOURCE_CONTROLLER").unwrap() else { return };
    let (world, git) = (World::new().await, GitServer::start().await.unwrap());
    let registry = Registry::start().await.unwrap();
    let mut flags = storage_flags().unwrap();
    flags.push("--watch-all-namespaces=false".to_owned());
    let _source = Controller::start(Command::new(program), world.plane(), &world.ns, &flags).await.unwrap();

    let repo = git.repo("app").unwrap();
    let head = repo.commit("main", "first", &[("cm.yaml", &cm("of-git", "1"))]).unwrap();
    let digest = registry.push_artifact("app", "v1", &[("cm.yaml", &cm("of-oci", "1"))]).await.unwrap();
    let sources = [git_repository("git", &git.url("app")), oci_repository("oci", &registry.url("app"))];
    for source in sources {
        world.plane().apply(&world.ns, source).await.unwrap();
    }
    for (name, kind) in [("git", "GitRepository"), ("oci", "OCIRepository")] {
        world.kustomization(name, json!({"sourceRef": {"kind": kind, "name": name}})).await;
    }
    world.applied("git", &format!("main@sha1:{head}")).await;
    world.applied("oci", &format!("v1@{digest}")).await;
    assert!(world.config_map("of-oci").await.is_some());

    let head = repo.commit("main", "second", &[("cm.yaml", &cm("of-git", "2"))]).unwrap();
    let repositories = world.api("source.toolkit.fluxcd.io/v1", "GitRepository").await;
    touch_requested_at(&repositories, "git").await.unwrap();
    world.applied("git", &format!("main@sha1:{head}")).await;
    assert_eq!(world.config_map("of-git").await.unwrap().data["data"]["k"], "2");
}
