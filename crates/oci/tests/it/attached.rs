//! Manifests that refer to a manifest: by the referrers API, in pages, and under a tag where there is no such API.

use std::collections::HashMap;

use axum::extract::{Path, Query};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::get};
use tokio::task::JoinSet;
use weir_artifact::{Algorithm, Digest};
use weir_oci::Error;
use weir_testkit::Registry;

use crate::{insecure, open};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const KIND: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MANIFEST: &str = r#"{"schemaVersion":2,"config":{"mediaType":"c","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},
    "layers":[{"mediaType":"l","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"annotations":{"a":"b"}}]}"#;

fn subject() -> Digest {
    Digest::of(Algorithm::Sha256, b"subject")
}

fn index(name: &str) -> String {
    let digest = Digest::of(Algorithm::Sha256, name.as_bytes());
    format!(r#"{{"manifests":[{{"mediaType":"m","digest":"{digest}","artifactType":"{KIND}","size":1}}]}}"#)
}

async fn serve() -> (String, JoinSet<()>) {
    let routes = Router::new()
        .route("/v2/", get(|| async { StatusCode::OK }))
        .route("/v2/{name}/referrers/{digest}", get(referrers))
        .route("/v2/{name}/manifests/{reference}", get(manifest))
        .route("/v2/{name}/blobs/{digest}", get(|| async { "{}" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (address, tasks)
}

async fn referrers(
    Path((name, _)): Path<(String, String)>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let typed = |link: &str, body: String| {
        let link = (header::LINK, link.to_owned());
        ([(header::CONTENT_TYPE, INDEX.to_owned()), link], body).into_response()
    };
    match (name.as_str(), query.contains_key("next")) {
        ("paged", false) => typed("</v2/paged/referrers/x?next=1>; rel=\"next\"", index("one")),
        ("paged", true) => typed("", index("two")),
        ("endless", _) => typed("</v2/endless/referrers/x?next=1>; rel=\"next\"", index("one")),
        ("astray", _) => typed("<http://localhost:1/x>; rel=\"next\"", index("one")),
        ("broken", _) => typed("", "{\"manifests\":[{\"digest\":\"x\"}]}".into()),
        ("page", _) => ([(header::CONTENT_TYPE, "text/html")], "<html>").into_response(),
        ("old", _) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        ("closed", _) => StatusCode::FORBIDDEN.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn manifest(Path((_, reference)): Path<(String, String)>) -> Response {
    let tag = subject().to_string().replace(':', "-");
    match reference.as_str() {
        reference if reference == tag => ([(header::CONTENT_TYPE, INDEX)], index("tagged")).into_response(),
        reference if reference.starts_with("sha256:") => MANIFEST.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[tokio::test]
async fn all_ways_to_list() {
    let (address, _tasks) = serve().await;
    for (name, expected) in [
        ("paged", vec!["one", "two"]),
        ("old", vec!["tagged"]),
        ("page", vec!["tagged"]),
        ("none", vec!["tagged"]),
    ] {
        let found = open(&address, name, insecure()).referrers(&subject()).await.unwrap();
        let digests: Vec<_> = found.iter().map(|found| found.digest.clone()).collect();
        let expected: Vec<_> =
            expected.iter().map(|name| Digest::of(Algorithm::Sha256, name.as_bytes())).collect();
        assert_eq!(digests, expected, "{name}");
        assert!(found.iter().all(|found| found.artifact_type == KIND));
    }
    let found = open(&address, "endless", insecure()).referrers(&subject()).await.unwrap();
    assert_eq!(found.len(), 10, "no more pages than the cap");
    let error = open(&address, "astray", insecure()).referrers(&subject()).await.unwrap_err();
    assert!(matches!(error, Error::NextPage { .. }), "other hosts are not asked: {error}");
    let error = open(&address, "broken", insecure()).referrers(&subject()).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    let error = open(&address, "closed", insecure()).referrers(&subject()).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "a refusal is not taken for an absence: {error}");
}

#[tokio::test]
async fn content_of_what_is_attached() {
    let (address, _tasks) = serve().await;
    let mut registry = open(&address, "app", insecure());
    let digest = Digest::of(Algorithm::Sha256, MANIFEST.as_bytes());
    let attached = registry.attachments(&digest, 2).await.unwrap();
    assert_eq!((attached[0].media_type.as_str(), attached[0].content.as_ref()), ("l", b"{}".as_slice()));
    assert_eq!(attached[0].annotations["a"], "b");
    let error = registry.attachments(&digest, 1).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let error = registry.attachments(&Digest::of(Algorithm::Sha256, b"other"), 2).await.unwrap_err();
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error}");
}

#[tokio::test]
async fn a_real_registry_with_and_without_anything_attached() {
    let registry = Registry::start().await.unwrap();
    let pushed = registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let mut handle = open(registry.address(), "app", insecure());
    let digest = Digest::parse(&pushed).unwrap();
    assert_eq!(handle.referrers(&digest).await.unwrap(), []);
    assert_eq!(handle.cosign_signatures(&digest).await.unwrap(), None);
    for content in ["one", "two"] {
        registry.attach("app", &pushed, KIND, KIND, content.as_bytes()).await.unwrap();
    }
    let found = handle.referrers(&digest).await.unwrap();
    assert_eq!(found.len(), 2);
    let attached = handle.attachments(&found[1].digest, 100).await.unwrap();
    assert_eq!(attached[0].content, "two");
}
