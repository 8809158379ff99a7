//! `HelmChart` from repositories, registries and trees of files.

mod trees;

use serde_json::{Value, json};
use weir_artifact::FileMap;
use weir_testkit::{Artifact, Registry, touch_requested_at};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::{ChartServer, chart};
use crate::world::{Setup, World, files};

const CHART: &str = "HelmChart";
const HELM: &str = "HelmRepository";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

fn of(kind: &str, source: &str, chart: &str, more: Value) -> Value {
    let mut spec = json!({"chart": chart, "interval": "1h", "sourceRef": {"kind": kind, "name": source}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

fn text(files: &FileMap, path: &str) -> String {
    let found = files.iter().find(|(name, _)| name.as_str() == path);
    let (_, entry) = found.unwrap_or_else(|| panic!("{path} is not in {:?}", files.keys()));
    String::from_utf8(entry.bytes.to_vec()).unwrap()
}

fn message(status: &Value) -> &str {
    status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready").unwrap()["message"]
        .as_str()
        .unwrap()
}

/// A11: SRC-CHT-5, SRC-CHT-7, SRC-CHT-8, SRC-CHT-17.
#[tokio::test]
async fn versions_of_a_repository() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0"]);
    world.apply(HELM, "repo", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let table = [
        ("any", json!({}), "2.0.0"),
        ("one", json!({"version": "1.x"}), "1.1.0"),
        ("exact", json!({"version": "1.0.0"}), "1.0.0"),
        ("pre", json!({"version": ">=1.0.0-0 <2.0.0"}), "1.2.0-rc.1"),
    ];
    for (name, more, _) in &table {
        world.apply(CHART, name, of(HELM, "repo", "app", more.clone())).await;
    }
    for (name, _, version) in &table {
        let status = world.ready(CHART, name).await;
        assert_eq!(status["artifact"]["revision"], *version, "{name}");
        assert_eq!(message(&status), format!("pulled 'app' chart with version '{version}'"));
        assert_eq!(status["observedChartName"], "app");
    }
    let status = world.ready(CHART, "one").await;
    assert!(status["artifact"]["path"].as_str().unwrap().ends_with("/one/app-1.1.0.tgz"));
    assert!(status["url"].as_str().unwrap().ends_with("/one/latest.tar.gz"));
    let stored = reqwest::get(status["artifact"]["url"].as_str().unwrap()).await.unwrap();
    let stored = weir_http::read_capped(stored, 1 << 20).await.unwrap();
    assert_eq!(stored, chart("app", "1.1.0", &[]), "unmodified");
    let asked = server.count("/charts/app-1.1.0.tgz");
    let before = world.api(HELM).await.get("repo").await.unwrap();
    server.publish("/charts", &["1.0.0", "1.1.0", "1.2.0-rc.1", "3.0.0"]);
    touch_requested_at(&world.api(HELM).await, "repo").await.unwrap();
    world.at(CHART, "any", "3.0.0").await;
    let seen = |object: &kube::core::DynamicObject| {
        object.data["status"]["observedSourceArtifactRevision"]
            != before.data["status"]["artifact"]["revision"]
    };
    world.until(CHART, "one", "seen the new index", seen).await;
    assert_eq!(server.count("/charts/app-1.1.0.tgz"), asked, "what is stored is not fetched again");
}

/// A11, SRC-SCK-1: SRC-CHT-2 to SRC-CHT-5, SRC-CHT-16, SRC-CHT-18.
#[tokio::test]
async fn what_cannot_be_built_says_why() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0"]);
    let lies = json!({"apiVersion": "v1", "entries": {
        "gone": [{"name": "gone", "version": "1.0.0", "urls": ["gone.tgz"]}],
        "other": [{"name": "other", "version": "1.0.0", "urls": ["app-1.0.0.tgz"], "digest": "0".repeat(64)}],
        "evil": [{"name": "evil", "version": "1.0.0", "urls": ["evil.tgz"]}],
        "file": [{"name": "file", "version": "1.0.0", "urls": ["file:///etc/passwd"]}],
    }});
    server.publish("/lies", &["1.0.0"]);
    server.put("/lies/index.yaml", lies.to_string());
    let evil = crate::chart_server::package(&[
        ("evil/Chart.yaml".into(), b"name: evil\nversion: 1.0.0\n"),
        ("evil/../../x".into(), b"x"),
    ]);
    server.put("/lies/evil.tgz", evil);
    for (name, path) in [("repo", "/charts"), ("lies", "/lies"), ("empty", "/none")] {
        world.apply(HELM, name, json!({"url": server.url(path), "interval": "1h"})).await;
    }
    let reference = "invalid chart reference: failed to get chart version for remote reference:";
    let pull = "chart pull error: failed to download chart for remote reference:";
    let table = [
        ("range", of(HELM, "repo", "app", json!({"version": ">3"})), "InvalidChartReference", format!("{reference} no 'app' chart with version matching '>3' found")),
        ("junk", of(HELM, "repo", "app", json!({"version": "not a range"})), "InvalidChartReference", format!("{reference} improper constraint: \"not a range\"")),
        ("nochart", of(HELM, "repo", "nope", json!({})), "InvalidChartReference", format!("{reference} no chart name found")),
        ("noname", of(HELM, "repo", "", json!({})), "InvalidChartReference", "invalid chart reference: no name set for remote chart reference".into()),
        ("path", of(HELM, "repo", "../app", json!({})), "InvalidChartReference", "invalid chart reference: invalid chart name '../app': a valid name must be".into()),
        ("gone", of(HELM, "lies", "gone", json!({})), "ChartPullError", format!("{pull} failed to fetch {} : 404 Not Found", server.url("/lies/gone.tgz"))),
        ("other", of(HELM, "lies", "other", json!({})), "ChartPullError", format!("{pull} digest of ")),
        ("evil", of(HELM, "lies", "evil", json!({})), "ChartPullError", "chart pull error: failed to load chart metadata from written chart: chart illegally references parent directory".into()),
        ("file", of(HELM, "lies", "file", json!({})), "ChartPullError", format!("{pull} Get \"file:///etc/passwd\": unsupported protocol scheme \"file\"")),
        ("values", of(HELM, "repo", "app", json!({"valuesFiles": ["no.yaml"]})), "ValuesFilesError", "values files merge error: failed to merge chart values: no values file found at path 'no.yaml'".into()),
        ("up", of(HELM, "repo", "app", json!({"valuesFiles": ["../../etc/passwd"]})), "ValuesFilesError", "values files merge error: failed to merge chart values: no values file found at path '../../etc/passwd'".into()),
        ("nosource", of(HELM, "nope", "app", json!({})), "SourceUnavailable", "failed to get source: HelmRepository.source.toolkit.fluxcd.io \"nope\" not found".into()),
        ("noindex", of(HELM, "empty", "app", json!({})), "NoSourceArtifact", "no artifact available for HelmRepository source 'empty'".into()),
    ];
    for (name, spec, ..) in &table {
        world.apply(CHART, name, spec.clone()).await;
    }
    for (name, _, reason, expected) in &table {
        // A chart may come before its repository's index.
        let expected = expected.as_str();
        let failed = |object: &kube::core::DynamicObject| {
            let ready = weir_testkit::condition(object, "Ready");
            ready.is_some_and(|ready| ready.reason == *reason && ready.message.starts_with(expected))
        };
        world.until(CHART, name, &format!("{reason}: {expected}"), failed).await;
    }
}

/// A11: SRC-CHT-15.
#[tokio::test]
async fn values_files_of_the_chart_are_merged() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0"]);
    let more = [("prod.yaml", "image: {tag: b}\nextra: true\n"), ("env/eu.yaml", "replicas: 3\n")];
    server.put("/charts/app-1.0.0.tgz", chart("app", "1.0.0", &more));
    world.apply(HELM, "repo", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let files_ = json!({"valuesFiles": ["values.yaml", "prod.yaml", "./env/eu.yaml"]});
    world.apply(CHART, "all", of(HELM, "repo", "app", files_)).await;
    let lenient = json!({"valuesFiles": ["prod.yaml", "no.yaml"], "ignoreMissingValuesFiles": true});
    world.apply(CHART, "lenient", of(HELM, "repo", "app", lenient)).await;
    world.apply(CHART, "own", of(HELM, "repo", "app", json!({"valuesFiles": ["values.yaml"]}))).await;
    let status = world.ready(CHART, "all").await;
    assert_eq!(status["artifact"]["revision"], "1.0.0+1");
    assert_eq!(
        message(&status),
        "packaged 'app' chart with version '1.0.0+1' and merged values files [values.yaml prod.yaml ./env/eu.yaml]"
    );
    let content = files(&status).await;
    assert_eq!(text(&content, "app/values.yaml"), "extra: true\nimage:\n  tag: b\nreplicas: 3\n");
    assert!(text(&content, "app/Chart.yaml").contains("version: 1.0.0+1"));
    let status = world.ready(CHART, "lenient").await;
    assert_eq!(status["observedValuesFiles"], json!(["prod.yaml"]));
    assert_eq!(world.ready(CHART, "own").await["artifact"]["revision"], "1.0.0", "as it came");
}

/// A11, SRC-SCK-7: SRC-HRP-7.
#[tokio::test]
async fn credentials_of_the_repository_are_used_for_its_charts_only() {
    let (world, server, other) =
        (World::start().await, ChartServer::start().await, ChartServer::start().await);
    server.publish("/private/charts", &["1.0.0"]);
    other.put("/app.tgz", chart("far", "1.0.0", &[]));
    let index = json!({"apiVersion": "v1", "entries": {
        "app": [{"name": "app", "version": "1.0.0", "urls": ["app-1.0.0.tgz"]}],
        "far": [{"name": "far", "version": "1.0.0", "urls": [other.url("/app.tgz")]}],
    }});
    server.put("/private/charts/index.yaml", index.to_string());
    world.secret("login", "Opaque", json!({"username": "user", "password": "pass"})).await;
    let repo =
        json!({"url": server.url("/private/charts"), "interval": "1h", "secretRef": {"name": "login"}});
    world.apply(HELM, "repo", repo).await;
    world.apply(CHART, "app", of(HELM, "repo", "app", json!({}))).await;
    world.apply(CHART, "far", of(HELM, "repo", "far", json!({}))).await;
    world.ready(CHART, "app").await;
    world.ready(CHART, "far").await;
    assert!(other.requests().iter().all(|(_, credentials)| credentials.is_none()), "{:?}", other.requests());
}

/// A13: SRC-HRP-10, SRC-CHT-6.
#[tokio::test]
async fn charts_of_a_registry() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    for version in ["1.0.0", "1.2.0+b1", "2.0.0-rc.1"] {
        let mut artifact = Artifact::of_layer(chart("app", version, &[]));
        artifact.layer_media_type = LAYER.to_owned();
        registry.push_artifact_with("charts/app", &version.replace('+', "_"), artifact).await.unwrap();
    }
    registry.push_artifact("charts/plain", "1.0.0", &[("a", "b")]).await.unwrap();
    world.apply(HELM, "repo", json!({"url": registry.url("charts"), "type": "oci", "insecure": true})).await;
    let table = [
        ("exact", json!({"version": "1.0.0"}), "1.0.0"),
        ("any", json!({}), "1.2.0+b1"),
        ("plus", json!({"version": "1.2.0+b1"}), "1.2.0+b1"),
        ("pre", json!({"version": ">=2.0.0-0"}), "2.0.0-rc.1"),
    ];
    for (name, more, _) in &table {
        world.apply(CHART, name, of(HELM, "repo", "app", more.clone())).await;
    }
    for (name, _, version) in &table {
        assert_eq!(world.ready(CHART, name).await["artifact"]["revision"], *version, "{name}");
    }
    let address = registry.address();
    let pull = "chart pull error: failed to download chart for remote reference:";
    let failures = [
        ("nochart", of(HELM, "repo", "nope", json!({"version": "1.0.0"})), format!("{pull} failed to get 'oci://{address}/charts/nope:1.0.0': failed to perform \"FetchReference\" on source: {address}/charts/nope:1.0.0: not found")),
        ("none", of(HELM, "repo", "app", json!({"version": ">3"})), "chart pull error: failed to get chart version for remote reference: could not locate a version matching provided version string >3".into()),
        ("plain", of(HELM, "repo", "plain", json!({"version": "1.0.0"})), format!("{pull} failed to get 'oci://{address}/charts/plain:1.0.0': manifest does not contain minimum number of descriptors (2), descriptors found: 1")),
    ];
    for (name, spec, expected) in &failures {
        world.apply(CHART, name, spec.clone()).await;
        let (reason, said) = world.failure(CHART, name).await;
        assert_eq!((reason.as_str(), said.starts_with(expected)), ("ChartPullError", true), "{name}: {said}");
    }
    let repository = world.api(HELM).await.get("repo").await.unwrap();
    assert!(repository.metadata.finalizers.is_none(), "static");
}

#[tokio::test]
async fn a_private_registry_wants_credentials() {
    let (world, registry) = (World::start().await, Registry::start_with_basic_auth().await.unwrap());
    let mut artifact = Artifact::of_layer(chart("app", "1.0.0", &[]));
    artifact.layer_media_type = LAYER.to_owned();
    registry.push_artifact_with("charts/app", "1.0.0", artifact).await.unwrap();
    let config = json!({".dockerconfigjson": registry.docker_config()});
    world.secret("docker", "kubernetes.io/dockerconfigjson", config).await;
    world.secret("basic", "Opaque", json!({"username": "user", "password": "pass"})).await;
    world.secret("half", "Opaque", json!({"username": "user"})).await;
    world.secret("other", "Opaque", json!({"username": "", "password": "pass"})).await;
    for name in ["docker", "basic", "none", "half", "other"] {
        let mut spec = json!({"url": registry.url("charts"), "type": "oci", "insecure": true});
        if name != "none" {
            spec["secretRef"] = json!({"name": name});
        }
        world.apply(HELM, name, spec).await;
        world.apply(CHART, name, of(HELM, name, "app", json!({}))).await;
    }
    world.ready(CHART, "docker").await;
    world.ready(CHART, "basic").await;
    let (reason, said) = world.failure(CHART, "none").await;
    assert_eq!(reason, "AuthenticationFailed", "{said}");
    let list = format!("http://{}/v2/charts/app/tags/list", registry.address());
    let refused =
        format!("could not fetch tags for \"oci://{}/charts/app\": GET \"{list}\": ", registry.address());
    assert!(said.contains(&refused) && said.contains("response status code 401: "), "{said}");
    let half = format!(
        "secret '{}/half': malformed basic auth - has 'username' but missing 'password'",
        world.namespace
    );
    let half = format!("failed to detect authentication methods: {half}");
    assert_eq!(world.failure(CHART, "half").await, ("AuthenticationFailed".to_owned(), half));
    let other = "failed to configure OCI registry authentication: invalid 'other' secret data: required fields 'username' and 'password'";
    assert_eq!(world.failure(CHART, "other").await, ("AuthenticationFailed".to_owned(), other.to_owned()));
}

/// SRC-SCK-10: what is too large, and what only becomes so when it is unpacked.
#[tokio::test]
async fn charts_have_caps() {
    let flags = ["--helm-chart-max-size=3000", "--helm-chart-file-max-size=1000"].map(str::to_owned);
    let world = World::start_as(Setup { arguments: flags.to_vec(), ..Setup::default() }).await;
    let (server, bucket, registry) =
        (ChartServer::start().await, StandIn::start(None).await, Registry::start().await.unwrap());
    server.publish("/charts", &["1.0.0", "2.0.0", "3.0.0"]);
    let noise: String =
        (0..4000_u64).map(|index| format!("{:x}", index.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    server.put("/charts/app-2.0.0.tgz", chart("app", "2.0.0", &[("noise", &noise)]));
    let bomb = chart("app", "3.0.0", &[("zeros", &"0".repeat(1 << 18))]);
    assert!(bomb.len() < 3000, "the bomb is small");
    server.put("/charts/app-3.0.0.tgz", bomb);
    world.apply(HELM, "repo", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    bucket.put("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
    bucket.put("app/big", &"x".repeat(5000));
    world.bucket("src", &bucket.endpoint(), "apps", json!({})).await;
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        let name = format!("v{}", &version[..1]);
        world.apply(CHART, &name, of(HELM, "repo", "app", json!({"version": version}))).await;
    }
    world.apply(CHART, "tree", of("Bucket", "src", "app", json!({}))).await;
    let layer = Artifact::of_layer(chart("app", "2.0.0", &[("noise", &noise)]));
    let layer = Artifact { layer_media_type: LAYER.to_owned(), ..layer };
    registry.push_artifact_with("charts/app", "2.0.0", layer).await.unwrap();
    world.apply(HELM, "oci", json!({"url": registry.url("charts"), "type": "oci", "insecure": true})).await;
    world.apply(CHART, "layer", of(HELM, "oci", "app", json!({"version": "2.0.0"}))).await;
    world.ready(CHART, "v1").await;
    for (name, part) in [
        ("v2", "chart exceeds the maximum chart file size of 3000 bytes"),
        ("v3", "is bigger than max archive size of 1000 bytes"),
        ("layer", "size of chart exceeds '3000' bytes limit"),
        ("tree", "app/big as file size (5000) exceeds limit (1000)"),
    ] {
        world.failure_of(CHART, name, part).await;
    }
}
