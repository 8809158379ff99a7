//! Somebody else moves the branch between the look at it and the push (IU-14, IU-16).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use weir_testkit::GitRepo;

use crate::world::World;

/// A hook that runs when the server has the objects of a push and has not moved the branch. While the file `losses` has lines, it
/// takes one of them away and commits to the branch as somebody else.
const HOOK: &str = r#"#!/bin/sh
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
[ -s losses ] || exit 0
sed -i 1d losses
export GIT_AUTHOR_NAME=human GIT_AUTHOR_EMAIL=h@x GIT_COMMITTER_NAME=human GIT_COMMITTER_EMAIL=h@x
blob=$(echo mine | git hash-object -w --stdin)
tree=$({ git ls-tree main | grep -v note.txt; printf '100644 blob %s\tnote.txt\n' "$blob"; } | git mktree)
git update-ref refs/heads/main "$(git commit-tree -p main -m human "$tree")"
"#;

/// Makes the next pushes lose against a commit of somebody else.
fn lose(repo: &GitRepo, times: usize) {
    let hook = repo.path().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, HOOK).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(repo.path().join("losses"), "lost\n".repeat(times)).unwrap();
}

fn authors(repo: &GitRepo) -> Vec<String> {
    repo.log("main").unwrap().into_iter().map(|commit| commit.author_name).collect()
}

/// Returns the number of pushes that ended in such a way.
fn pushes(world: &World, result: &str) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", world.metrics)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let series = format!("weir_image_push_total{{result=\"{result}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn a_run_whose_push_comes_late_starts_over_on_top_of_the_human_commit() {
    let world = World::start().await;
    let repo = world.app().await;
    lose(&repo, 1);
    world.automation("app", json!({})).await;
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!((pushes(&world, "late"), pushes(&world, "success"), pushes(&world, "failure")), (1, 1, 0));
    assert_eq!(status["lastPushCommit"], repo.head("main").unwrap());
    assert_eq!(authors(&repo)[..2], ["bot", "human"]);
    assert_eq!(repo.read("main", "note.txt").unwrap(), "mine\n");
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("r/web:1.0.0", "web"));
}

#[tokio::test]
async fn the_third_loss_is_a_failure_and_a_later_run_goes_on() {
    let world = World::start().await;
    let repo = world.app().await;
    lose(&repo, 3);
    world.automation("app", json!({})).await;
    world.until_failed("app", "reference 'refs/heads/main' has changed since it was read").await;
    let status: Value = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!((pushes(&world, "late"), pushes(&world, "success"), pushes(&world, "failure")), (3, 1, 0));
    assert_eq!(status["lastPushCommit"], repo.head("main").unwrap());
    assert_eq!(authors(&repo)[..4], ["bot", "human", "human", "human"]);
}
