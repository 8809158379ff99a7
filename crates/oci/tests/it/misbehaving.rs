//! A registry that lies, stalls, or leads astray.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::task::JoinSet;
use weir_artifact::{Algorithm, Digest};
use weir_auth::RegistryCredentials;
use weir_oci::{Descriptor, Error, RegistryOptions};
use weir_testkit::{Fault, FaultProxy};

use crate::{insecure, open};

const LAYER: &[u8] = b"some layer";

#[derive(Clone, Default)]
struct Behaviour {
    /// Failures before the first success.
    failures: usize,
    requests: Arc<AtomicUsize>,
    realm: Option<String>,
}

/// Serves the behaviour; ends with the returned set.
async fn serve(behaviour: Behaviour) -> (String, JoinSet<()>) {
    let routes = Router::new()
        .route("/v2/", get(ping))
        .route("/v2/{name}/tags/list", get(tags))
        .route("/v2/{name}/manifests/{reference}", get(manifest))
        .route("/v2/{name}/blobs/{digest}", get(blob))
        .with_state(behaviour);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (address, tasks)
}

async fn ping(State(behaviour): State<Behaviour>) -> Response {
    match behaviour.realm {
        Some(realm) => {
            let challenge = format!("Bearer realm=\"{realm}\",service=\"test\"");
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
        }
        None => StatusCode::OK.into_response(),
    }
}

/// Two pages, the second named by an opaque token; or a next page on another host.
async fn tags(Path(name): Path<String>, Query(query): Query<HashMap<String, String>>) -> Response {
    let mut headers = HeaderMap::new();
    if name.starts_with("small") && query.contains_key("n") {
        let code = if name == "small" { "PAGINATION_NUMBER_INVALID" } else { "TOO_MANY_TAGS_REQUESTED" };
        let body = format!("{{\"errors\":[{{\"code\":\"{code}\",\"message\":\"100 at most\"}}]}}");
        return (StatusCode::BAD_REQUEST, body).into_response();
    }
    let tags = match (name.as_str(), query.get("next").map(String::as_str)) {
        ("paged", None) => {
            headers.insert(header::LINK, "</v2/paged/tags/list?next=opaque>; rel=\"next\"".parse().unwrap());
            "[\"a\",\"b\"]"
        }
        ("paged", Some("opaque")) => "[\"c\"]",
        ("small" | "smaller", _) => "[\"a\"]",
        ("astray", _) => {
            headers.insert(
                header::LINK,
                "<http://evil.example.com/v2/x/tags/list>; rel=\"next\"".parse().unwrap(),
            );
            "[\"a\"]"
        }
        // A page without tags is not the last one.
        ("gaps", None) => {
            headers.insert(header::LINK, "</v2/gaps/tags/list?next=2>; rel=\"next\"".parse().unwrap());
            "[\"a\"]"
        }
        ("gaps", Some("2")) => {
            headers.insert(header::LINK, "</v2/gaps/tags/list?next=3>; rel=\"next\"".parse().unwrap());
            "[]"
        }
        ("gaps", _) => "[\"b\"]",
        ("endless", page) => {
            let next = page.map_or(1, |page| page.parse::<u32>().unwrap() + 1);
            let link = format!("</v2/endless/tags/list?next={next}>; rel=\"next\"");
            headers.insert(header::LINK, link.parse().unwrap());
            "[\"a\"]"
        }
        // The first page leads to the second, the third back to that.
        ("circle", page) => {
            let next = page.map_or(1, |page| page.parse::<u32>().unwrap() % 3 + 1);
            let link = format!("</v2/circle/tags/list?next={next}>; rel=\"next\"");
            headers.insert(header::LINK, link.parse().unwrap());
            "[]"
        }
        ("none", _) => "null",
        _ => "{",
    };
    (headers, format!("{{\"name\":\"x\",\"tags\":{tags}}}")).into_response()
}

async fn manifest(State(behaviour): State<Behaviour>, Path((name, _)): Path<(String, String)>) -> Response {
    if behaviour.requests.fetch_add(1, Ordering::SeqCst) < behaviour.failures {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "0")]).into_response();
    }
    match name.as_str() {
        "large" => vec![b' '; 5 << 20].into_response(),
        _ => "{\"schemaVersion\":2}".into_response(),
    }
}

async fn blob(Path((name, _)): Path<(String, String)>) -> Response {
    match name.as_str() {
        "longer" => [LAYER, b"and more"].concat().into_response(),
        "other" => b"other bytes".to_vec()[..LAYER.len()].to_vec().into_response(),
        _ => LAYER.into_response(),
    }
}

fn layer() -> Descriptor {
    let digest = Digest::of(Algorithm::Sha256, LAYER);
    Descriptor { media_type: "application/octet-stream".into(), digest, size: LAYER.len() as u64 }
}

async fn read(address: &str, name: &str) -> Result<usize, Error> {
    let mut registry = open(address, name, insecure());
    let mut blob = registry.blob(&layer()).await?;
    let mut count = 0;
    while let Some(chunk) = blob.next().await? {
        count += chunk.len();
    }
    Ok(count)
}

/// SRC-SCK-5.
#[tokio::test]
async fn layers_that_are_not_what_they_should_be() {
    let (address, _tasks) = serve(Behaviour::default()).await;
    assert_eq!(read(&address, "good").await.unwrap(), LAYER.len());
    assert!(matches!(read(&address, "longer").await, Err(Error::TooLarge { .. })));
    assert!(matches!(read(&address, "other").await, Err(Error::DigestMismatch { .. })));
}

/// SRC-SCK-5.
#[tokio::test]
async fn manifests_that_are_not_what_they_should_be() {
    let (address, _tasks) = serve(Behaviour::default()).await;
    let digest = Digest::of(Algorithm::Sha256, b"something else");
    let error = open(&address, "good", insecure()).manifest(&digest).await.unwrap_err();
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
    let error = open(&address, "large", insecure()).manifest(&digest).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let digest = Digest::of(Algorithm::Sha256, b"{\"schemaVersion\":2}");
    let error = open(&address, "good", insecure()).manifest(&digest).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn pages_of_tags() {
    let (address, _tasks) = serve(Behaviour::default()).await;
    assert_eq!(open(&address, "paged", insecure()).tags(100).await.unwrap(), ["a", "b", "c"]);
    for name in ["small", "smaller"] {
        assert_eq!(open(&address, name, insecure()).tags(100).await.unwrap(), ["a"], "{name}");
    }
    assert_eq!(open(&address, "none", insecure()).tags(100).await.unwrap(), Vec::<String>::new());
    assert_eq!(open(&address, "gaps", insecure()).tags(100).await.unwrap(), ["a", "b"]);
    let error = open(&address, "astray", insecure()).tags(100).await.unwrap_err();
    assert!(matches!(error, Error::NextPage { .. }), "other hosts are not asked: {error}");
    let error = open(&address, "endless", insecure()).tags(5).await.unwrap_err();
    assert!(matches!(error, Error::TooManyTags { .. }), "{error}");
    let error = open(&address, "circle", insecure()).tags(5).await.unwrap_err();
    assert!(matches!(error, Error::Circle { .. }), "{error}");
    let error = open(&address, "broken", insecure()).tags(5).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn failures_that_pass() {
    // HEAD fails once, GET of the same tag twice.
    let behaviour = Behaviour { failures: 3, ..Behaviour::default() };
    let (address, _tasks) = serve(behaviour.clone()).await;
    open(&address, "good", insecure()).resolve("v1").await.unwrap();
    let (address, _tasks) = serve(Behaviour { failures: usize::MAX, ..Behaviour::default() }).await;
    let error = open(&address, "good", insecure()).resolve("v1").await.unwrap_err();
    assert!(error.to_string().contains("unexpected status code 503"), "{error}");
}

/// IR-13: the way in is looked for anew every few minutes, so that this is the first request of most scans.
#[tokio::test]
async fn the_first_request_is_tried_again_too() {
    let (address, _tasks) = serve(Behaviour::default()).await;
    for fault in [Fault::Away, Fault::Status(502, None), Fault::Status(503, Some(0))] {
        let proxy = FaultProxy::http(&address).await.unwrap();
        proxy.set_for("GET /v2/ ", 2, fault);
        let tags = open(&proxy.address(), "paged", insecure()).tags(100).await;
        assert_eq!(tags.unwrap(), ["a", "b", "c"], "{fault:?}");
    }
}

/// SRC-SCK-7, DEP-OCI-5.
#[tokio::test]
async fn passwords_are_not_sent_just_anywhere() {
    let behaviour = Behaviour { realm: Some("http://evil.example.com/token".into()), ..Behaviour::default() };
    let (address, _tasks) = serve(behaviour).await;
    let credentials = RegistryCredentials::Basic { username: "user".into(), password: "hunter2".into() };
    let options = RegistryOptions { credentials, ..insecure() };
    let error = open(&address, "good", options).resolve("v1").await.unwrap_err();
    assert!(matches!(error, Error::Realm { .. }), "{error}");
    assert!(!error.to_string().contains("hunter2"));
}

#[tokio::test]
async fn time_is_bounded() {
    // Takes connections and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let options = RegistryOptions { timeout: Duration::from_millis(200), ..insecure() };
    let error = open(&address, "good", options).resolve("v1").await.unwrap_err();
    // As in Flux, the questions are named that got no answer.
    let late = |scheme: &str| format!("Get \"{scheme}://{address}/v2/\": context deadline exceeded");
    assert_eq!(error.to_string(), format!("{}; {}", late("https"), late("http")));
    drop(listener);
}

/// The refusal over plain HTTP comes with the reason for which HTTPS was of no use, as in Flux.
#[tokio::test]
async fn refusals_over_plain_http_name_both_ways() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    let routes = Router::new().route("/v2/", get(async || StatusCode::FORBIDDEN));
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let error = open(&address, "good", insecure()).resolve("v1").await.unwrap_err();
    let secure = format!("Get \"https://{address}/v2/\": http: server gave HTTP response to HTTPS client");
    let plain = format!("GET http://{address}/v2/: unexpected status code 403 Forbidden");
    assert_eq!(error.to_string(), format!("{secure}; {plain}"));
}
