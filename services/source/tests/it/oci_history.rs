//! Credentials of an `OCIRepository`, charts as artifacts, and the time that each request may take.

use std::time::{Duration, Instant};

use serde_json::json;
use weir_testkit::{Artifact, Fault, FaultProxy, Registry};

use crate::chart_server::{ChartServer, chart};
use crate::world::{World, files};

const OCI: &str = "OCIRepository";
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A12: pull Secrets of a ServiceAccount, and a chart as an artifact, whose version has a `+` that tags cannot have.
#[tokio::test]
async fn pull_secrets_of_an_account_and_charts_as_artifacts() {
    let (world, registry) = (World::start().await, Registry::start_with_basic_auth().await.unwrap());
    let artifact =
        Artifact { layer_media_type: CHART_LAYER.into(), ..Artifact::of_layer(chart("app", "1.0.0+b", &[])) };
    let digest = registry.push_artifact_with("app", "1.0.0_b", artifact).await.unwrap();
    let pull = json!({".dockerconfigjson": registry.docker_config()});
    world.secret("pull", "kubernetes.io/dockerconfigjson", pull).await;
    for (name, secrets) in [("puller", json!([{"name": "pull"}])), ("none", json!([]))] {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, "imagePullSecrets": secrets,
        });
        world.plane.apply(&world.namespace, account).await.unwrap();
    }
    let as_account = |name: &str, operation: &str| {
        json!({
            "serviceAccountName": name, "ref": {"semver": "1.x"},
            "layerSelector": {"mediaType": CHART_LAYER, "operation": operation},
        })
    };
    world.oci("extract", &registry.url("app"), as_account("puller", "extract")).await;
    world.oci("copy", &registry.url("app"), as_account("puller", "copy")).await;
    world.oci("none", &registry.url("app"), as_account("none", "extract")).await;
    world.oci("absent", &registry.url("app"), as_account("absent", "extract")).await;
    for name in ["extract", "copy"] {
        let status = world.ready(OCI, name).await;
        assert_eq!(status["artifact"]["revision"], format!("1.0.0_b@{digest}"));
        let paths: Vec<String> = files(&status).await.keys().map(ToString::to_string).collect();
        assert!(paths.contains(&"app/Chart.yaml".to_owned()), "{name}: {paths:?}");
    }
    let (reason, message) = world.failure(OCI, "none").await;
    assert_eq!(reason, "ReadOperationFailed");
    assert!(message.contains("UNAUTHORIZED: authentication required"), "{message}");
    let absent = format!("failed to get credential: serviceaccount '{}/absent' not found", world.namespace);
    assert_eq!(world.failure(OCI, "absent").await, ("AuthenticationFailed".to_owned(), absent));
}

/// DEV 4: the object's time is over for each phase, not only for logging in; so it is for charts.
#[tokio::test]
async fn no_phase_takes_longer_than_it_may() {
    let world = World::start().await;
    let registry = Registry::start().await.unwrap();
    registry.push_artifact("app", "1.0.0", &[("a.yaml", "a")]).await.unwrap();
    let charts = ChartServer::start().await;
    charts.publish("/charts", &["1.0.0"]);
    let silent = async |upstream: &str, part: &str| {
        let proxy = FaultProxy::http(upstream).await.unwrap();
        proxy.set_for(part, usize::MAX, Fault::Silent);
        proxy
    };
    let mut proxies = Vec::new();
    let start = Instant::now();
    for (name, part) in [("tags", "/tags/list"), ("manifest", "/manifests/"), ("layer", "/blobs/")] {
        let proxy = silent(registry.address(), part).await;
        let url = proxy.url(&registry.url("app"));
        world.oci(name, &url, json!({"timeout": "1s", "ref": {"semver": "*"}})).await;
        proxies.push(proxy);
    }
    let upstream = charts.url("").trim_start_matches("http://").to_owned();
    let proxy = silent(&upstream, ".tgz").await;
    let spec = json!({"url": proxy.url(&charts.url("/charts")), "interval": "1h", "timeout": "1s"});
    world.apply("HelmRepository", "repo", spec).await;
    let source = json!({"kind": "HelmRepository", "name": "repo"});
    let spec = json!({"interval": "1h", "chart": "app", "version": "1.0.0", "sourceRef": source});
    world.apply("HelmChart", "chart", spec).await;
    for (kind, name) in [(OCI, "tags"), (OCI, "manifest"), (OCI, "layer"), ("HelmChart", "chart")] {
        world.failure_of(kind, name, "context deadline exceeded").await;
    }
    // Each took a second: the default is a minute, and without any bound a socket waits for longer.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
