//! Flux's own kustomize-controller and helm-controller consume what is advertised here (A6, SRC-CNS-1, SRC-CNS-3).
//! `FLUX_KUSTOMIZE_CONTROLLER` and `FLUX_HELM_CONTROLLER` name their programs.

use std::process::Command;

use kube::Api;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::object::{kustomization, with_spec};
use weir_testkit::{
    Artifact, ControlPlane, Controller, GitServer, Registry, flux_program, wait_for, wait_not_ready,
    wait_ready,
};

use crate::chart_server::{ChartServer, chart};
use crate::world::{DEADLINE, World};

const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io/v1";
const HELM: &str = "helm.toolkit.fluxcd.io/v2";
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A world, and a consumer that looks again after a second; `None` without its program.
async fn world_with(variable: &str) -> Option<(World, Controller)> {
    let program = flux_program(variable).unwrap()?;
    let world = World::start().await;
    release_kind(&world.plane).await;
    let flags = ["--watch-all-namespaces=false", "--requeue-dependency=1s", "--http-retry=1"];
    let flags = flags.map(str::to_owned);
    let consumer =
        Controller::start(Command::new(&program), &world.plane, &world.namespace, &flags).await.unwrap();
    Some((world, consumer))
}

/// As much of the kind HelmRelease as the API server needs to keep it.
async fn release_kind(plane: &ControlPlane) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "helmreleases.helm.toolkit.fluxcd.io"},
        "spec": {
            "group": "helm.toolkit.fluxcd.io", "scope": "Namespaced",
            "names": {"kind": "HelmRelease", "listKind": "HelmReleaseList", "plural": "helmreleases", "singular": "helmrelease"},
            "versions": [{"name": "v2", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": any}}],
        },
    });
    plane.apply("", crd).await.unwrap();
    weir_testkit::eventually("HelmRelease to be served", DEADLINE, async || {
        plane.api(HELM, "HelmRelease", "default").await.ok()
    })
    .await
    .unwrap();
}

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{version: \"{value}\"}}\n")
}

/// Waits until the ConfigMap shows this version; the helm-controller adds a digest to versions from registries.
async fn shows(world: &World, name: &str, version: &str) {
    let api = world.plane.api("v1", "ConfigMap", &world.namespace).await.unwrap();
    let what = format!("version {version}");
    let wanted = |map: Option<&DynamicObject>| {
        map.and_then(|map| map.data["data"]["version"].as_str())
            .is_some_and(|shown| shown.starts_with(version))
    };
    wait_for(&api, name, &what, DEADLINE, wanted).await.unwrap();
}

/// Applies an own Kustomization of a source.
async fn consume(world: &World, kind: &str, name: &str) -> Api<DynamicObject> {
    let object =
        with_spec(kustomization(name, kind, name, "./"), json!({"targetNamespace": world.namespace}));
    world.plane.apply(&world.namespace, object).await.unwrap();
    world.plane.api(KUSTOMIZE, "Kustomization", &world.namespace).await.unwrap()
}

#[tokio::test]
async fn kustomizations_apply_what_is_advertised() {
    let Some((world, _consumer)) = world_with("FLUX_KUSTOMIZE_CONTROLLER").await else { return };
    let (git, registry) = (GitServer::start().await.unwrap(), Registry::start().await.unwrap());
    let repo = git.repo("app").unwrap();
    repo.commit("main", "first", &[("cm.yaml", &config_map("of-git", "1"))]).unwrap();
    registry.push_artifact("app", "latest", &[("cm.yaml", &config_map("of-oci", "1"))]).await.unwrap();
    // The consumer is there before its source.
    let kustomizations = consume(&world, "GitRepository", "git").await;
    wait_not_ready(&kustomizations, "git", "not found", DEADLINE).await.unwrap();
    world.git("git", &git.url("app"), json!({})).await;
    world.oci("oci", &registry.url("app"), json!({})).await;
    consume(&world, "OCIRepository", "oci").await;
    shows(&world, "of-git", "1").await;
    shows(&world, "of-oci", "1").await;

    let head = repo.commit("main", "second", &[("cm.yaml", &config_map("of-git", "2"))]).unwrap();
    world.reconciled("GitRepository", "git").await;
    shows(&world, "of-git", "2").await;
    let applied = |object: Option<&DynamicObject>| {
        object
            .is_some_and(|object| object.data["status"]["lastAppliedRevision"] == format!("main@sha1:{head}"))
    };
    wait_for(&kustomizations, "git", "the new revision", DEADLINE, applied).await.unwrap();
}

#[tokio::test]
async fn an_artifact_that_is_missing_or_changed_is_not_applied() {
    let Some((world, _consumer)) = world_with("FLUX_KUSTOMIZE_CONTROLLER").await else { return };
    let git = GitServer::start().await.unwrap();
    git.repo("app").unwrap().commit("main", "first", &[("cm.yaml", &config_map("a", "1"))]).unwrap();
    world.git("app", &git.url("app"), json!({})).await;
    let status = world.ready("GitRepository", "app").await;
    let stored = world.folder.path().join("data").join(status["artifact"]["path"].as_str().unwrap());
    let content = std::fs::read(&stored).unwrap();
    // Nobody looks at the source for an hour.
    std::fs::remove_file(&stored).unwrap();
    let kustomizations = consume(&world, "GitRepository", "app").await;
    wait_not_ready(
        &kustomizations,
        "app",
        "Source is not ready, artifact not found, retrying in 1s",
        DEADLINE,
    )
    .await
    .unwrap();

    std::fs::write(&stored, [content.as_slice(), b"more"].concat()).unwrap();
    wait_not_ready(&kustomizations, "app", "computed digest doesn't match", DEADLINE).await.unwrap();
    let maps = world.plane.api("v1", "ConfigMap", &world.namespace).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());

    std::fs::write(&stored, content).unwrap();
    weir_testkit::touch_requested_at(&kustomizations, "app").await.unwrap();
    wait_ready(&kustomizations, "app", DEADLINE).await.unwrap();
    shows(&world, "a", "1").await;
}

async fn release(world: &World, name: &str, chart: Value) {
    let mut spec = json!({"interval": "1h"});
    spec.as_object_mut().unwrap().extend(chart.as_object().unwrap().clone());
    let object = json!({"apiVersion": HELM, "kind": "HelmRelease", "metadata": {"name": name}, "spec": spec});
    world.plane.apply(&world.namespace, object).await.unwrap();
}

#[tokio::test]
async fn releases_install_what_is_advertised() {
    let Some((world, _consumer)) = world_with("FLUX_HELM_CONTROLLER").await else { return };
    let (server, registry) = (ChartServer::start().await, Registry::start().await.unwrap());
    server.publish("/charts", &["1.0.0"]);
    let layer =
        Artifact { layer_media_type: CHART_LAYER.into(), ..Artifact::of_layer(chart("app", "3.0.0", &[])) };
    registry.push_artifact_with("charts/app", "3.0.0", layer).await.unwrap();
    // The release is there before its repository, and makes its HelmChart by itself.
    let source = json!({"kind": "HelmRepository", "name": "charts"});
    release(&world, "of-index", json!({"chart": {"spec": {"chart": "app", "sourceRef": source}}})).await;
    world.apply("HelmRepository", "charts", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let more =
        json!({"ref": {"tag": "3.0.0"}, "layerSelector": {"mediaType": CHART_LAYER, "operation": "copy"}});
    world.oci("oci", &registry.url("charts/app"), more).await;
    release(&world, "of-oci", json!({"chartRef": {"kind": "OCIRepository", "name": "oci"}})).await;
    shows(&world, "of-index", "1.0.0").await;
    shows(&world, "of-oci", "3.0.0").await;
    let releases = world.plane.api(HELM, "HelmRelease", &world.namespace).await.unwrap();
    for name in ["of-index", "of-oci"] {
        wait_ready(&releases, name, DEADLINE).await.unwrap();
    }

    server.publish("/charts", &["1.0.0", "1.1.0"]);
    world.reconciled("HelmRepository", "charts").await;
    shows(&world, "of-index", "1.1.0").await;
}
