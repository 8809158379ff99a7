//! Others that change what a Kustomization applies.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::world::{PATIENCE, World, cm, deployment};

/// KS-SSA-70 to KS-SSA-73
#[tokio::test(flavor = "multi_thread")]
async fn fields_of_spec_ignore_are_left_to_others() {
    let world = World::new().await;
    world.source("src", 1, &[("web.yaml", &deployment("web", 2))]).await;
    let target = json!({"kind": "Deploy.*", "labelSelector": "kustomize.toolkit.fluxcd.io/name=app"});
    world.kustomization("app", json!({"ignore": [{"paths": ["/spec/replicas"], "target": target}]})).await;
    world.ready("app").await;
    let api = world.api("apps/v1", "Deployment").await;
    api.patch("web", &PatchParams::apply("scaler"), &Patch::Merge(json!({"spec": {"replicas": 5}})))
        .await
        .unwrap();
    world.requested("app").await;
    let changed = deployment("web", 2).replace("example.com/c:1", "example.com/c:2");
    let revision = world.source("src", 2, &[("web.yaml", &changed)]).await;
    world.applied("app", &revision).await;
    let live = api.get("web").await.unwrap();
    assert_eq!(live.data["spec"]["replicas"], 5);
    assert_eq!(live.data["spec"]["template"]["spec"]["containers"][0]["image"], "example.com/c:2");
    world.kustomization("app", json!({"ignore": [{"paths": ["/x"], "target": {"kind": "("}}]})).await;
    let failed = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(message.starts_with("failed to create ignore rule selector: invalid kind regex: "), "{message}");
    assert!(message.ends_with("missing closing ): `^(?:()$`\n"), "{message}");
}

/// KS-TEN-6
#[tokio::test(flavor = "multi_thread")]
async fn taking_an_object_from_another_kustomization_is_told() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("first", json!({"suspend": false})).await;
    world.ready("first").await;
    world.kustomization("first", json!({"suspend": true})).await;
    world.requested("first").await;
    world.kustomization("second", json!({})).await;
    let event = world.event("second", "OwnerChanged").await;
    let ns = &world.ns;
    assert!(event.ends_with(&format!("ConfigMap/{ns}/a of Kustomization/{ns}/first")), "{event}");
}

/// KS-TEN-6. Events that are told again become the newest ones.
#[tokio::test(flavor = "multi_thread")]
async fn kustomizations_that_take_an_object_from_each_other_again_and_again_tell_it_once() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    for (name, other) in [("first", "second"), ("second", "first"), ("first", "second"), ("second", "first")]
    {
        world.kustomization(other, json!({"suspend": true})).await;
        world.requested(other).await;
        world.kustomization(name, json!({"suspend": false})).await;
        world.requested(name).await;
        let taken = world.config_map("a").await.unwrap();
        assert_eq!(taken.labels()["kustomize.toolkit.fluxcd.io/name"], name);
    }
    world.source("src", 2, &[("a.yaml", &cm("a", "1")), ("b.yaml", &cm("b", "1"))]).await;
    world.event("second", "/b created").await;
    let events = world.events("second").await;
    let place = |words: &str| events.iter().position(|event| event.contains(words));
    let told = place("OwnerChanged");
    assert!(told.is_some() && told < place("/a configured"), "{events:?}");
}

/// Another controller that keeps writing is answered more and more slowly, and named.
#[tokio::test(flavor = "multi_thread")]
async fn fight_about_a_field_is_told_with_the_other_manager() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let api = world.api("v1", "ConfigMap").await;
    let fight = async || {
        let live = api.get("a").await.unwrap();
        if live.data["data"]["k"] == "1" {
            let edit = Patch::Merge(json!({"data": {"k": "rival"}}));
            api.patch("a", &PatchParams::apply("rival"), &edit).await.unwrap();
        }
        world.events("app").await.into_iter().find(|event| event.starts_with("DriftContested"))
    };
    let event = weir_testkit::eventually("the warning", PATIENCE, fight).await.unwrap();
    assert!(event.ends_with(&format!("ConfigMap/{}/a: /data/k by rival", world.ns)), "{event}");
}
