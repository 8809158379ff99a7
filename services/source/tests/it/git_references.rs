//! The commit that a reference stands for, and the cost of finding out that nothing is new.

use serde_json::json;
use weir_testkit::{GitServer, touch_requested_at};

use crate::world::{World, paths};

const GIT: &str = "GitRepository";

fn shown(server: &GitServer) -> Vec<String> {
    server.requests().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect()
}

/// DEV 2, DEV 3: an unchanged pin costs no request at all, an unchanged range costs one list.
#[tokio::test]
async fn pins_and_ranges_are_not_fetched_again() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let old = repository.commit("main", "old", &[("a.yaml", "old")]).unwrap();
    let new = repository.commit("main", "new", &[("a.yaml", "new"), ("b.yaml", "b")]).unwrap();
    repository.tag("v1.0.0", &old).unwrap();
    repository.annotated_tag("v1.1.0", &new, "annotated").unwrap();
    repository.tag("v2.0.0-rc.1", &new).unwrap();
    for (name, reference, revision, expected) in [
        ("pin", json!({"commit": old}), format!("sha1:{old}"), vec!["a.yaml"]),
        ("range", json!({"semver": "1.x"}), format!("v1.1.0@sha1:{new}"), vec!["a.yaml", "b.yaml"]),
        ("strict", json!({"semver": "<1.1.0"}), format!("v1.0.0@sha1:{old}"), vec!["a.yaml"]),
    ] {
        world.git(name, &server.url("app"), json!({"ref": reference})).await;
        let status = world.ready(GIT, name).await;
        assert_eq!(status["artifact"]["revision"], revision, "{name}");
        assert_eq!(paths(&status).await, expected, "{name}");
    }
    server.forget_requests();
    world.reconciled(GIT, "pin").await;
    assert_eq!(shown(&server), [] as [&str; 0], "a commit stays what it is");
    world.reconciled(GIT, "range").await;
    assert_eq!(shown(&server), ["GET /app.git/info/refs"]);
    // A tag that another one passes is fetched.
    repository.tag("v1.2.0", &old).unwrap();
    touch_requested_at(&world.api(GIT).await, "range").await.unwrap();
    let status = world.at(GIT, "range", &old).await;
    assert_eq!(status["artifact"]["revision"], format!("v1.2.0@sha1:{old}"));
}

/// DEV 1: a tag wins over a range, and a message reports it.
#[tokio::test]
async fn a_tag_and_a_range_are_ambiguous() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let id = repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    for tag in ["v1.0.0", "v1.1.0"] {
        repository.tag(tag, &id).unwrap();
    }
    world.git("app", &server.url("app"), json!({"ref": {"tag": "v1.0.0", "semver": "1.x"}})).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(status["artifact"]["revision"], format!("v1.0.0@sha1:{id}"));
    let said = world.controller.log();
    assert!(said.contains("the tag 'v1.0.0' is used, the range '1.x' is not"), "{said}");
}

/// DEV 29, SRC-GIT-5: a commit that only a pull request has.
#[tokio::test]
async fn a_pull_request_of_a_fork() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    repository.commit("main", "base", &[("a.yaml", "base")]).unwrap();
    let proposed = repository.commit("fork", "proposal", &[("a.yaml", "proposed")]).unwrap();
    repository.git(&["update-ref", "refs/pull/7/head", &proposed]).unwrap();
    repository.delete_branch("fork").unwrap();
    world.git("app", &server.url("app"), json!({"ref": {"name": "refs/pull/7/head"}})).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(status["artifact"]["revision"], format!("refs/pull/7/head@sha1:{proposed}"));
}

/// B12: a restart with the artifacts still there makes nothing again.
#[tokio::test]
async fn a_restart_on_a_kept_disk_makes_nothing_again() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let before = world.ready(GIT, "app").await;
    server.forget_requests();
    world.start_again(&[]);
    let after = world.reconciled(GIT, "app").await;
    assert_eq!(after["artifact"], before["artifact"], "the same file, written at the same time");
    assert!(shown(&server).iter().all(|request| request.starts_with("GET ")), "{:?}", shown(&server));
}

/// A4, SRC-GIT-4: build metadata has no precedence; of equal versions the one that was committed last wins.
#[tokio::test]
async fn of_equal_versions_the_newest_commit_wins() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    for (name, earlier, later) in [("up", "v1.0.0+a", "v1.0.0+b"), ("down", "v1.0.0+b", "v1.0.0+a")] {
        let repository = server.repo(name).unwrap();
        let commit = |branch: &str, seconds: u64| {
            repository.change(branch).file("a.yaml", branch).at(seconds).commit().unwrap()
        };
        // The newest commit is not the last one that was made.
        let newest = commit("later", 1_800_000_000);
        let oldest = commit("earlier", 1_700_000_000);
        repository.annotated_tag(later, &newest, "later").unwrap();
        repository.tag(earlier, &oldest).unwrap();
        repository.tag("v0.9.0", &oldest).unwrap();
        world.git(name, &server.url(name), json!({"ref": {"semver": ">=0.1.0"}})).await;
        let status = world.ready(GIT, name).await;
        assert_eq!(status["artifact"]["revision"], format!("{later}@sha1:{newest}"), "{name}");
        server.forget_requests();
        let again = world.reconciled(GIT, name).await;
        assert_eq!(again["artifact"]["revision"], status["artifact"]["revision"], "{name}");
    }
}
