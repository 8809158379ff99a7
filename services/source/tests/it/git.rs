//! `GitRepository` from object to artifact, and what stops it.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use weir_testkit::{Folder, GitRepo, GitServer, SshGitServer, eventually, touch_requested_at, wait_gone};

use crate::world::{DEADLINE, World, files, paths};

const GIT: &str = "GitRepository";
const DAMAGE: &[u8] = b"damaged";

/// SRC-TYP-6, DEV 17: also where SHA-256 names the objects.
#[rstest]
#[tokio::test]
async fn a_commit_becomes_an_artifact_and_the_next_one_replaces_it(#[values("sha1", "sha256")] format: &str) {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo_as("app", format).unwrap();
    let first = repository.commit("main", "first", &[("a.yaml", "a: 1\n"), ("pic.png", "p")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(status["artifact"]["revision"], format!("main@{format}:{first}"));
    assert_eq!(paths(&status).await, ["a.yaml"]);
    let second = repository.commit("main", "second", &[("b/c.yaml", "c: 1\n")]).unwrap();
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let status = world.at(GIT, "app", &second).await;
    assert_eq!(paths(&status).await, ["a.yaml", "b/c.yaml"]);
}

/// A3, SRC-GIT-9.
#[tokio::test]
async fn an_unchanged_branch_is_listed_and_not_fetched() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    server.forget_requests();
    let token = touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let handled =
        |object: &kube::core::DynamicObject| object.data["status"]["lastHandledReconcileAt"] == token;
    world.until(GIT, "app", "request handled", handled).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
}

#[tokio::test]
async fn other_ignore_rules_make_another_artifact_of_the_same_revision() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    repository
        .commit("main", "first", &[("a.yaml", "a"), ("docs/x.md", "x"), ("deploy/b.yaml", "b")])
        .unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let before = world.ready(GIT, "app").await;
    world.git("app", &server.url("app"), json!({"ignore": "/*\n!/deploy\n"})).await;
    let after = world
        .until(GIT, "app", "new rules", |object| !object.data["status"]["observedIgnore"].is_null())
        .await;
    assert_eq!(before["artifact"]["revision"], after["artifact"]["revision"]);
    assert_ne!(before["artifact"]["digest"], after["artifact"]["digest"]);
    assert_eq!(paths(&after).await, ["deploy/b.yaml"]);
}

/// The lines with their host names hashed, as `flux bootstrap` may write them.
fn hashed(known_hosts: &str) -> String {
    let folder = Folder::new("known").unwrap();
    let path = folder.path().join("known");
    std::fs::write(&path, known_hosts).unwrap();
    let run = std::process::Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&path).status();
    assert!(run.unwrap().success());
    std::fs::read_to_string(path).unwrap()
}

/// A1, SRC-GIT-29, SRC-SCK-3: as `flux bootstrap` sets it up; other, revoked and unknown host keys are refused.
#[tokio::test]
async fn ssh_with_the_right_host_key_and_with_another() {
    let (world, server) = (World::start().await, SshGitServer::start().await.unwrap());
    let id = server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    let known = server.known_hosts().to_string();
    let (_, key) = known.split_once(' ').unwrap();
    let no_host_key = "ssh: handshake failed: knownhosts: key";
    for (name, known_hosts) in [
        ("flux-system", hashed(&known)),
        ("wrong", server.other_known_hosts().to_string()),
        ("revoked", format!("{known}\n@revoked * {key}")),
        ("unknown", format!("example.com {key}")),
    ] {
        let data =
            json!({"identity": server.identity(), "identity.pub": "unused", "known_hosts": known_hosts});
        world.secret(name, "Opaque", data).await;
        world.git(name, &server.url("app"), json!({"interval": "1m0s", "secretRef": {"name": name}})).await;
    }
    let status = world.ready(GIT, "flux-system").await;
    assert_eq!(status["artifact"]["revision"], format!("main@sha1:{id}"));
    assert_eq!(files(&status).await.len(), 1);
    for (name, why) in [("wrong", "mismatch"), ("revoked", "is revoked"), ("unknown", "is unknown")] {
        let (reason, message) = world.failure(GIT, name).await;
        assert_eq!(reason, "GitOperationFailed");
        assert!(message.ends_with(&format!("{no_host_key} {why}")), "{message}");
    }
}

#[tokio::test]
async fn what_cannot_be_fetched_says_why() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.secret("wrong", "Opaque", json!({"username": "user", "password": "hunter2"})).await;
    let (app, private) = (server.url("app"), server.url("private/app"));
    world.git("branch", &app, json!({"ref": {"branch": "nope"}})).await;
    world.git("secret", &private, json!({"secretRef": {"name": "nope"}})).await;
    world.git("password", &private, json!({"secretRef": {"name": "wrong"}})).await;
    world.git("url", "http://127.0.0.1:port/a", json!({})).await;
    world.git("verify", &app, json!({"verify": {"mode": "HEAD", "secretRef": {"name": "k"}}})).await;
    for (name, reason, part) in [
        ("branch", "GitOperationFailed", "couldn't find remote ref \"refs/heads/nope\""),
        ("secret", "AuthenticationFailed", "secrets \"nope\" not found"),
        ("password", "GitOperationFailed", "authentication required"),
        ("url", "URLInvalid", "invalid port \":port\" after host"),
        ("verify", "VerificationError", "public keys secret error: secrets \"k\" not found"),
    ] {
        let (found, message) = world.failure(GIT, name).await;
        assert_eq!(found, reason, "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
    world.logs_without("hunter2");
}

/// A14, SRC-REC-17, SRC-STO-12.
#[tokio::test]
async fn a_deleted_object_leaves_no_file() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    let directory = world.folder.path().join("data/gitrepository").join(&world.namespace).join("app");
    assert!(directory.is_dir());
    let api = world.api(GIT).await;
    let stores = world.folder.path().join("data/.git-stores");
    assert_eq!(std::fs::read_dir(&stores).unwrap().count(), 1);
    api.delete("app", &kube::api::DeleteParams::default()).await.unwrap();
    wait_gone(&api, "app", Duration::from_secs(20)).await.unwrap();
    assert!(!directory.exists());
    assert_eq!(std::fs::read_dir(&stores).unwrap().count(), 0);
}

#[tokio::test]
async fn a_restart_without_artifacts_fetches_no_object_again() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let before = world.ready(GIT, "app").await;
    std::fs::remove_dir_all(world.folder.path().join("data/gitrepository")).unwrap();
    server.forget_requests();
    world.start_again(&[]);
    let file = world.folder.path().join("data").join(before["artifact"]["path"].as_str().unwrap());
    let is_there = || async { file.is_file().then_some(()) };
    eventually("the artifact to be made again", DEADLINE, is_there).await.unwrap();
    world.until_served().await;
    let after = world.ready(GIT, "app").await;
    assert_eq!(after["artifact"]["digest"], before["artifact"]["digest"]);
    assert_eq!(paths(&after).await, ["a.yaml"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "only a list: {requests:?}");
}

#[tokio::test]
async fn fetched_objects_are_not_served() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    let object = world.api(GIT).await.get("app").await.unwrap();
    let path = format!(".git-stores/{}", object.metadata.uid.unwrap());
    let stored = std::fs::read_dir(world.folder.path().join("data").join(&path)).unwrap();
    let repository = stored.into_iter().next().unwrap().unwrap().file_name().into_string().unwrap();
    assert!(world.folder.path().join("data").join(&path).join(&repository).join("HEAD").is_file());
    let url = format!("http://127.0.0.1:{}/{path}/{repository}/HEAD", world.http);
    assert_eq!(reqwest::get(url).await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_push_that_is_told_costs_one_look_and_one_fetch() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    let pushed = repository.commit("main", "second", &[("b.yaml", "b: 1\n")]).unwrap();
    server.forget_requests();
    // Writes the annotation that a Receiver writes when it is called about the push.
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    world.at(GIT, "app", &pushed).await;
    let requests: Vec<_> =
        server.requests().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(requests, ["GET /app.git/info/refs", "POST /app.git/git-upload-pack"]);
}

/// SRC-STO-9: what an artifact copies from the one before it does not show (docs/adr/0007).
#[tokio::test]
async fn an_artifact_copied_in_parts_is_the_one_made_anew() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    commit_large_files(&repository);
    world.git("app", &server.url("app"), json!({})).await;
    let first = world.ready(GIT, "app").await;
    assert!(first["artifact"]["size"].as_u64().unwrap() > 4 << 20, "too small to be copied from");
    let stores = world.folder.path().join("data/.git-stores");
    let unreadable = damaged_packs(&stores);
    // The last one changes: a small file is in one run with the next.
    let second = repository.commit("main", "second", &[("d/9.bin", "9"), ("new", "n")]).unwrap();
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let copied = world.at(GIT, "app", &second).await;
    assert_eq!(files_of(&copied).await["d/9.bin"], "9");
    assert!(unreadable.iter().all(|pack| pack.exists()), "a store that was read has been made anew");

    std::fs::remove_dir_all(&stores).unwrap();
    std::fs::remove_dir_all(world.folder.path().join("data/gitrepository")).unwrap();
    world.start_again(&[]);
    world.until_served().await;
    let anew = world.reconciled(GIT, "app").await;
    assert_eq!(anew["artifact"]["digest"], copied["artifact"]["digest"]);
    assert_eq!(files_of(&anew).await, files_of(&copied).await);
}

/// DEP-GIT-3: what is kept of a repository is only a cache, whatever names its objects.
#[rstest]
#[tokio::test]
async fn a_store_that_cannot_be_read_is_made_anew(#[values("sha1", "sha256")] format: &str) {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    commit_large_files(&server.repo_as("app", format).unwrap());
    world.git("app", &server.url("app"), json!({})).await;
    let before = world.ready(GIT, "app").await;
    world.controller.kill();
    let unreadable = damaged_packs(&world.folder.path().join("data/.git-stores"));
    std::fs::remove_dir_all(world.folder.path().join("data/gitrepository")).unwrap();
    world.start_again(&[]);
    world.until_served().await;
    world.reconciled(GIT, "app").await;
    let after = world.ready(GIT, "app").await;
    assert_eq!(after["artifact"]["digest"], before["artifact"]["digest"]);
    assert_eq!(files_of(&after).await.len(), 10);
    let damaged = |pack: &PathBuf| std::fs::read(pack).is_ok_and(|bytes| is_damaged(&bytes));
    assert!(!unreadable.iter().any(damaged), "the store that cannot be read is still there");
}

fn is_damaged(pack: &[u8]) -> bool {
    pack.windows(DAMAGE.len()).any(|bytes| bytes == DAMAGE)
}

/// Ten files that no compression makes small.
fn commit_large_files(repository: &GitRepo) {
    let noise = |seed: u64| -> String {
        let numbers =
            std::iter::successors(Some(seed), |word| Some(word ^ (word << 13) ^ (word >> 7) ^ (word << 17)));
        numbers.skip(10).take(65_000).map(|word| format!("{word:x}")).collect()
    };
    let files: Vec<_> = (1..11).map(|number| (format!("d/{number}.bin"), noise(number))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    repository.commit("main", "first", &files).unwrap();
}

/// Makes the large files in all stores unreadable: commits and trees come before them in a pack.
fn damaged_packs(stores: &Path) -> Vec<PathBuf> {
    let inside =
        |directory: PathBuf| std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let stores = inside(stores.to_owned()).flat_map(inside);
    let files = stores.flat_map(|store| inside(store.join("objects/pack")));
    let packs: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "pack")).collect();
    assert!(!packs.is_empty());
    for pack in &packs {
        // In place, since the service may have them open. Each of the ten files is hit.
        let file = std::fs::File::options().write(true).open(pack).unwrap();
        let length = file.metadata().unwrap().len();
        for part in 2..40 {
            file.write_all_at(DAMAGE, length * part / 40).unwrap();
        }
    }
    packs
}

/// Contents by path.
async fn files_of(status: &serde_json::Value) -> std::collections::BTreeMap<String, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    files(status).await.iter().map(|(path, file)| (path.to_string(), text(&file.bytes))).collect()
}
