//! Servers that never answer, and those that nobody may ask.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use weir_kustomize::{FsPath, MemoryFs, Options, build};
use weir_testkit::{FaultProxy, eventually};

use crate::{PATIENCE, bases, built_with, resource};

/// Starts a server that takes connections, counts them, and never answers; returns its URL too.
async fn silent() -> (FaultProxy, String) {
    let server = FaultProxy::silent().await.unwrap();
    let url = format!("http://{}", server.address());
    (server, url)
}

#[tokio::test]
async fn the_time_of_the_url_is_kept() {
    let (_server, url) = silent().await;
    let started = Instant::now();
    let error = resource(&format!("git::{url}/a/b?timeout=200ms")).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let wanted = format!("': hit 200ms timeout fetching '{url}/a/b'");
    assert!(error.ends_with(&wanted), "{error}");
}

#[tokio::test]
async fn the_time_of_the_build_is_kept() {
    let (_server, url) = silent().await;
    let fetcher = bases().for_build(Duration::from_millis(200), CancellationToken::new());
    let kustomization = format!("resources: ['git::{url}/a/b?timeout=1h']\n");
    let error = built_with(fetcher, &kustomization).await.unwrap_err();
    assert!(error.contains("timeout fetching"), "{error}");
}

/// A file has the time of the build, whatever its URL may name too; then it is not tried as a repository.
#[tokio::test]
async fn a_file_has_the_time_of_the_build() {
    let (_server, url) = silent().await;
    for file in ["file.yaml", "org/repo/file.yaml", "org/repo/file.yaml?timeout=1ms"] {
        let fetcher = bases().for_build(Duration::from_millis(200), CancellationToken::new());
        let reference = format!("{url}/{file}");
        let error = built_with(fetcher, &format!("resources: ['{reference}']\n")).await.unwrap_err();
        let wanted = format!(
            "accumulating resources: accumulating resources from '{reference}': hit 200ms timeout fetching '{reference}'"
        );
        assert_eq!(error, wanted);
    }
}

#[tokio::test]
async fn a_build_that_is_cancelled_stops_waiting() {
    let (server, url) = silent().await;
    let cancel = CancellationToken::new();
    let fetcher = bases().for_build(PATIENCE, cancel.clone());
    let kustomization = format!("resources: ['{url}/a/b']\n");
    let building = built_with(fetcher, &kustomization);
    let cancelling = async {
        let connected = || async { (!server.requests().is_empty()).then_some(()) };
        eventually("a connection", PATIENCE, connected).await.unwrap();
        cancel.cancel();
    };
    let both = async { tokio::join!(building, cancelling) };
    let (built, ()) = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    let error = built.unwrap_err();
    assert!(error.contains("was cancelled"), "{error}");
}

/// KZ-316, KS-BLD-34: the refusal comes before any connection.
#[tokio::test]
async fn without_a_remote_nobody_is_asked() {
    let (server, url) = silent().await;
    for kustomization in [
        format!("resources: ['{url}/a/b']\n"),
        format!("resources: ['git::{url}/a/b']\n"),
        format!("components: ['{url}/a/b']\n"),
        format!("openapi: {{path: '{url}/schema.json'}}\n"),
        format!("patches: [{{path: '{url}/patch.yaml'}}]\n"),
        format!("crds: ['{url}/crds.json']\n"),
        format!("configurations: ['{url}/x.yaml']\n"),
        format!("transformers: ['{url}/a/b']\n"),
        format!("secretGenerator: [{{name: g, envs: ['{url}/env']}}]\n"),
    ] {
        let fs = MemoryFs::from_files([("kustomization.yaml", kustomization.as_str())]).unwrap();
        let error = build(&fs, &FsPath::root(), &Options::gitops()).unwrap_err().to_string();
        assert!(error.contains("is not allowed: remote bases are disabled"), "{error}");
    }
    // Whoever had connected would have been seen by now: this one is.
    tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    eventually("the last connection", PATIENCE, || async { (!server.requests().is_empty()).then_some(()) })
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 1);
}
