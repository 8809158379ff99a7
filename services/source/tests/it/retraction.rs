//! An advertised artifact whose file is gone or changed is retracted at once, and then made again.

use std::path::Path;

use k8s_openapi::api::core::v1::Event;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::{GitServer, condition, eventually};

use crate::every_kind::Remotes;
use crate::transcript::{all_events, event_line, lines, statuses_since};
use crate::world::{DEADLINE, Setup, World};

const GIT: &str = "GitRepository";

/// Returns true when a status claims that there is an artifact to be had.
fn is_ready(status: &Value) -> bool {
    lines(status).iter().any(|line| line.starts_with("Ready True"))
}

fn emptied(data: &Path) {
    std::fs::remove_dir_all(data).unwrap();
    std::fs::create_dir(data).unwrap();
}

/// A7, SRC-REC-15: after a restart on an empty disk no status names a file that is not there, and no source is Ready
/// without one.
#[tokio::test]
async fn a_restart_on_an_empty_disk_retracts_first() {
    // An object that waits for another one is not left waiting that long.
    let arguments = vec!["--requeue-dependency=10m".to_owned()];
    let mut world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let remotes = Remotes::start().await;
    let ready = remotes.applied(&world).await;
    world.controller.kill();
    let mut before = Vec::new();
    for (kind, status) in &ready {
        before.push((world.api(kind).await.get("app").await.unwrap(), status["artifact"].clone()));
    }
    emptied(&world.folder.path().join("data"));
    world.start_again(&[]);
    for (object, artifact) in &before {
        let kind = &object.types.as_ref().unwrap().kind;
        let seen = statuses_since(&world, object, is_ready).await;
        let [first, between @ .., last] = seen.as_slice() else { panic!("{kind}: {seen:#?}") };
        for status in [first].into_iter().chain(between) {
            assert!(status["artifact"].is_null() && status["url"].is_null(), "{kind}: {seen:#?}");
            assert!(
                !lines(status).iter().any(|line| line.starts_with("ArtifactInStorage")),
                "{kind}: {seen:#?}"
            );
        }
        let lost = "Progressing: building artifact: disappeared from storage";
        let building = [format!("Reconciling True {lost}"), format!("Ready Unknown {lost}")];
        // A chart may know at once that its repository has lost its artifact too.
        let waiting = "Ready False NoSourceArtifact: no artifact available for HelmRepository source 'app'";
        let is_waiting = kind == "HelmChart" && lines(first)[1] == waiting;
        assert!(is_waiting || lines(first) == building, "{kind}: {seen:#?}");
        assert_eq!(last["artifact"]["digest"], artifact["digest"], "{kind}");
        assert_eq!(last["artifact"]["revision"], artifact["revision"], "{kind}");
    }
}

/// SRC-SCK-9, SRC-REC-14: a file that someone has changed is reported, taken out of service and made again.
#[tokio::test]
async fn a_changed_file_is_told_and_made_again() {
    let (world, remotes) = (World::start().await, Remotes::start().await);
    for (kind, status) in remotes.applied(&world).await {
        let before = world.api(kind).await.get("app").await.unwrap();
        let path = status["artifact"]["path"].as_str().unwrap();
        let file = world.folder.path().join("data").join(path);
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, "tampered").unwrap();
        world.reconciled(kind, "app").await;
        let statuses = statuses_since(&world, &before, is_ready).await;
        assert!(statuses[0]["artifact"].is_null(), "{kind}: {statuses:#?}");
        let after = world.ready(kind, "app").await;
        assert_eq!(after["artifact"]["digest"], status["artifact"]["digest"], "{kind}");
        assert_eq!(std::fs::read(&file).unwrap(), whole, "{kind}");
        let digest = after["artifact"]["digest"].as_str().unwrap();
        let told = format!(
            "Warning ArtifactVerificationFailed: failed to verify integrity of artifact: computed digest doesn't match '{digest}'"
        );
        let is_told = async || {
            let of_kind = |event: &Event| event.involved_object.kind.as_deref() == Some(kind);
            let events = all_events(&world).await.into_iter().filter(of_kind);
            events.map(event_line).any(|line| line == told).then_some(())
        };
        eventually(&format!("the event of {kind}"), DEADLINE, is_told).await.unwrap();
        let object = world.api(kind).await.get("app").await.unwrap();
        assert_eq!(condition(&object, "Ready").unwrap().status, "True", "{kind}");
    }
}

/// SRC-REC-14: a changed file is also reported when the run that found it becomes obsolete before it ends.
#[tokio::test]
async fn a_changed_file_is_told_by_a_run_that_is_made_obsolete() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let path = world.ready(GIT, "app").await["artifact"]["path"].clone();
    let file = world.folder.path().join("data").join(path.as_str().unwrap());
    std::fs::write(file, "tampered").unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/app.git", silent.local_addr().unwrap());
    world.git("app", &url, json!({"timeout": "10m"})).await;
    let retracted = |object: &DynamicObject| object.data["status"]["artifact"].is_null();
    world.until(GIT, "app", "no artifact", retracted).await;
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    let is_told = async || {
        let events = all_events(&world).await.into_iter().map(event_line);
        events
            .filter(|line| line.starts_with("Warning ArtifactVerificationFailed: "))
            .count()
            .eq(&1)
            .then_some(())
    };
    eventually("the event", DEADLINE, is_told).await.unwrap();
}
