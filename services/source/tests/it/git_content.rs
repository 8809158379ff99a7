//! The content of an artifact besides the commit's own files: submodules, included repositories, and the result of
//! sparse checkout.

use serde_json::{Value, json};
use weir_testkit::{GitRepo, GitServer, condition};

use crate::world::{World, paths};

const GIT: &str = "GitRepository";

fn with_submodule(repository: &GitRepo, path: &str, url: &str, commit: &str) -> String {
    let modules = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
    let change = repository.change("main").file("own/a.yaml", "own").file(".gitmodules", modules);
    change.submodule(path, commit).commit().unwrap()
}

/// The directories of an artifact.
async fn directories(status: &Value) -> Vec<String> {
    let response = reqwest::get(status["artifact"]["url"].as_str().unwrap()).await.unwrap();
    let bytes = weir_http::read_capped(response, 1 << 20).await.unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_ref()));
    let entries = archive.entries().unwrap().map(Result::unwrap);
    let directories = entries.filter(|entry| entry.header().entry_type().is_dir());
    directories
        .map(|entry| entry.path().unwrap().to_str().unwrap().trim_matches(['.', '/']).to_owned())
        .collect()
}

/// Folders of kept repositories in the world; one for each remote in use.
fn kept(world: &World) -> usize {
    let owners = std::fs::read_dir(world.folder.path().join("data/.git-stores")).unwrap();
    owners.map(|owner| std::fs::read_dir(owner.unwrap().path()).unwrap().count()).sum()
}

/// B10, SRC-GIT-13, SRC-GIT-14.
#[tokio::test]
async fn submodules_sparse_and_whole_and_without() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (lib, app) = (server.repo("org/lib").unwrap(), server.repo("org/app").unwrap());
    let id = lib.commit("main", "lib", &[("x.yaml", "x"), ("d/y.yaml", "y")]).unwrap();
    with_submodule(&app, "vendor/lib", "../lib.git", &id);
    let url = server.url("org/app");
    world.git("app", &url, json!({"recurseSubmodules": true})).await;
    let status = world.ready(GIT, "app").await;
    let whole = [".gitmodules", "own/a.yaml", "vendor/lib/d/y.yaml", "vendor/lib/x.yaml"];
    // `.gitmodules` is left out by default, like all of version control.
    assert_eq!(paths(&status).await, &whole[1..]);
    assert_eq!((status["observedRecurseSubmodules"].clone(), kept(&world)), (json!(true), 2));
    let spec = json!({"recurseSubmodules": true, "sparseCheckout": ["./vendor/lib/d"]});
    world.git("app", &url, spec).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(paths(&status).await, ["vendor/lib/d/y.yaml"]);
    assert_eq!(status["observedSparseCheckout"], json!(["./vendor/lib/d"]));
    world.git("app", &url, json!({"recurseSubmodules": false})).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(paths(&status).await, ["own/a.yaml"]);
    // As in a checkout, so that the artifact has the bytes of Flux's.
    assert_eq!(directories(&status).await, ["", "own", "vendor", "vendor/lib"]);
    assert_eq!(kept(&world), 1, "what is not used goes");
}

/// Bytes of what was fetched and kept.
fn fetched(world: &World) -> u64 {
    let stores = world.folder.path().join("data/.git-stores");
    let mut find = std::process::Command::new("find");
    let listed = find.arg(stores).args(["-name", "*.pack", "-printf", "%s\n"]);
    let sizes = String::from_utf8(listed.output().unwrap().stdout).unwrap();
    sizes.lines().map(|size| size.parse::<u64>().unwrap()).sum()
}

/// Issue 5: of what stays out of the artifact nothing is fetched, and what comes in later is.
#[tokio::test]
async fn what_stays_out_is_not_fetched() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let noise: String =
        (0_u64..20_000).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    let files = [
        ("noise", noise.as_str()),
        ("docs/.sourceignore", "*\n"),
        ("deploy/.sourceignore", "b.yaml\n"),
        ("deploy/a.yaml", "a"),
        ("deploy/b.yaml", "b"),
    ];
    server.repo("app").unwrap().commit("main", "first", &files).unwrap();
    let url = server.url("app");
    world.git("app", &url, json!({"ignore": "/*\n!/deploy\n"})).await;
    let all = ["deploy/.sourceignore", "deploy/a.yaml", "deploy/b.yaml"];
    assert_eq!(paths(&world.ready(GIT, "app").await).await, all);
    assert!(fetched(&world) < 3_000, "{}", fetched(&world));
    world.git("app", &url, json!({"ignore": "/*\n!/deploy\n", "sparseCheckout": ["deploy/a.yaml"]})).await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["deploy/a.yaml"]);
    assert!(fetched(&world) < 3_000, "{}", fetched(&world));
    world.git("app", &url, json!({"ignore": "/docs\n"})).await;
    let whole = ["deploy/.sourceignore", "deploy/a.yaml", "noise"];
    assert_eq!(paths(&world.ready(GIT, "app").await).await, whole);
    assert!(fetched(&world) > 100_000, "{}", fetched(&world));
}

/// A name that no artifact can hold costs that file, and not the source.
#[tokio::test]
async fn odd_file_names_are_left_out() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let change = repository.change("main").file("a.yaml", "a").file("units/x\\x2dy.swap", "b");
    // A quoted path may name any byte.
    change.file("units/z.yaml", "c").file("\"odd/\\377.yaml\"", "d").commit().unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml", "units/z.yaml"]);
    world.git("app", &server.url("app"), json!({"sparseCheckout": ["units"]})).await;
    let seen = |object: &kube::core::DynamicObject| {
        object.data["status"]["observedSparseCheckout"] == json!(["units"])
    };
    world.until(GIT, "app", "sparse checkout", seen).await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["units/z.yaml"]);
}

/// SRC-IGN-2: an ignore file may be a link to a file of the repository.
#[tokio::test]
async fn an_ignore_file_may_be_a_link() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let change = repository.change("main").file("rules", "*.txt\n").file("a.txt", "a").file("sub/b.txt", "b");
    let change = change.file("sub/c.yaml", "c").symlink("sub/.sourceignore", "../rules");
    change.symlink(".sourceignore", "../../etc/passwd").commit().unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.txt", "rules", "sub/c.yaml"]);
}

/// DEV 10, B10, SRC-GIT-17 to SRC-GIT-21.
#[tokio::test]
async fn an_include_is_waited_for_and_its_changes_are_seen_at_once() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (lib, app) = (server.repo("lib").unwrap(), server.repo("app").unwrap());
    lib.commit("main", "lib", &[("d/x.yaml", "x"), ("r.yaml", "r")]).unwrap();
    app.commit("main", "app", &[("a.yaml", "a")]).unwrap();
    let part = json!({"repository": {"name": "lib"}, "fromPath": "./d", "toPath": "./vendor/d"});
    let include = json!({"include": [{"repository": {"name": "lib"}}, part], "ignore": "r.yaml"});
    world.git("app", &server.url("app"), include).await;
    let (reason, message) = world.failure(GIT, "app").await;
    let expected =
        "could not get resource for include 'lib': GitRepository.source.toolkit.fluxcd.io \"lib\" not found";
    assert_eq!((reason.as_str(), message.as_str()), ("NotFound", expected));
    let object = world.api(GIT).await.get("app").await.unwrap();
    assert_eq!(condition(&object, "IncludeUnavailable").unwrap().status, "True");
    // The requeue would come after 30 s: the included object's own change must wake this one.
    world.git("lib", &server.url("lib"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    assert_eq!(paths(&status).await, ["a.yaml", "lib/d/x.yaml", "vendor/d/x.yaml"]);
    assert_eq!(status["includedArtifacts"].as_array().unwrap().len(), 2);
    assert_eq!(status["observedInclude"][1]["toPath"], "./vendor/d");
    let next = lib.commit("main", "lib", &[("d/new.yaml", "n")]).unwrap();
    weir_testkit::touch_requested_at(&world.api(GIT).await, "lib").await.unwrap();
    let is_new = |object: &kube::core::DynamicObject| {
        let revision = object.data["status"]["includedArtifacts"][0]["revision"].as_str();
        revision.is_some_and(|revision| revision.ends_with(&next))
    };
    let after = world.until(GIT, "app", "the new include", is_new).await;
    assert_eq!(after["artifact"]["revision"], status["artifact"]["revision"]);
    assert!(paths(&after).await.contains(&"vendor/d/new.yaml".to_owned()));
}

/// SRC-GIT-17: as after a restart without the disk, when the status still names the file of the included repository.
#[tokio::test]
async fn regression_an_include_whose_file_is_lost_is_waited_for() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "app", &[("a.yaml", "a")]).unwrap();
    world.git("lib", &server.url("app"), json!({})).await;
    let lib = world.ready(GIT, "lib").await;
    let file = world.folder.path().join("data").join(lib["artifact"]["path"].as_str().unwrap());
    std::fs::remove_file(file).unwrap();
    world.git("app", &server.url("app"), json!({"include": [{"repository": {"name": "lib"}}]})).await;
    let (reason, message) = world.failure(GIT, "app").await;
    assert_eq!((&*reason, &*message), ("NoArtifact", "no artifact available for include 'lib'"));
    world.reconciled(GIT, "lib").await;
    assert_eq!(paths(&world.ready(GIT, "app").await).await, ["a.yaml", "lib/a.yaml"]);
}

/// Each artifact would make the next one, larger each time: in a circle, includes are looked at when a run is due.
#[tokio::test]
async fn regression_a_repository_that_includes_itself_does_not_wake_itself() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "app", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.ready(GIT, "app").await;
    world.git("app", &server.url("app"), json!({"include": [{"repository": {"name": "app"}}]})).await;
    let includes_itself = |object: &kube::core::DynamicObject| {
        object.data["status"]["includedArtifacts"].as_array().is_some_and(|included| !included.is_empty())
    };
    world.until(GIT, "app", "the include", includes_itself).await;
    let status = world.reconciled(GIT, "app").await;
    assert_eq!(paths(&status).await, ["a.yaml", "app/a.yaml", "app/app/a.yaml"]);
}

#[tokio::test]
async fn includes_that_cannot_be_put_where_they_should() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "app", &[("full/a.yaml", "a")]).unwrap();
    world.git("lib", &server.url("app"), json!({})).await;
    world.ready(GIT, "lib").await;
    let include = |from: &str, to: &str| -> Value {
        json!({"include": [{"repository": {"name": "lib"}, "fromPath": from, "toPath": to}]})
    };
    for (name, from, to, expected) in [
        (
            "over",
            "full",
            "full",
            "failed to copy 'lib' include from full to full: cannot rename full to full: file exists",
        ),
        (
            "none",
            "nope",
            "x",
            "failed to copy 'lib' include from nope to x: cannot stat nope: no such file or directory",
        ),
        (
            "escape",
            "../../../etc",
            "../../x",
            "failed to copy 'lib' include from ../../../etc to ../../x: cannot stat etc: no such file or directory",
        ),
    ] {
        world.git(name, &server.url("app"), include(from, to)).await;
        let (reason, message) = world.failure(GIT, name).await;
        assert_eq!((reason.as_str(), message.as_str()), ("CopyFailure", expected));
    }
}
