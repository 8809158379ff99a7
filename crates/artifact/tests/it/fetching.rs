//! The consumer's side against a real HTTP server.

use axum::Router;
use axum::routing::get;
use weir_artifact::fetch::{FetchError, Fetcher, SpoolError};
use weir_artifact::{Algorithm, Digest, DirectoryTree, Limits, RelPath, archive};

use crate::archives::write_files;

fn artifact() -> Vec<u8> {
    let work = tempfile::tempdir().unwrap();
    write_files(work.path(), &[("app/a.yaml", "a: 1\n"), ("b.yaml", "b: 1\n")]);
    let mut bytes = Vec::new();
    archive::write(&DirectoryTree::open_path(work.path()).unwrap(), &|_, _| true, &mut bytes).unwrap();
    bytes
}

/// Serves `body` at `/a.tar.gz`; returns `host:port`.
async fn serve(body: Vec<u8>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let routes = Router::new().route("/a.tar.gz", get(move || async move { body }));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn digest(bytes: &[u8]) -> String {
    Digest::of(Algorithm::Sha256, bytes).to_string()
}

#[tokio::test]
async fn files_and_directory() {
    let bytes = artifact();
    let address = serve(bytes.clone()).await;
    let fetcher = Fetcher::new(Limits::default(), None).unwrap();
    let url = format!("http://{address}/a.tar.gz");
    let files = fetcher.files(&url, &digest(&bytes)).await.unwrap();
    assert_eq!(files[&RelPath::parse("app/a.yaml").unwrap()].bytes, "a: 1\n");
    let directory = fetcher.directory(&url, &digest(&bytes)).await.unwrap();
    assert_eq!(std::fs::read_to_string(directory.path().join("b.yaml")).unwrap(), "b: 1\n");
}

#[tokio::test]
async fn the_host_can_be_overridden() {
    let bytes = artifact();
    let address = serve(bytes.clone()).await;
    let fetcher = Fetcher::new(Limits::default(), Some(address)).unwrap();
    let url = "http://source-controller.flux-system.svc.cluster.local./a.tar.gz";
    assert_eq!(fetcher.blob(url, &digest(&bytes)).await.unwrap().size(), bytes.len() as u64);
}

#[tokio::test]
async fn other_content_is_never_unpacked() {
    let bytes = artifact();
    let actual = digest(&bytes);
    let address = serve(bytes).await;
    let fetcher = Fetcher::new(Limits::default(), None).unwrap();
    let url = format!("http://{address}/a.tar.gz");
    let error = fetcher.files(&url, &digest(b"other")).await.unwrap_err();
    assert!(matches!(error, FetchError::Spool(SpoolError::Mismatch { .. })), "{error}");
    // A forged status would else find out the digest of anybody's artifact, and then use it.
    assert!(!error.to_string().contains(&actual), "{error}");
    for missing in ["", "latest"] {
        assert!(matches!(fetcher.files(&url, missing).await, Err(FetchError::Digest(_))));
    }
}

#[tokio::test]
async fn what_the_server_does_wrong() {
    let bytes = artifact();
    let address = serve(bytes.clone()).await;
    let small = Fetcher::new(Limits { download: 10, ..Limits::default() }, None).unwrap();
    let error = small.blob(&format!("http://{address}/a.tar.gz"), &digest(&bytes)).await.err().unwrap();
    assert!(matches!(error, FetchError::Spool(SpoolError::TooLarge { limit: 10 })), "{error}");
    let error = small.blob(&format!("http://{address}/b.tar.gz"), &digest(&bytes)).await.err().unwrap();
    assert!(matches!(error, FetchError::NotFound { .. }), "{error}");
    let error = small.blob("http://127.0.0.1:1/a.tar.gz", &digest(&bytes)).await.err().unwrap();
    let expected = "failed to download archive: Get \"http://127.0.0.1:1/a.tar.gz\": dial tcp 127.0.0.1:1: connect: \
                    connection refused";
    assert_eq!(error.to_string(), expected);
    let error = small.blob("no URL", &digest(&bytes)).await.err().unwrap();
    assert!(matches!(error, FetchError::Url(_)), "{error}");
}

/// SRC-AGN-4
#[tokio::test]
async fn archives_that_cannot_be_used_are_told_as_by_flux() {
    let bytes = b"no archive at all".to_vec();
    let address = serve(bytes.clone()).await;
    let fetcher = Fetcher::new(Limits::default(), None).unwrap();
    let url = format!("http://{address}/a.tar.gz");
    let error = fetcher.directory(&url, &digest(&bytes)).await.unwrap_err().to_string();
    let expected = "failed to extract archive (check whether file size exceeds max download size): requires \
                    gzip-compressed body: ";
    assert!(error.starts_with(expected), "{error}");
    let error = fetcher.directory(&url, &digest(b"other")).await.unwrap_err().to_string();
    assert!(
        error.starts_with("failed to verify archive: computed digest doesn't match provided "),
        "{error}"
    );
}
