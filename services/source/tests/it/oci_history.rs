//! What an `OCIRepository` says of itself through its life, word by word (SRC-REC-7…12, SRC-EVT-1…3), where its credentials
//! come from, and that nothing takes longer than it may.

use std::collections::BTreeSet;
use std::time::Instant;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use serde_json::json;
use weir_testkit::{Artifact, Fault, FaultProxy, Registry, eventually};

use crate::chart_server::{ChartServer, chart};
use crate::world::{DEADLINE, World, files};

const OCI: &str = "OCIRepository";
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// The conditions of an object, a line each.
async fn conditions(world: &World, name: &str) -> Vec<String> {
    let object = world.api(OCI).await.get(name).await.unwrap();
    let conditions = object.data["status"]["conditions"].as_array().unwrap().clone();
    let text = |condition: &serde_json::Value, key: &str| condition[key].as_str().unwrap().to_owned();
    let line = |condition| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|key| text(condition, key));
        format!("{kind} {status} {reason}: {message}")
    };
    conditions.iter().map(line).collect()
}

/// Waits for exactly these events beside those that were seen before.
async fn events(world: &World, seen: &mut BTreeSet<String>, expected: &[String]) {
    let api: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let all = async || -> BTreeSet<String> {
        let list = api.list(&Default::default()).await.unwrap();
        let line = |event: Event| {
            let [kind, reason, message] =
                [event.type_, event.reason, event.message].map(Option::unwrap_or_default);
            format!("{kind} {reason}: {message}")
        };
        list.items.into_iter().map(line).collect()
    };
    let wanted: BTreeSet<String> = expected.iter().cloned().collect();
    let come = eventually("the events", DEADLINE, async || {
        (all().await.difference(seen).cloned().collect::<BTreeSet<_>>() == wanted).then_some(())
    });
    if come.await.is_err() {
        let new: Vec<String> = all().await.difference(seen).cloned().collect();
        panic!("expected {expected:#?}, got {new:#?}");
    }
    seen.extend(wanted);
}

/// A8: success, a new revision, an authentication failure, recovery.
#[tokio::test]
async fn a_life() {
    let (world, registry) = (World::start().await, Registry::start_with_basic_auth().await.unwrap());
    let (url, address, mut seen) = (registry.url("app"), registry.address(), BTreeSet::new());
    let right = json!({".dockerconfigjson": registry.docker_config()});
    let wrong = json!({"auths": {address: {"username": "user", "password": "hunter2"}}}).to_string();
    let credentials = async |config: &serde_json::Value| {
        world.secret("pull", "kubernetes.io/dockerconfigjson", config.clone()).await;
    };
    let stored = |digest: &str| {
        let message = format!("Succeeded: stored artifact for digest 'latest@{digest}'");
        vec![format!("Ready True {message}"), format!("ArtifactInStorage True {message}")]
    };
    let new = |digest: &str| {
        format!(
            "Normal NewArtifact: stored artifact with revision 'latest@{digest}' from '{url}', origin source \
             'https://example.com/repo', origin revision 'main@sha1:1111111111111111111111111111111111111111'"
        )
    };

    let first = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    credentials(&right).await;
    world.oci("app", &url, json!({"secretRef": {"name": "pull"}})).await;
    world.ready(OCI, "app").await;
    assert_eq!(conditions(&world, "app").await, stored(&first));
    events(&world, &mut seen, &[new(&first)]).await;

    let second = registry.push_artifact("app", "latest", &[("a.yaml", "a: 2\n")]).await.unwrap();
    world.reconciled(OCI, "app").await;
    assert_eq!(conditions(&world, "app").await, stored(&second));
    events(&world, &mut seen, &[new(&second)]).await;

    credentials(&json!({".dockerconfigjson": wrong})).await;
    world.reconciled(OCI, "app").await;
    let refused = format!(
        "OCIArtifactPullFailed: failed to determine artifact digest: GET http://{address}/v2/app/manifests/latest: \
         UNAUTHORIZED: authentication required; [map[Action:pull Class: Name:app Type:repository]]"
    );
    let [_, in_storage] = stored(&second).try_into().unwrap();
    let failed = vec![
        "Reconciling True ProgressingWithRetry: reconciliation in progress".to_owned(),
        format!("Ready False {refused}"),
        in_storage,
        format!("FetchFailed True {refused}"),
    ];
    assert_eq!(conditions(&world, "app").await, failed);
    events(&world, &mut seen, &[format!("Warning {refused}")]).await;

    credentials(&right).await;
    world.reconciled(OCI, "app").await;
    assert_eq!(conditions(&world, "app").await, stored(&second));
    let unchanged =
        format!("Normal ArtifactUpToDate: artifact up-to-date with remote revision: 'latest@{second}'");
    let recovered = new(&second).replace("NewArtifact", "Succeeded");
    events(&world, &mut seen, &[unchanged, recovered]).await;
}

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
    // Each took a second; without bounds of ours a socket waits for minutes.
    assert!(start.elapsed() < DEADLINE);
}
