//! Objects that are deleted and made anew: what the old one holds, and a run that is called off meanwhile.

use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_ssa::{Manifest, Settings};

use crate::world::{Recorded, World, lines};

fn service(world: &World, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": world.ns},
        "spec": {"type": "LoadBalancer", "loadBalancerClass": class, "ports": [{"port": 80, "nodePort": 31443}]}})
}

fn class(world: &World, value: &str) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": world.ns},
        "globalDefault": true, "value": value.len()})
}

fn job(world: &World, image: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": world.ns},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image}]}}}})
}

/// The API server looks at ports and defaults before it looks at the name (KS-SSA-52).
#[rstest]
#[case::node_port(service)]
#[case::global_default(class)]
#[tokio::test(flavor = "multi_thread")]
async fn an_object_takes_over_what_only_the_old_one_may_have(#[case] make: fn(&World, &str) -> Value) {
    let world = World::new().await;
    replaced(&world, make).await;
}

/// Quotas come before the name, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_takes_the_place_of_the_old_one_in_a_quota() {
    let world = World::new().await;
    let quotas = world.api("v1", "ResourceQuota").await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "jobs"},
        "spec": {"hard": {"count/jobs.batch": "1"}}});
    world.plane.apply(&world.ns, quota).await.unwrap();
    // No controller of quotas runs here: the test plays its part. The API server counts what is made itself.
    let counted = async move |used: &str| {
        let status =
            json!({"status": {"hard": {"count/jobs.batch": "1"}, "used": {"count/jobs.batch": used}}});
        quotas.patch_status("jobs", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    };
    counted("0").await;
    world.before_delete(async move { counted("0").await });
    replaced(&world, job).await;
}

/// Applies an object, and another one in its place.
async fn replaced(world: &World, make: fn(&World, &str) -> Value) {
    world.apply(&[make(world, "example.com/a")]).await.unwrap();
    let refused = world.apply(&[make(world, "example.com/bb")]).await.unwrap_err().to_string();
    assert!(refused.contains("dry-run failed (Invalid)"), "{refused}");
    let settings = Settings { force: true, ..world.settings() };
    let changes = world.apply_with(&[make(world, "example.com/bb")], &settings).await.unwrap();
    assert_eq!(lines(&changes), format!("{} created", changes.0[0].id.subject()));
    world.session.prune(&world.owner(), &changes.inventory()).await;
}

/// Nothing else might make it anew: the newer run may have nothing to apply.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_deleted_is_made_anew_though_the_run_is_called_off() {
    let world = World::new().await;
    world.apply(&[world.deployment("web", "one")]).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    let before = api.get("web").await.unwrap().metadata.uid;
    let cancel = CancellationToken::new();
    let newer = cancel.clone();
    world.before_delete(async move { newer.cancel() });
    let settings = Settings { force: true, ..world.settings() };
    let manifests = vec![Manifest::try_from(world.deployment("web", "two")).unwrap()];
    let changes = world.session.apply(manifests, &settings, &cancel, &Recorded::default()).await.unwrap();
    assert_eq!(lines(&changes), format!("Deployment/{}/web created", world.ns));
    assert_ne!(api.get("web").await.unwrap().metadata.uid, before);
}
