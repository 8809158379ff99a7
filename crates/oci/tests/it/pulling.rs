//! The way of an artifact: tags, digest, manifest, layer.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use weir_artifact::{Algorithm, Digest, Limits, Untar};
use weir_auth::RegistryCredentials;
use weir_oci::{Profile, RegistryOptions};
use weir_testkit::{Identity, Registry, SinkAnswer, TlsFront, WebhookSink};

use crate::{insecure, open};

#[tokio::test]
async fn tag_to_files() {
    let registry = Registry::start().await.unwrap();
    let pushed = registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let mut handle = open(registry.address(), "app", insecure());
    let digest = handle.resolve("v1").await.unwrap();
    assert_eq!(digest.to_string(), pushed);
    let manifest = handle.manifest(&digest).await.unwrap();
    assert!(
        manifest.annotations.contains_key("org.opencontainers.image.revision"),
        "{:?}",
        manifest.annotations
    );
    let mut blob = handle.blob(&manifest.layers[0]).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = blob.next().await.unwrap() {
        bytes.extend_from_slice(&chunk);
    }
    let files = Untar::new(Limits::default()).to_map(bytes.as_slice()).unwrap();
    assert_eq!(files.values().next().unwrap().bytes, "a: 1\n");
}

/// SRC-OCI-5: what follows is about the manifest that was read, wherever the tag points by then.
#[tokio::test]
async fn a_manifest_that_was_read_by_its_tag_is_not_asked_for_again() {
    let registry = Registry::start().await.unwrap();
    let pushed = registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let mut handle = open(registry.address(), "app", insecure());
    let digest = handle.read("v1").await.unwrap();
    assert_eq!(digest.to_string(), pushed);
    registry.push_artifact("app", "v1", &[("a.yaml", "a: 2\n")]).await.unwrap();
    drop(registry);
    assert_eq!(handle.manifest(&digest).await.unwrap().digest, digest);
    // Kept for one question only.
    handle.manifest(&digest).await.unwrap_err();
}

#[tokio::test]
async fn all_tags() {
    let registry = Registry::start().await.unwrap();
    for tag in ["1.0.0", "1.1.0", "latest"] {
        registry.push_artifact("app", tag, &[("a.yaml", tag)]).await.unwrap();
    }
    let mut handle = open(registry.address(), "app", insecure());
    let mut tags = handle.tags(100).await.unwrap();
    tags.sort();
    assert_eq!(tags, ["1.0.0", "1.1.0", "latest"]);
    assert!(handle.tags(2).await.is_err());
}

#[tokio::test]
async fn what_is_not_there() {
    let registry = Registry::start().await.unwrap();
    registry.push_artifact("app", "v1", &[("a.yaml", "a")]).await.unwrap();
    let host = registry.address();
    let error = open(host, "app", insecure()).resolve("v9").await.unwrap_err();
    assert!(error.is_not_found());
    let words = error.to_string();
    let expected = format!("GET http://{host}/v2/app/manifests/v9: MANIFEST_UNKNOWN: manifest unknown; ");
    assert!(words.starts_with(&expected), "{words}");
    let error = open(host, "nothing", insecure()).tags(10).await.unwrap_err();
    let expected = format!("GET http://{host}/v2/nothing/tags/list?n=1000: NAME_UNKNOWN: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
    for tag in ["../../x", "..", "v1?x", ""] {
        let error = open(host, "app", insecure()).resolve(tag).await.unwrap_err().to_string();
        assert!(error.starts_with("tag can only contain the characters `abc"), "{error}");
    }
    let absent = Digest::of(Algorithm::Sha256, b"absent");
    assert!(open(host, "app", insecure()).manifest(&absent).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn credentials() {
    let registry = Registry::start_with_basic_auth().await.unwrap();
    registry.push_artifact("app", "v1", &[("a.yaml", "a")]).await.unwrap();
    let options = |credentials| RegistryOptions { credentials, ..insecure() };
    let basic =
        |password: &str| RegistryCredentials::Basic { username: "user".into(), password: password.into() };
    open(registry.address(), "app", options(basic("pass"))).resolve("v1").await.unwrap();
    for wrong in [basic("no"), RegistryCredentials::Anonymous] {
        let error = open(registry.address(), "app", options(wrong)).resolve("v1").await.unwrap_err();
        assert!(error.to_string().contains("UNAUTHORIZED: authentication required"), "{error}");
    }
}

/// SRC-SCK-8: what allows plain HTTP does not allow any certificate.
#[tokio::test]
async fn certificates_are_checked_of_insecure_registries_too() {
    let registry = Registry::start().await.unwrap();
    registry.push_artifact("app", "v1", &[("a.yaml", "a")]).await.unwrap();
    let identity = Identity::for_names(&[]).unwrap();
    let tls = TlsFront::start(&identity, registry.address().parse().unwrap()).await.unwrap();
    let host = format!("localhost:{}", tls.address().port());
    let error = open(&host, "app", insecure()).resolve("v1").await.unwrap_err();
    assert!(error.to_string().contains("certificate signed by unknown authority"), "{error}");
    let http = Profile { accept_invalid_certificates: true, ..Profile::default() };
    open(&host, "app", RegistryOptions { http, ..insecure() }).resolve("v1").await.unwrap();
}

#[tokio::test]
async fn nobody_listens() {
    let error = open("127.0.0.1:1", "a/b", insecure()).resolve("v1").await.unwrap_err();
    let expected = "Get \"https://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused; Get \
                    \"http://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert_eq!(error.to_string(), expected);
}

/// IR-14: a token is asked for that may read this repository and nothing else.
#[tokio::test]
async fn a_token_for_pulls_of_one_repository() {
    let registry = WebhookSink::start().await.unwrap();
    let realm = registry.url("/token");
    registry.answer_with(move |request| match request.path.as_str() {
        "/token" => SinkAnswer { body: r#"{"token":"t"}"#.into(), ..SinkAnswer::default() },
        "/v2/" => {
            let challenge = format!("Bearer realm=\"{realm}\",service=\"s\",scope=\"registry:catalog:*\"");
            let challenge = HeaderValue::from_str(&challenge).unwrap();
            let headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, challenge)]);
            SinkAnswer { status: StatusCode::UNAUTHORIZED, headers, ..SinkAnswer::default() }
        }
        _ => SinkAnswer { body: r#"{"tags":["1"]}"#.into(), ..SinkAnswer::default() },
    });
    let address = registry.url("").replace("http://", "");
    assert_eq!(open(&address, "org/app", insecure()).tags(10).await.unwrap(), ["1"]);
    let requests = registry.requests();
    let asked: Vec<&str> =
        requests.iter().filter(|request| request.path == "/token").map(|request| &*request.query).collect();
    assert_eq!(asked.len(), 1);
    let parameters: Vec<_> = url::form_urlencoded::parse(asked[0].as_bytes()).into_owned().collect();
    let scopes: Vec<&str> =
        parameters.iter().filter(|(name, _)| name == "scope").map(|(_, value)| value.as_str()).collect();
    assert_eq!(scopes, ["repository:org/app:pull"]);
}
