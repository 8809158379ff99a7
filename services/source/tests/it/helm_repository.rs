//! `HelmRepository`: from a server's index to the artifact, and what stops it.

use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::{eventually, touch_requested_at, wait_for};

use crate::chart_server::ChartServer;
use crate::world::{DEADLINE, Setup, World};

const HELM: &str = "HelmRepository";

async fn index(status: &Value) -> Value {
    let url = status["artifact"]["url"].as_str().unwrap();
    let response = reqwest::get(url).await.unwrap().error_for_status().unwrap();
    serde_json::from_slice(&weir_http::read_capped(response, 1 << 20).await.unwrap()).unwrap()
}

/// A11: SRC-HRP-2, SRC-HRP-4 to SRC-HRP-6.
#[tokio::test]
async fn an_index_is_stored_sorted_and_follows_the_server() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0", "1.10.0", "1.9.0"]);
    world.apply(HELM, "app", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let status = world.ready(HELM, "app").await;
    let revision = status["artifact"]["revision"].as_str().unwrap();
    let file = format!("index-{}.yaml", revision.strip_prefix("sha256:").unwrap());
    assert!(status["artifact"]["path"].as_str().unwrap().ends_with(&format!("/app/{file}")), "{status}");
    assert!(status["url"].as_str().unwrap().ends_with("/app/index.yaml"));
    let stored = index(&status).await;
    let versions: Vec<&str> =
        stored["entries"]["app"].as_array().unwrap().iter().map(|v| v["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["1.10.0", "1.9.0", "1.0.0"]);
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert_eq!(message, format!("stored artifact: revision '{revision}'"));
    server.publish("/charts", &["2.0.0"]);
    touch_requested_at(&world.api(HELM).await, "app").await.unwrap();
    let before = revision.to_owned();
    let status = world
        .until(HELM, "app", "another revision", |object| {
            object.data["status"]["artifact"]["revision"] != before.as_str()
        })
        .await;
    assert_eq!(index(&status).await["entries"]["app"][0]["version"], "2.0.0");
}

/// An index of many megabytes is not sent at each interval, and one that is asked for is.
#[tokio::test]
async fn an_index_that_is_the_same_is_sent_again_only_to_who_asks() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0"]);
    world.apply(HELM, "app", json!({"url": server.url("/charts"), "interval": "1s"})).await;
    let first = world.ready(HELM, "app").await;
    let is_spared = async || (server.unchanged() > 1).then_some(());
    eventually("the server to send nothing", DEADLINE, is_spared).await.unwrap();
    let sent = || server.count("/charts/index.yaml") - server.unchanged();
    assert_eq!(sent(), 1);
    touch_requested_at(&world.api(HELM).await, "app").await.unwrap();
    eventually("the index to be sent", DEADLINE, async || (sent() == 2).then_some(())).await.unwrap();
    assert_eq!(world.ready(HELM, "app").await["artifact"], first["artifact"]);

    server.publish("/charts", &["2.0.0"]);
    let is_new = |object: &DynamicObject| {
        object.data["status"]["artifact"]["revision"] != first["artifact"]["revision"]
    };
    let status = world.until(HELM, "app", "another revision", is_new).await;
    assert_eq!(index(&status).await["entries"]["app"][0]["version"], "2.0.0");
}

/// A11: SRC-HRP-1, SRC-HRP-3, SRC-HRP-5, SRC-HRP-7.
#[tokio::test]
async fn what_cannot_be_fetched_says_why() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    for (path, text) in [
        ("/void", ""),
        ("/noapi", "entries: {}\n"),
        ("/dup", "apiVersion: v1\nentries: {}\nentries: {}\n"),
        ("/bad", "entries: [\n"),
    ] {
        server.put(&format!("{path}/index.yaml"), text);
    }
    server.publish("/private", &["1.0.0"]);
    world.secret("half", "Opaque", json!({"username": "user"})).await;
    world.secret("noca", "Opaque", json!({"ca.crt": "no certificate"})).await;
    world.secret("wrong", "Opaque", json!({"username": "user", "password": "hunter2"})).await;
    let namespace = &world.namespace;
    let loaded = "failed to load Helm repository from index YAML: failed to load index:";
    let fetched = "failed to fetch Helm repository index: failed to cache index to temporary file:";
    let refused =
        format!("{fetched} failed to fetch {} : 401 Unauthorized", server.url("/private/index.yaml"));
    let table: Vec<(&str, Value, &str, String)> = vec![
        (
            "void",
            json!({"url": server.url("/void")}),
            "IndexationFailed",
            format!("{loaded} empty index.yaml file"),
        ),
        (
            "noapi",
            json!({"url": server.url("/noapi")}),
            "IndexationFailed",
            format!("{loaded} no API version specified"),
        ),
        (
            "dup",
            json!({"url": server.url("/dup")}),
            "IndexationFailed",
            format!(
                "{loaded} error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: key \"entries\" already set in map"
            ),
        ),
        (
            "bad",
            json!({"url": server.url("/bad")}),
            "IndexationFailed",
            format!("{loaded} error converting YAML to JSON: yaml: "),
        ),
        (
            "gone",
            json!({"url": server.url("/gone")}),
            "Failed",
            format!("{fetched} failed to fetch {} : 404 Not Found", server.url("/gone/index.yaml")),
        ),
        (
            "oci",
            json!({"url": "oci://127.0.0.1:1/charts"}),
            "URLInvalid",
            "invalid Helm repository URL: 'oci' URL scheme cannot be used with 'default' HelmRepository type"
                .into(),
        ),
        ("none", json!({"url": server.url("/private")}), "Failed", refused.clone()),
        ("wrong", json!({"url": server.url("/private"), "secretRef": {"name": "wrong"}}), "Failed", refused),
        (
            "half",
            json!({"url": server.url("/private"), "secretRef": {"name": "half"}}),
            "AuthenticationFailed",
            format!(
                "failed to detect authentication methods: secret '{namespace}/half': malformed basic auth - has 'username' but missing 'password'"
            ),
        ),
        (
            "noca",
            json!({"url": server.url("/private"), "secretRef": {"name": "noca"}}),
            "AuthenticationFailed",
            "failed to detect authentication methods: failed to parse CA certificate".into(),
        ),
        (
            "nocacert",
            json!({"url": server.url("/private"), "certSecretRef": {"name": "noca"}}),
            "AuthenticationFailed",
            "failed to construct Helm client's TLS config: failed to parse CA certificate".into(),
        ),
        (
            "nosecret",
            json!({"url": server.url("/private"), "secretRef": {"name": "no"}}),
            "AuthenticationFailed",
            format!("failed to get authentication secret '{namespace}/no': secrets \"no\" not found"),
        ),
        (
            "nocert",
            json!({"url": server.url("/private"), "certSecretRef": {"name": "no"}}),
            "AuthenticationFailed",
            format!("failed to get TLS authentication secret '{namespace}/no': secrets \"no\" not found"),
        ),
        (
            "plaincert",
            json!({"url": server.url("/private"), "certSecretRef": {"name": "half"}}),
            "AuthenticationFailed",
            format!(
                "failed to construct Helm client's TLS config: secret '{namespace}/half' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"
            ),
        ),
    ];
    for (name, spec, ..) in &table {
        world.apply(HELM, name, spec.clone()).await;
    }
    for (name, _, reason, message) in &table {
        let (found, said) = world.failure(HELM, name).await;
        assert_eq!((found.as_str(), said.starts_with(message.as_str())), (*reason, true), "{name}: {said}");
    }
    let log = std::fs::read_to_string(world.folder.path().join("log")).unwrap();
    assert!(!log.contains("hunter2"));
}

/// SRC-SCK-10, deviation 20.
#[tokio::test]
async fn an_index_beyond_its_cap_is_refused_while_it_comes() {
    let server = ChartServer::start().await;
    let setup = Setup { arguments: vec!["--helm-index-max-size=1000".into()], ..Setup::default() };
    let world = World::start_as(setup).await;
    server.put("/charts/index.yaml", vec![b'#'; 4000]);
    world.apply(HELM, "app", json!({"url": server.url("/charts")})).await;
    let (reason, message) = world.failure(HELM, "app").await;
    assert_eq!(reason, "Failed");
    assert!(message.ends_with("index exceeds the maximum index file size of 1000 bytes"), "{message}");
}

/// A13: SRC-HRP-10, SRC-HRP-11.
#[tokio::test]
async fn the_type_oci_is_static_and_cleaned_of_another_life() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    let api = world.api(HELM).await;
    let is_clean = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            let status = object.data.get("status").and_then(Value::as_object);
            object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
                && status.is_none_or(serde_json::Map::is_empty)
        })
    };
    // Without the API server's default, which means that nobody has looked at it yet.
    world
        .apply(HELM, "new", json!({"url": "oci://127.0.0.1:1/charts", "interval": "1h", "type": "oci"}))
        .await;
    wait_for(&api, "new", "no status from the start", DEADLINE, is_clean).await.unwrap();
    server.publish("/charts", &["1.0.0"]);
    world.apply(HELM, "app", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let status = world.ready(HELM, "app").await;
    let url = status["artifact"]["url"].as_str().unwrap().to_owned();
    world
        .apply(HELM, "app", json!({"url": "oci://127.0.0.1:1/charts", "interval": "1h", "type": "oci"}))
        .await;
    wait_for(&api, "app", "no finalizer and no status", DEADLINE, is_clean).await.unwrap();
    let gone = eventually("the file to be gone", DEADLINE, || async {
        (reqwest::get(&url).await.unwrap().status() == 404).then_some(())
    });
    gone.await.unwrap();
    world
        .apply(HELM, "app", json!({"url": server.url("/charts"), "interval": "1h", "type": "default"}))
        .await;
    world.ready(HELM, "app").await;
}

/// As with Go's client, the URL may hold the credentials; no message shows them (SRC-SCK-11).
#[tokio::test]
async fn the_url_may_hold_the_credentials() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/private/charts", &["1.0.0"]);
    let url = server.url("/private/charts").replace("://", "://user:pass@");
    world.apply(HELM, "app", json!({"url": url, "interval": "1h"})).await;
    world.ready(HELM, "app").await;
    let source = json!({"kind": HELM, "name": "app"});
    world.apply("HelmChart", "app", json!({"chart": "app", "interval": "1h", "sourceRef": source})).await;
    let status = world.ready("HelmChart", "app").await;
    assert!(!status.to_string().contains("user:pass"), "{status}");
    assert_eq!(server.count("/private/charts/app-1.0.0.tgz"), 1);
}
