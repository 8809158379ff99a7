//! Tampered with, forged, or started on an empty disk (and below: killed, with a full disk, collected while it is read): nothing
//! half-written is ever advertised, and the end is the same.

mod disks;
mod kills;
mod links;
mod pieces;
mod running_downloads;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{GitServer, eventually};

use crate::world::{DEADLINE, Setup, World, paths};

const GIT: &str = "GitRepository";

/// The file of an artifact, or the folder of its pieces.
fn file(world: &World, status: &Value) -> PathBuf {
    let path = world.folder.path().join("data").join(status["artifact"]["path"].as_str().unwrap());
    if path.exists() { path } else { path.with_added_extension("pieces") }
}

/// Returns the names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns true when the advertised file has the advertised digest.
fn assert_whole(world: &World, status: &Value, when: &str) {
    let path = file(world, status);
    let files = match path.is_dir() {
        true => names(&path).iter().map(|piece| path.join(piece)).collect(),
        false => vec![path],
    };
    let bytes: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let bytes = bytes.concat();
    let digest = Digest::of(Algorithm::Sha256, &bytes).to_string();
    assert_eq!(status["artifact"]["digest"], digest, "{when}");
}

/// A7, SRC-SCK-9, SRC-REC-15.
#[tokio::test]
async fn lost_and_tampered_files_are_made_again() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    let file = file(&world, &status);

    std::fs::write(&file, "tampered").unwrap();
    let again = world.reconciled(GIT, "app").await;
    assert_eq!(
        again["artifact"]["digest"], status["artifact"]["digest"],
        "the same commit gives the same bytes"
    );
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml"]);
    let said = world.controller.log();
    assert!(said.contains("stored artifact"), "{said}");

    world.controller.kill();
    std::fs::remove_dir_all(world.folder.path().join("data")).unwrap();
    std::fs::create_dir(world.folder.path().join("data")).unwrap();
    world.start_again(&[]);
    eventually("the artifact to be made again", DEADLINE, async || file.is_file().then_some(()))
        .await
        .unwrap();
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml"]);
}

#[tokio::test]
async fn a_lost_artifact_is_not_advertised_while_it_cannot_be_made_again() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    world.controller.kill();
    std::fs::remove_dir_all(world.folder.path().join("data")).unwrap();
    std::fs::create_dir(world.folder.path().join("data")).unwrap();
    server.answer_with(Some(axum_status(503)));
    world.start_again(&[]);
    let status =
        world.until(GIT, "app", "no artifact", |object| object.data["status"]["artifact"].is_null()).await;
    let types: Vec<_> =
        status["conditions"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert!(!types.contains(&"ArtifactInStorage"), "{types:?}");
    server.answer_with(None);
    world.reconciled(GIT, "app").await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml"]);
}

/// DEV 23.
#[tokio::test]
async fn a_suspended_source_advertises_no_file_that_is_gone() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    for name in ["kept", "lost"] {
        world.git(name, &server.url("app"), json!({})).await;
        world.ready(GIT, name).await;
        world.git(name, &server.url("app"), json!({"suspend": true})).await;
    }
    world.controller.kill();
    let directory = world.folder.path().join("data/gitrepository").join(&world.namespace);
    std::fs::remove_dir_all(directory.join("lost")).unwrap();
    server.forget_requests();
    world.start_again(&[]);
    let lost =
        world.until(GIT, "lost", "no artifact", |object| object.data["status"]["artifact"].is_null()).await;
    assert_eq!(lost["conditions"][0]["reason"], "ArtifactNotFound", "{lost}");
    let kept = world.reconciled(GIT, "kept").await;
    assert_eq!(paths(&kept).await, ["a.yaml"]);
    assert!(server.requests().is_empty(), "nothing is fetched for suspended objects");
    world.git("lost", &server.url("app"), json!({"suspend": false})).await;
    assert_eq!(paths(&world.ready(GIT, "lost").await).await, ["a.yaml"]);
}

/// SRC-SCK-15.
#[tokio::test]
async fn a_forged_status_reads_and_removes_nothing_else() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    for name in ["app", "other"] {
        world.git(name, &server.url("app"), json!({})).await;
    }
    let honest = world.ready(GIT, "app").await;
    let other = world.ready(GIT, "other").await;
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    world.controller.kill();
    for path in ["../secret", "gitrepository/../../secret", other["artifact"]["path"].as_str().unwrap()] {
        let digest = Digest::of(Algorithm::Sha256, b"not this").to_string();
        let forged = json!({"status": {"artifact": {"path": path, "digest": digest}}});
        let patch = kube::api::Patch::Merge(forged);
        world.api(GIT).await.patch_status("app", &Default::default(), &patch).await.unwrap();
        world.start_again(&[]);
        let status = world.reconciled(GIT, "app").await;
        assert_eq!(status["artifact"]["path"], honest["artifact"]["path"], "{path}");
        assert!(secret.exists() && file(&world, &other).exists(), "{path}");
        world.controller.kill();
    }
}

/// DEV 24, B12, SRC-STO-13.
#[tokio::test]
async fn what_leaves_the_shard_leaves_the_disk() {
    let setup = Setup { arguments: vec!["--watch-label-selector=shard=a".into()], ..Setup::default() };
    let mut world = World::start_as(setup).await;
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let labelled = |shard: &str| {
        json!({"apiVersion": crate::world::SOURCE, "kind": GIT,
            "metadata": {"name": "app", "labels": {"shard": shard}},
            "spec": {"url": server.url("app"), "interval": "1h", "ref": {"branch": "main"}}})
    };
    world.plane.apply(&world.namespace, labelled("a")).await.unwrap();
    let status = world.ready(GIT, "app").await;
    assert!(file(&world, &status).exists());
    world.controller.kill();
    world.plane.apply(&world.namespace, labelled("b")).await.unwrap();
    world.start_again(&[]);
    let file = file(&world, &status);
    eventually("the sweep", DEADLINE, async || (!file.exists()).then_some(())).await.unwrap();
}

fn axum_status(code: u16) -> reqwest::StatusCode {
    reqwest::StatusCode::from_u16(code).unwrap()
}
