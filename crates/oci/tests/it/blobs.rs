//! Layers that come from elsewhere, late, in part, or with other lengths than promised.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use weir_artifact::{Algorithm, Digest};
use weir_auth::RegistryCredentials;
use weir_oci::{Descriptor, Error, Registries, Registry as Handle, RegistryOptions, Repository};
use weir_testkit::{Fault, FaultProxy, Registry, Server};

use crate::{insecure, open};

const LAYER: &[u8] = b"some layer";

#[derive(Clone, Default)]
struct Seen {
    authorizations: Arc<parking_lot::Mutex<Vec<Option<String>>>>,
    asked: Arc<AtomicUsize>,
    store: String,
}

fn layer() -> Descriptor {
    let digest = Digest::of(Algorithm::Sha256, LAYER);
    Descriptor { media_type: "application/octet-stream".into(), digest, size: LAYER.len() as u64 }
}

async fn read(address: &str, name: &str, options: RegistryOptions) -> Result<Vec<u8>, Error> {
    read_by(open(address, name, options)).await
}

async fn read_by(mut registry: Handle) -> Result<Vec<u8>, Error> {
    let mut blob = registry.blob(&layer()).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = blob.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn basic() -> RegistryOptions {
    let credentials = RegistryCredentials::Basic { username: "user".into(), password: "hunter2".into() };
    RegistryOptions { credentials, ..insecure() }
}

async fn registry(seen: Seen) -> Server {
    let ping = async || (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"x\"")]);
    let routes = Router::new().route("/v2/", get(ping)).route("/v2/{name}/blobs/{digest}", get(blob));
    Server::start(routes.with_state(seen), None).await.unwrap()
}

async fn blob(
    State(seen): State<Seen>,
    Path((name, _)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    seen.authorizations.lock().push(authorization);
    match (name.as_str(), seen.asked.fetch_add(1, Ordering::SeqCst)) {
        ("away", _) => Redirect::temporary(&format!("http://{}/store", seen.store)).into_response(),
        ("busy", 0) => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response(),
        ("broken", 0) => StatusCode::BAD_GATEWAY.into_response(),
        _ => LAYER.into_response(),
    }
}

/// SRC-SCK-7: where a registry sends for a layer, its password does not go.
#[tokio::test]
async fn credentials_stay_with_their_registry() {
    let elsewhere = Seen::default();
    let store = Router::new().route("/store", get(stored)).with_state(elsewhere.clone());
    let store = Server::start(store, None).await.unwrap();
    let seen = Seen { store: format!("localhost:{}", store.address().port()), ..Seen::default() };
    let registry = registry(seen.clone()).await;
    assert_eq!(read(&registry.address().to_string(), "away", basic()).await.unwrap(), LAYER);
    assert!(seen.authorizations.lock()[0].as_ref().unwrap().starts_with("Basic "));
    assert_eq!(*elsewhere.authorizations.lock(), [None]);
}

async fn stored(State(seen): State<Seen>, headers: HeaderMap) -> &'static [u8] {
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    seen.authorizations.lock().push(authorization);
    LAYER
}

#[tokio::test]
async fn a_registry_is_left_alone_for_as_long_as_it_asks() {
    let registry = registry(Seen::default()).await;
    let start = Instant::now();
    assert_eq!(read(&registry.address().to_string(), "busy", basic()).await.unwrap(), LAYER);
    assert!(start.elapsed() >= Duration::from_secs(1));
}

/// The part that has arrived is not requested again: all of it would be too much (SRC-OCI-15).
#[tokio::test]
async fn a_layer_that_breaks_off_is_resumed() {
    let registry = Registry::start().await.unwrap();
    registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let proxy = FaultProxy::http(registry.address()).await.unwrap();
    for (times, is_whole) in [(1, true), (3, true), (9, false)] {
        // One that has been pulled would be at hand.
        let mut handle = open(&proxy.address(), "app", insecure());
        let digest = handle.resolve("v1").await.unwrap();
        let layer = handle.manifest(&digest).await.unwrap().layers[0].clone();
        proxy.set_for("/blobs/", times, Fault::CutAfter(5));
        let mut blob = handle.blob(&layer).await.unwrap();
        let mut count = 0;
        let end = loop {
            match blob.next().await {
                Ok(Some(chunk)) => count += chunk.len() as u64,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        assert_eq!(end.is_ok(), is_whole, "{times}: {end:?}");
        assert_eq!(count == layer.size, is_whole, "{times}: {count} of {}", layer.size);
    }
}

/// Objects that read the same repository with the same credentials pull a small layer once; other credentials must
/// pull it themselves (SRC-SCK-5).
#[tokio::test]
async fn a_layer_is_pulled_once_by_those_with_the_same_credentials() {
    let seen = Seen::default();
    let registry = registry(seen.clone()).await;
    let url = format!("oci://{}/app", registry.address());
    let (registries, repository) = (Registries::new(), Repository::from_url(&url).unwrap());
    let others = RegistryCredentials::Basic { username: "user".into(), password: "other".into() };
    let others = RegistryOptions { credentials: others, ..insecure() };
    for (options, asked) in [(basic(), 1), (basic(), 1), (others.clone(), 2), (insecure(), 3), (others, 3)] {
        let handle = registries.open(&repository, options).unwrap();
        assert_eq!(read_by(handle).await.unwrap(), LAYER);
        assert_eq!(seen.asked.load(Ordering::SeqCst), asked);
    }
}

#[tokio::test]
async fn a_gateway_that_failed_once() {
    let registry = registry(Seen::default()).await;
    assert_eq!(read(&registry.address().to_string(), "broken", basic()).await.unwrap(), LAYER);
}

/// Answers the ping, and then every request with the same bytes.
async fn raw(answer: &'static str) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&request[..count]).into_owned();
            let ping = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let answer = if text.starts_with("GET /v2/ ") { ping } else { answer };
            // TLS clients get nonsense, which is what they expect of a plain server.
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, tasks)
}

#[tokio::test]
async fn lengths_that_are_not_true() {
    let (address, _tasks) = raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome").await;
    let error = read(&address, "cut", insecure()).await.unwrap_err();
    assert!(matches!(error, Error::Transport { .. }), "{error}");
    // All of the manifest's size has arrived, and it has the digest.
    let (address, _tasks) = raw("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nsome layer").await;
    assert_eq!(read(&address, "more", insecure()).await.unwrap(), LAYER);
    let (address, _tasks) = raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsome").await;
    let error = read(&address, "short", insecure()).await.unwrap_err();
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
    let (address, _tasks) =
        raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nsome layer, more").await;
    let error = read(&address, "long", insecure()).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. } | Error::Transport { .. }), "{error}");
}
