use serde_json::json;

use crate::world::{World, cm};

#[tokio::test(flavor = "multi_thread")]
async fn dependents_wait_say_why_and_start_when_they_can() {
    let world = World::new().await;
    let ns = &world.ns;
    let broken = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nhoge: {replicas: 1}\n";
    world
        .source(
            "src",
            1,
            &[("front/a.yaml", &cm("front", "1")), ("back/a.yaml", &cm("back", "1")), ("bad/a.yaml", broken)],
        )
        .await;
    world.kustomization("front", json!({"path": "./front", "dependsOn": [{"name": "back"}]})).await;
    let front = world.not_ready("front", "DependencyNotReady").await;
    let message = weir_testkit::condition(&front, "Ready").unwrap().message;
    let missing = "kustomizations.kustomize.toolkit.fluxcd.io \"back\" not found";
    assert_eq!(message, format!("dependency '{ns}/back' not found: {missing}"));
    world.kustomization("back", json!({"path": "./bad"})).await;
    let back = world.not_ready("back", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&back, "Ready").unwrap().message;
    assert!(message.starts_with(&format!(
        "Deployment/{ns}/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: [spec.selector"
    )));
    world.requested("front").await;
    world.kustomization("back", json!({"path": "./back"})).await;
    world.ready("back").await;
    world.ready("front").await;
    assert!(world.config_map("front").await.is_some());
}

/// A service that watches one namespace reads the others from the API server.
#[tokio::test(flavor = "multi_thread")]
async fn a_dependency_in_a_namespace_that_is_not_watched_counts() {
    let (world, _process) = World::process(&[]).await;
    let other = world.plane().unique_namespace("other").await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"dependsOn": [{"name": "base", "namespace": other}]})).await;
    let app = world.not_ready("app", "DependencyNotReady").await;
    let message = weir_testkit::condition(&app, "Ready").unwrap().message;
    let missing = "kustomizations.kustomize.toolkit.fluxcd.io \"base\" not found";
    assert_eq!(message, format!("dependency '{other}/base' not found: {missing}"));
    let base = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "base"},
        "spec": {"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "none"}, "suspend": true}});
    let ready = json!({"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True",
        "reason": "ReconciliationSucceeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let api = world.plane().api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", &other).await.unwrap();
    let params = kube::api::PatchParams::apply("test").force();
    api.patch("base", &params, &kube::api::Patch::Apply(base)).await.unwrap();
    let params = kube::api::PatchParams::default();
    api.patch_status("base", &params, &kube::api::Patch::Merge(ready)).await.unwrap();
    world.ready("app").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn circle_of_dependencies_is_named() {
    let world = World::new().await;
    let ns = &world.ns;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("one", json!({"dependsOn": [{"name": "two"}]})).await;
    world.kustomization("two", json!({"dependsOn": [{"name": "one"}]})).await;
    world.not_ready("two", "DependencyNotReady").await;
    world.requested("one").await;
    let one = world.not_ready("one", "DependencyNotReady").await;
    let message = weir_testkit::condition(&one, "Ready").unwrap().message;
    let circle = format!("circular dependency detected: {ns}/one -> {ns}/two -> {ns}/one");
    assert_eq!(message, format!("dependency '{ns}/two' is not ready: {circle}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn security_ready_expr_sees_no_values_of_another_namespace() {
    let world = World::with_flags(&["--no-cross-namespace-refs"]).await;
    let other = world.plane().unique_namespace("victim").await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let near = json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "src"},
        "targetNamespace": world.ns, "suspend": true, "postBuild": {"substitute": {"pin": "271828"}}});
    for namespace in [&world.ns, &other] {
        let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "victim"}, "spec": near});
        let api =
            world.plane().api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", namespace).await.unwrap();
        let params = kube::api::PatchParams::apply("test").force();
        api.patch("victim", &params, &kube::api::Patch::Apply(object)).await.unwrap();
    }
    let asks = |namespace: &str, expression: &str| json!({"dependsOn": [{"name": "victim", "namespace": namespace, "readyExpr": expression}]});
    let guess = "dep.spec.postBuild.substitute.pin == '271828'";
    world.kustomization("near", asks(&world.ns, guess)).await;
    world.ready("near").await;
    world.kustomization("public", asks(&other, "dep.metadata.name == 'victim'")).await;
    world.ready("public").await;
    world.kustomization("thief", asks(&other, guess)).await;
    let refused = world.not_ready("thief", "DependencyNotReady").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.ends_with("no such key: spec"), "{message}");
}
