//! Killed at any instant, tampered with, or started on an empty disk: the same end.

use serde_json::json;
use weir_testkit::{GitServer, eventually, touch_requested_at};

use crate::world::{DEADLINE, World, paths};

const GIT: &str = "GitRepository";

#[tokio::test]
async fn a_kill_after_the_store_or_the_status_ends_as_no_kill() {
    for point in ["after-store", "after-status"] {
        let server = GitServer::start().await.unwrap();
        let id = server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
        let marker = weir_testkit::Folder::new("marker").unwrap();
        let file = marker.path().join("killed").display().to_string();
        let environment = [("WEIR_KILL_POINT", point), ("WEIR_KILL_FILE", file.as_str())];
        let mut world = World::start_with(&environment).await;
        world.git("app", &server.url("app"), json!({})).await;
        let killed = || {
            let is_killed = std::path::Path::new(&file).exists();
            async move { is_killed.then_some(()) }
        };
        eventually("the controller to be killed", DEADLINE, killed).await.unwrap();
        world.start_again(&environment);
        let status = world.ready(GIT, "app").await;
        assert_eq!(status["artifact"]["revision"], format!("main@sha1:{id}"), "{point}");
        world.until_served().await;
        assert_eq!(paths(&status).await, ["a.yaml"], "{point}");
        let directory = world.folder.path().join("data/gitrepository").join(&world.namespace).join("app");
        let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".partial")), "{point}");
    }
}

#[tokio::test]
async fn lost_and_tampered_files_are_made_again() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    let file = world.folder.path().join("data").join(status["artifact"]["path"].as_str().unwrap());

    std::fs::write(&file, "tampered").unwrap();
    let token = touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let handled =
        |object: &kube::core::DynamicObject| object.data["status"]["lastHandledReconcileAt"] == token;
    world.until(GIT, "app", "request handled", handled).await;
    let again = world.ready(GIT, "app").await;
    assert_eq!(
        again["artifact"]["digest"], status["artifact"]["digest"],
        "the same commit gives the same bytes"
    );
    assert_eq!(paths(&again).await, ["a.yaml"]);

    world.controller.kill();
    std::fs::remove_dir_all(world.folder.path().join("data")).unwrap();
    std::fs::create_dir(world.folder.path().join("data")).unwrap();
    world.start_again(&[]);
    let is_back = || {
        let is_back = file.is_file();
        async move { is_back.then_some(()) }
    };
    eventually("the artifact to be made again", DEADLINE, is_back).await.unwrap();
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml"]);
}
