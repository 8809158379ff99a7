use weir_testkit::{Error, Registry};

#[tokio::test]
async fn pushed_artifacts_are_listed_and_keep_their_digest() {
    let registry = Registry::start().await.unwrap();
    let first = registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let again = registry.push_artifact("app", "v2", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let other = registry.push_artifact("app", "v3", &[("a.yaml", "a: 2\n")]).await.unwrap();
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(registry.tags("app").await.unwrap(), ["v1", "v2", "v3"]);

    registry.delete("app", &other).await.unwrap();
    assert_eq!(registry.tags("app").await.unwrap(), ["v1", "v2"]);
    assert!(registry.tags("nothing").await.unwrap().is_empty());
}

#[tokio::test]
async fn pushed_artifacts_have_the_shape_of_flux() {
    let registry = Registry::start().await.unwrap();
    let digest = registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let url = format!("http://{}/v2/app/manifests/v1", registry.address());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let accept = "application/vnd.oci.image.manifest.v1+json";
    let response = client.get(url).header("accept", accept).send().await.unwrap();
    assert_eq!(response.headers()["docker-content-digest"], digest.as_str());
    let manifest: serde_json::Value = response.json().await.unwrap();
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.cncf.flux.config.v1+json");
    assert_eq!(manifest["layers"][0]["mediaType"], "application/vnd.cncf.flux.content.v1.tar+gzip");
    assert!(manifest["annotations"]["org.opencontainers.image.revision"].is_string());
}

#[tokio::test]
async fn a_registry_with_a_password_refuses_strangers() {
    let registry = Registry::start_with_basic_auth().await.unwrap();
    registry.push_image("app", "1.0.0").await.unwrap();
    assert_eq!(registry.tags("app").await.unwrap(), ["1.0.0"]);

    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("http://{}/v2/app/tags/list", registry.address())).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(registry.docker_config().contains(registry.address()));
}

#[tokio::test]
async fn a_refused_push_tells_the_status() {
    let registry = Registry::start().await.unwrap();
    let manifest = serde_json::json!({"schemaVersion": 2});
    let error = registry.push_manifest("app", "bad", &manifest).await.unwrap_err();
    assert!(matches!(error, Error::Status { status: 400, .. }), "{error}");
}
