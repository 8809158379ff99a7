//! Bases and files from elsewhere (KS-BLD-33, KS-BLD-34), as Flux's transcript `k_remote_base` has them.

use axum::Router;
use axum::routing::get;
use serde_json::json;
use weir_testkit::{FaultProxy, Folder, GitRepo, GitServer, Server, SshGitServer, eventually};

use crate::world::{PATIENCE, World, cm};

async fn files() -> (Server, String) {
    let app = Router::new().route("/one.yaml", get(|| async { cm("file", "1") }));
    let server = Server::start(app, None).await.unwrap();
    let url = format!("http://{}", server.address());
    (server, url)
}

fn commit(repository: &GitRepo, value: &str) {
    let files = [("base/kustomization.yaml", "resources: [a.yaml]\n"), ("base/a.yaml", &cm("git", value))];
    repository.commit("main", value, &files).unwrap();
}

/// A source with a directory for each reference, and a Kustomization for each.
async fn kustomizations(world: &World, references: &[(&str, String)]) {
    let files: Vec<(String, String)> = references
        .iter()
        .map(|(name, reference)| {
            (format!("{name}/kustomization.yaml"), format!("resources: ['{reference}']\n"))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    world.source("src", 1, &files).await;
    for (name, _) in references {
        world.kustomization(name, json!({"path": format!("./{name}"), "timeout": "1m"})).await;
    }
}

#[tokio::test]
async fn bases_and_files_are_applied_and_what_is_missing_is_told() {
    let world = World::new().await;
    let server = GitServer::start().await.unwrap();
    commit(&server.repo("base").unwrap(), "1");
    let (_files, www) = files().await;
    let (base, none) = (server.url("base"), server.url("none"));
    let references = [
        ("git", format!("{base}//base?ref=main")),
        ("file", format!("{www}/one.yaml")),
        ("nogit", format!("{none}//base?ref=main")),
        ("nofile", format!("{www}/lm/none.yaml")),
        ("norepo", format!("{www}/none.yaml")),
        ("noref", format!("{base}//base?ref=nope")),
    ];
    kustomizations(&world, &references).await;
    for name in ["git", "file"] {
        world.applied(name, "main@sha1:1").await;
        assert_eq!(world.config_map(name).await.unwrap().data["data"]["k"], "1");
    }
    let tried = |reference: &str, cause: &str| {
        format!(
            "kustomize build failed: accumulating resources: accumulation err='accumulating resources from \
             '{reference}': URL is a git repository': failed to fetch {cause}"
        )
    };
    let status = "HTTP Error: status code 404 (Not Found)";
    for (name, wanted) in [
        ("nogit", tried(&references[2].1, &format!("'{none}' at 'main': repository not found"))),
        ("nofile", tried(&references[3].1, &format!("'{www}/lm/none.yaml' at 'HEAD': repository not found"))),
        (
            "norepo",
            format!(
                "kustomize build failed: accumulating resources: accumulating resources from '{www}/none.yaml': {status}"
            ),
        ),
        ("noref", tried(&references[5].1, &format!("'{base}' at 'nope': couldn't find remote ref \"nope\""))),
    ] {
        let failed = world.not_ready(name, "BuildFailed").await;
        let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
        assert!(message.starts_with(&wanted), "{message}");
        let event = world.event(name, "BuildFailed").await;
        assert!(event.contains(&wanted), "{event}");
    }
}

/// Nothing reports a change of a remote base, so every run fetches it.
#[tokio::test]
async fn a_base_that_has_moved_is_applied_by_the_next_run() {
    let world = World::new().await;
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("base").unwrap();
    commit(&repository, "1");
    let kustomization = format!("resources: ['{}//base']\n", server.url("base"));
    let files = [("git/kustomization.yaml", kustomization.as_str())];
    world.source("src", 1, &files).await;
    world.kustomization("git", json!({"path": "./git"})).await;
    world.applied("git", "main@sha1:1").await;
    commit(&repository, "2");
    world.requested("git").await;
    assert_eq!(world.config_map("git").await.unwrap().data["data"]["k"], "2");
    commit(&repository, "3");
    let unrelated = [files[0], ("unrelated.txt", "x")];
    world.source("src", 2, &unrelated).await;
    world.applied("git", "main@sha1:2").await;
    assert_eq!(world.config_map("git").await.unwrap().data["data"]["k"], "3");
}

/// Starts a server that takes connections, counts them, and never answers; returns its URL too.
async fn silent() -> (FaultProxy, String) {
    let server = FaultProxy::silent().await.unwrap();
    let url = format!("http://{}", server.address());
    (server, url)
}

/// There are fewer builds at once than workers; those that wait for a network are not counted.
#[tokio::test]
async fn a_server_that_never_answers_keeps_nobody_from_building() {
    let world = World::new().await;
    let (server, url) = silent().await;
    let waiting = std::thread::available_parallelism().unwrap().get().clamp(2, 6);
    let references: Vec<(String, String)> = (0..waiting)
        .map(|number| (format!("w{number}"), format!("git::{url}/a/b{number}?timeout=50s")))
        .collect();
    let references: Vec<(&str, String)> =
        references.iter().map(|(name, reference)| (name.as_str(), reference.clone())).collect();
    kustomizations(&world, &references).await;
    let all = || async { (server.requests().len() >= waiting).then_some(()) };
    eventually("all to wait", PATIENCE, all).await.unwrap();
    world
        .source_of(
            "Bucket",
            "other",
            json!({"interval": "1h", "bucketName": "a", "endpoint": "b.c"}),
            "b@sha256:1",
            &[("cm.yaml", &cm("other", "1"))],
        )
        .await;
    world.kustomization("other", json!({"sourceRef": {"kind": "Bucket", "name": "other"}})).await;
    world.applied("other", "b@sha256:1").await;
    for (name, _) in &references {
        let kustomization = world.kustomizations().await.get(name).await.unwrap();
        let ready = weir_testkit::condition(&kustomization, "Ready");
        assert!(ready.is_none_or(|ready| ready.status == "Unknown"), "{name} has waited to its end");
    }
    // A newer revision ends the wait of those that it makes obsolete.
    let files: Vec<(String, String)> =
        references.iter().map(|(name, _)| (format!("{name}/cm.yaml"), cm(name, "2"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    world.source("src", 2, &files).await;
    for (name, _) in &references {
        world.applied(name, "main@sha1:2").await;
    }
}

#[tokio::test]
async fn no_remote_bases_means_no_connection() {
    let world = World::with_flags(&["--no-remote-bases"]).await;
    let (server, url) = silent().await;
    let kinds = [
        ("file", format!("resources: ['{url}/one.yaml']\n")),
        ("git", format!("resources: ['git::{url}/a/b']\n")),
        ("component", format!("components: ['{url}/a/b']\n")),
        ("openapi", format!("openapi: {{path: '{url}/schema.json'}}\n")),
        ("patch", format!("resources: [cm.yaml]\npatches: [{{path: '{url}/patch.yaml'}}]\n")),
    ];
    let map = cm("local", "1");
    let files: Vec<(String, &str)> = kinds
        .iter()
        .flat_map(|(name, text)| {
            [(format!("{name}/kustomization.yaml"), text.as_str()), (format!("{name}/cm.yaml"), map.as_str())]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    world.source("src", 1, &files).await;
    for (name, _) in &kinds {
        world.kustomization(name, json!({"path": format!("./{name}")})).await;
    }
    for (name, _) in &kinds {
        let failed = world.not_ready(name, "BuildFailed").await;
        let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
        assert!(message.starts_with("kustomize build failed: "), "{message}");
        assert!(message.contains("is not allowed: remote bases are disabled"), "{message}");
    }
    // Whoever had connected would have been seen by now: this one is.
    tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    let seen = || async { (!server.requests().is_empty()).then_some(()) };
    eventually("the last connection", PATIENCE, seen).await.unwrap();
    assert_eq!(server.requests().len(), 1);
}

/// The key that an operator has mounted for the service's user (KS-BLD-33).
#[tokio::test(flavor = "multi_thread")]
async fn bases_over_ssh_are_fetched_with_the_key_of_the_services_user() {
    let server = SshGitServer::start().await.unwrap();
    commit(&server.repo("base").unwrap(), "ssh");
    let home = Folder::new("home").unwrap();
    let (world, _process) = World::process_of_user(&[], home.path()).await;
    kustomizations(&world, &[("ssh", format!("{}//base?ref=main", server.url("base")))]).await;
    let failed = world.not_ready("ssh", "BuildFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(message.contains("SSH needs a key: there is none of"), "{message}");
    std::fs::create_dir(home.path().join(".ssh")).unwrap();
    home.write(".ssh/id_ed25519", server.identity()).unwrap();
    home.write(".ssh/known_hosts", server.known_hosts()).unwrap();
    world.requested("ssh").await;
    world.ready("ssh").await;
    assert_eq!(world.config_map("git").await.unwrap().data["data"]["k"], "ssh");
}
