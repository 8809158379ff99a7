//! Things that a repository cannot make the service do: run something, read another's configuration, lead out of its
//! tree.

use std::path::Path;

use serde_json::{Value, json};
use weir_artifact::RelPath;
use weir_testkit::{Folder, GitRepo, GitServer};

use crate::world::{Setup, World, files, paths};

const GIT: &str = "GitRepository";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n";

/// SRC-SCK-1, SRC-GIT-15, SRC-GIT-19: paths of sparse checkouts and includes stay inside the tree.
#[tokio::test]
async fn paths_that_lead_out_of_the_tree() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let change =
        repository.change("main").file("deploy/a.yaml", "a").symlink("out", "/etc").symlink("in", "deploy");
    change.commit().unwrap();
    let url = server.url("app");
    let outside = ["../x", "/etc", "deploy/../../etc", "%2e%2e/etc", "out/ssl", "in/a.yaml", "..\\x"];
    for (number, path) in outside.iter().enumerate() {
        world.git(&format!("sparse-{number}"), &url, json!({"sparseCheckout": [path]})).await;
    }
    world.git("lib", &url, json!({})).await;
    world.ready(GIT, "lib").await;
    let include = |from: &str, to: &str| -> Value {
        json!({"include": [{"repository": {"name": "lib"}, "fromPath": from, "toPath": to}]})
    };
    for (name, from, to) in [("from", "/etc", "x"), ("link", "out", "x"), ("middle", "in/a.yaml", "x")] {
        world.git(name, &url, include(from, to)).await;
    }
    world.git("to", &url, include("deploy", "/../../x")).await;
    for (number, path) in outside.iter().enumerate() {
        let (reason, message) = world.failure(GIT, &format!("sparse-{number}")).await;
        assert_eq!(reason, "GitOperationFailed", "{path}: {message}");
        assert!(
            message.contains(&format!("sparse checkout dir '{path}' does not exist in repository")),
            "{message}"
        );
        let object = world.api(GIT).await.get(&format!("sparse-{number}")).await.unwrap();
        let progress = weir_testkit::condition(&object, "Reconciling").unwrap();
        assert_eq!(progress.message, "building artifact", "no new revision before its paths are found");
    }
    for name in ["from", "link", "middle"] {
        let (reason, message) = world.failure(GIT, name).await;
        assert_eq!(reason, "CopyFailure", "{name}: {message}");
        assert!(message.contains("no such file or directory"), "{name}: {message}");
    }
    assert_eq!(paths(&world.ready(GIT, "to").await).await, ["deploy/a.yaml", "x/a.yaml"]);
}

/// Commits a tree as no Git client would make it: entries by mode, name and content.
fn commit_tree(repository: &GitRepo, entries: &[(&str, &str, &str)]) -> String {
    let written = |kind: &str, bytes: &[u8]| {
        let path = repository.path().join("object");
        std::fs::write(&path, bytes).unwrap();
        let path = path.display().to_string();
        let id = repository.git(&["hash-object", "-w", "-t", kind, "--literally", &path]).unwrap();
        id.trim().to_owned()
    };
    let entry = |mode: &str, name: &str, id: &str| {
        let id = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
        format!("{mode} {name}\0").into_bytes().into_iter().chain(id).collect::<Vec<u8>>()
    };
    let mut tree = Vec::new();
    for (mode, name, content) in entries {
        let blob = written("blob", content.as_bytes());
        let id = match *mode {
            "40000" => written("tree", &entry("100755", "post-checkout", &blob)),
            _ => blob,
        };
        tree.extend(entry(mode, name, &id));
    }
    let tree = written("tree", &tree);
    let id = repository.git(&["commit-tree", &tree, "-m", "made by hand"]).unwrap().trim().to_owned();
    repository.git(&["update-ref", "refs/heads/main", &id]).unwrap();
    id
}

/// Configuration as its owner may have it at home; nothing of it may count.
fn configured(home: &Path, marker: &Path) {
    let touch = format!("touch {}", marker.display());
    let text = format!(
        "[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http://\n[core]\n\tfsmonitor = {touch}\n\thooksPath = {}\n\
         [filter \"evil\"]\n\tsmudge = {touch}\n\trequired\n[filter \"lfs\"]\n\tsmudge = {touch}\n",
        home.display()
    );
    std::fs::write(home.join(".gitconfig"), &text).unwrap();
    std::fs::create_dir(home.join("git")).unwrap();
    std::fs::write(home.join("git/config"), &text).unwrap();
}

/// SRC-SCK-2, DEV 25: no hooks, no filters, no LFS, no configuration of the machine; names that a file system takes for
/// `.git` are files like others.
#[tokio::test]
async fn nothing_of_a_repository_is_run() {
    let home = Folder::new("home").unwrap();
    let marker = home.path().join("was-run");
    configured(home.path(), &marker);
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    let command = format!("touch {}", marker.display());
    let place = home.path().display().to_string();
    let environment = vec![
        ("HOME", place.clone()),
        ("XDG_CONFIG_HOME", place.clone()),
        ("GIT_CONFIG_GLOBAL", format!("{place}/.gitconfig")),
        ("GIT_SSH_COMMAND", command.clone()),
        ("GIT_PROXY_COMMAND", command),
        ("GIT_TEMPLATE_DIR", place),
    ];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    commit_tree(
        &repository,
        &[
            ("40000", ".GIT", &script),
            ("40000", ".git", &script),
            ("100644", ".gitattributes", "*.bin filter=lfs diff=lfs\n*.txt filter=evil ident\n"),
            ("100644", ".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n"),
            ("100644", "big.bin", POINTER),
            ("40000", "git~1", &script),
            ("40000", "hooks", &script),
            ("120000", "link", "/etc/passwd"),
            ("100644", "text.txt", "$Id$\r\n"),
        ],
    );
    world.git("app", &server.url("app"), json!({"recurseSubmodules": true})).await;
    let status = world.ready(GIT, "app").await;
    let files = files(&status).await;
    let text = |path: &str| String::from_utf8(files[&RelPath::parse(path).unwrap()].bytes.to_vec()).unwrap();
    assert_eq!(text("big.bin"), POINTER);
    assert_eq!(text("text.txt"), "$Id$\r\n");
    let found: Vec<_> = files.keys().map(ToString::to_string).collect();
    let expected = [
        ".GIT/post-checkout",
        ".lfsconfig",
        "big.bin",
        "git~1/post-checkout",
        "hooks/post-checkout",
        "text.txt",
    ];
    assert_eq!(found, expected);
    assert!(!marker.exists());
}

/// SRC-SCK-2: links under the names that Git itself reads lead nowhere.
#[tokio::test]
async fn links_named_as_what_git_reads() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "[submodule \"x\"]\n\tpath = x\n\turl = ../x.git\n").unwrap();
    let place = secret.display().to_string();
    let names = [".git", ".GIT", "git~1", ".gitmodules", ".sourceignore", "deploy"];
    for (number, name) in names.into_iter().enumerate() {
        let object = format!("link-{number}");
        let repository = server.repo(&object).unwrap();
        let mut entries = [("120000", name, place.as_str()), ("100644", "a.yaml", "a")];
        entries.sort_by_key(|(_, name, _)| *name);
        commit_tree(&repository, &entries);
        world.git(&object, &server.url(&object), json!({"recurseSubmodules": true})).await;
        if name == ".gitmodules" {
            world.failure_of(GIT, &object, "invalid path '.gitmodules' in Git tree").await;
            continue;
        }
        assert_eq!(paths(&world.ready(GIT, &object).await).await, ["a.yaml"], "{name}");
    }
}
