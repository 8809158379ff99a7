//! Secrets and ConfigMaps that wake the Kustomizations which name them (KS-REC-6).

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{PATIENCE, World, cm};

async fn config_map(world: &World, name: &str, labels: Value, value: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels},
        "data": {"value": value}});
    let params = PatchParams::apply("test").force();
    world.api("v1", "ConfigMap").await.patch(name, &params, &Patch::Apply(object)).await.unwrap();
}

/// KS-TST-16: also one that is optional and appears later.
#[tokio::test(flavor = "multi_thread")]
async fn a_labelled_config_wakes_its_kustomization() {
    let world = World::new().await;
    let labels = json!({"reconcile.fluxcd.io/watch": "Enabled"});
    world.source("src", 1, &[("a.yaml", &cm("a", "${value:=none}"))]).await;
    let from = json!([{"kind": "ConfigMap", "name": "vars", "optional": true}]);
    world
        .kustomization("app", json!({"postBuild": {"substituteFrom": from, "substitute": {"x": "y"}}}))
        .await;
    world.ready("app").await;
    let is = async |expected: &'static str| {
        weir_testkit::eventually("the value", PATIENCE, async || {
            world.config_map("a").await.filter(|found| found.data["data"]["k"] == expected)
        })
        .await
        .unwrap();
    };
    is("none").await;
    config_map(&world, "vars", labels.clone(), "one").await;
    is("one").await;
    config_map(&world, "vars", labels, "two").await;
    is("two").await;
    world.api("v1", "ConfigMap").await.delete("vars", &Default::default()).await.unwrap();
    is("none").await;
}
