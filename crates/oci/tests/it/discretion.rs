//! Secrets that errors must not repeat (SRC-SCK-11): signatures of places that a registry sends us to, and the
//! credentials that it got.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use rstest::rstest;
use weir_artifact::{Algorithm, Digest};
use weir_auth::RegistryCredentials;
use weir_http::{Profile, Proxy};
use weir_oci::{Descriptor, Error, RegistryOptions};
use weir_testkit::{EchoServer, Fault, FaultProxy, Server, SinkAnswer, WebhookSink};

use crate::{insecure, open};

const LAYER: &[u8] = b"some layer";
/// Parts of presigned URLs that hold their secret: the query, and with some servers the path.
const PLACE: &str = "/planted-path/layer?X-Amz-Signature=planted-signature";

/// A registry that sends everyone who asks for content to `store`.
async fn redirecting(store: String) -> WebhookSink {
    let registry = WebhookSink::start().await.unwrap();
    registry.answer_with(move |request| match request.path.as_str() {
        "/v2/" => {
            let headers =
                HeaderMap::from_iter([(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))]);
            SinkAnswer { status: StatusCode::UNAUTHORIZED, headers, ..SinkAnswer::default() }
        }
        _ => {
            let place = HeaderValue::from_str(&format!("http://{store}{PLACE}")).unwrap();
            let headers = HeaderMap::from_iter([(header::LOCATION, place)]);
            SinkAnswer { status: StatusCode::TEMPORARY_REDIRECT, headers, ..SinkAnswer::default() }
        }
    });
    registry
}

fn address(sink: &WebhookSink) -> String {
    sink.url("").replace("http://", "")
}

async fn read(address: &str, size: u64) -> Result<(), Error> {
    let mut registry = open(address, "app", insecure());
    let digest = Digest::of(Algorithm::Sha256, LAYER);
    let layer = Descriptor { media_type: "application/octet-stream".into(), digest, size };
    let mut blob = registry.blob(&layer).await?;
    while blob.next().await?.is_some() {}
    Ok(())
}

#[rstest]
#[case::cut(Fault::CutAfter(4), LAYER.len(), "unexpected EOF")]
#[case::corrupt(Fault::CorruptAt(4), LAYER.len(), "has digest")]
#[case::too_large(Fault::None, 4, "is larger than 4 bytes")]
#[case::refused(Fault::Status(403, None), LAYER.len(), "403")]
#[case::away(Fault::Away, LAYER.len(), "Get \"")]
#[tokio::test]
async fn layers_from_presigned_places(#[case] fault: Fault, #[case] size: usize, #[case] words: &str) {
    let store = WebhookSink::start().await.unwrap();
    store.answer_with(|_| SinkAnswer { body: LAYER.into(), ..SinkAnswer::default() });
    let way = FaultProxy::http(&address(&store)).await.unwrap();
    way.set(fault);
    let registry = redirecting(way.address()).await;
    let error = read(&address(&registry), size as u64).await.unwrap_err().to_string();
    assert!(error.contains(words) && error.contains("/v2/app/blobs/sha256:"), "{error}");
    assert!(!error.contains("planted"), "{error}");
    assert!(!way.requests().is_empty());
}

#[tokio::test]
async fn manifests_and_lists_from_presigned_places() {
    let store = WebhookSink::start().await.unwrap();
    // A secret that it got, where a list should be.
    store.answer_with(|_| SinkAnswer {
        body: b"[\"planted-token\"".as_slice().into(),
        ..SinkAnswer::default()
    });
    let registry = redirecting(address(&store)).await;
    let credentials = RegistryCredentials::Bearer("planted-token".into());
    let mut registry = open(&address(&registry), "app", RegistryOptions { credentials, ..insecure() });
    let error = registry.manifest(&Digest::of(Algorithm::Sha256, LAYER)).await.unwrap_err();
    assert!(
        matches!(error, Error::DigestMismatch { .. }) && !error.to_string().contains("planted"),
        "{error}"
    );
    let error = registry.tags(10).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }) && !error.to_string().contains("planted"), "{error}");
}

/// SRC-SCK-7: the server that a list was taken from does not get the credentials of the registry that named it.
#[tokio::test]
async fn lists_that_go_on_where_a_redirect_has_led() {
    let store = WebhookSink::start().await.unwrap();
    let own = store.url("/v2/app/tags/list?n=2&token=planted");
    store.answer_with(move |_| {
        let next = HeaderValue::from_str(&format!("<{own}>; rel=\"next\"")).unwrap();
        let headers = HeaderMap::from_iter([(header::LINK, next)]);
        SinkAnswer { headers, body: b"{\"tags\":[\"a\"]}".as_slice().into(), ..SinkAnswer::default() }
    });
    let registry = redirecting(address(&store)).await;
    let credentials = RegistryCredentials::Bearer("planted-token".into());
    let options = RegistryOptions { credentials, ..insecure() };
    let error = open(&address(&registry), "app", options).tags(10).await.unwrap_err();
    assert!(matches!(error, Error::NextPage { .. }) && !error.to_string().contains("planted"), "{error}");
    let told = store.requests();
    assert!(told.len() == 1 && told[0].header("authorization").is_empty(), "{told:?}");
}

#[rstest]
#[case::password(RegistryCredentials::Basic { username: "user".into(), password: "planted \"pass\"".into() })]
#[case::user_is_token(RegistryCredentials::Basic { username: "planted-user".into(), password: "".into() })]
#[case::token(RegistryCredentials::Bearer("planted-token".into()))]
#[case::refresh_token(RegistryCredentials::IdentityToken("planted+refresh".into()))]
#[tokio::test]
async fn servers_that_repeat_what_they_are_told(#[case] credentials: RegistryCredentials) {
    let echoes = [EchoServer::start().await.unwrap(), EchoServer::start_with_tokens().await.unwrap()];
    for echo in echoes {
        let options = RegistryOptions { credentials: credentials.clone(), ..insecure() };
        let error = open(&echo.address(), "app", options).resolve("v1").await.unwrap_err().to_string();
        assert!(error.contains("you sent"), "{error}");
        assert!(!error.contains("planted") && !error.contains("cGxhbnRlZ"), "{error}");
    }
}

/// A registry behind a proxy that answers itself, as one does that wants to be logged in to.
#[tokio::test]
async fn proxies_that_repeat_what_they_are_told() {
    let proxy = EchoServer::start().await.unwrap();
    let address = format!("http://{}", proxy.address()).parse().unwrap();
    let credentials = Some(("user".to_owned(), "planted-proxy".into()));
    let http = Profile { proxy: Some(Proxy { address, credentials }), ..Profile::default() };
    let options = RegistryOptions { http, ..insecure() };
    let error = open("registry.invalid:5000", "app", options).resolve("v1").await.unwrap_err().to_string();
    let told = proxy.requests();
    assert!(told.iter().any(|request| !request.header("proxy-authorization").is_empty()), "{told:?}");
    assert!(error.contains("you sent") && !error.contains("planted"), "{error}");
    assert!(!error.contains(told.last().unwrap().header("proxy-authorization")), "{error}");
}

/// SRC-OCI-15: the server's wait counts, and not the shorter one of our own.
#[rstest]
#[case::first_page("GET /v2/ ")]
#[case::token("/token")]
#[case::content("/manifests/")]
#[tokio::test]
async fn waits_that_are_asked_for(#[case] part: &str) {
    let (upstream, way) = tokens().await;
    way.set_for(part, 1, Fault::Status(503, Some(1)));
    let begin = Instant::now();
    let credentials = RegistryCredentials::Basic { username: "user".into(), password: "hunter2".into() };
    let options = RegistryOptions { credentials, ..insecure() };
    open(&way.address(), "app", options).read("v1").await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
    drop(upstream);
}

/// A registry with a token server, both behind a proxy.
async fn tokens() -> (Server, FaultProxy) {
    use axum::{Json, Router, routing::get};
    let realm = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let known = realm.clone();
    let ping = async move || {
        let challenge = format!("Bearer realm=\"http://{}/token\"", known.get().unwrap());
        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)])
    };
    let routes = Router::new()
        .route("/v2/", get(ping))
        .route("/token", get(async || Json(std::collections::BTreeMap::from([("token", "t")]))))
        .route("/v2/app/manifests/v1", get(async || "{\"schemaVersion\":2}"));
    let server = Server::start(routes, None).await.unwrap();
    let way = FaultProxy::http(&server.address().to_string()).await.unwrap();
    realm.set(way.address()).unwrap();
    (server, way)
}
