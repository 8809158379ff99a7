use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::world::{PATIENCE, World, cm};

const CONFIRM: &str = "kustomize.weir.dev/confirm-prune";

fn message(object: &DynamicObject) -> String {
    weir_testkit::condition(object, "Ready").unwrap().message
}

async fn annotate(world: &World, key: &str, value: &str) {
    let annotation = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
    world.kustomizations().await.patch("app", &PatchParams::default(), &annotation).await.unwrap();
}

/// An empty variable once emptied a tenant's namespace, and the Kustomization was Ready.
#[tokio::test(flavor = "multi_thread")]
async fn regression_14_object_without_a_name_fails_the_build_and_deletes_nothing() {
    let world = World::new().await;
    let named = cm("${name}", "1");
    world.source("src", 1, &[("a.yaml", &named)]).await;
    world.kustomization("app", json!({"postBuild": {"substitute": {"name": "a"}}})).await;
    world.ready("app").await;
    world.kustomization("app", json!({"postBuild": {"substitute": {"name": ""}}})).await;
    let failed = world.not_ready("app", "BuildFailed").await;
    let expected = "post build failed for 'ConfigMap.v1.[noGrp]/${name}': the substitution leaves it without metadata.name";
    assert_eq!(message(&failed), expected);
    assert!(world.config_map("a").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn prune_beyond_the_limit_waits_for_a_confirmation_that_holds_once() {
    let world = World::new().await;
    let ns = &world.ns;
    let (a, b, c) = (cm("a", "1"), cm("b", "1"), cm("c", "1"));
    let all = [("a.yaml", &*a), ("b.yaml", &b), ("c.yaml", &c)];
    world.source("src", 1, &all).await;
    world.kustomization("app", json!({})).await;
    annotate(&world, "kustomize.weir.dev/prune-limit", "1").await;
    world.ready("app").await;

    let renamed = [("c.yaml", &*c), ("d.yaml", &cm("d", "1"))];
    world.source("src", 2, &renamed).await;
    let refused = world.not_ready("app", "PruneRefused").await;
    let words = message(&refused);
    let start =
        format!("refused to prune 2 of 3 objects, the limit is 1: ConfigMap/{ns}/a, ConfigMap/{ns}/b;");
    assert!(words.starts_with(&start), "{words}");
    assert_eq!(refused.data["status"]["inventory"]["entries"].as_array().unwrap().len(), 3);
    assert!(world.config_map("a").await.is_some() && world.config_map("b").await.is_some());
    assert!(world.config_map("d").await.is_none(), "something of a refused revision is applied");

    let token = words.split_once(&format!("{CONFIRM}=")).unwrap().1.split_once(' ').unwrap().0;
    annotate(&world, CONFIRM, token).await;
    world.applied("app", "main@sha1:2").await;
    assert!(world.config_map("a").await.is_none() && world.config_map("b").await.is_none());
    assert!(world.config_map("d").await.is_some());

    let revision = world.source("src", 3, &all).await;
    world.applied("app", &revision).await;
    world.source("src", 4, &all[2..]).await;
    let refused = world.not_ready("app", "PruneRefused").await;
    assert!(!message(&refused).contains(token));
    assert!(world.config_map("a").await.is_some());
}

/// The objects with new names would make those with old ones a smaller part of all.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_refused_is_refused_again() {
    let world = World::new().await;
    let objects =
        |prefix: &str| (0..10).map(|i| cm(&format!("{prefix}{i}"), "1")).collect::<Vec<_>>().join("---\n");
    world.source("src", 1, &[("all.yaml", &objects("a"))]).await;
    world.kustomization("app", json!({})).await;
    annotate(&world, "kustomize.weir.dev/prune-limit", "50%").await;
    world.ready("app").await;
    world.source("src", 2, &[("all.yaml", &objects("b"))]).await;
    let refused = message(&world.not_ready("app", "PruneRefused").await);
    assert!(refused.starts_with("refused to prune 10 of 10 objects, the limit is 50%: "), "{refused}");
    assert_eq!(message(&world.requested("app").await), refused);
    assert!(world.config_map("a0").await.is_some() && world.config_map("b0").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_of_the_kustomization_needs_no_confirmation() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    annotate(&world, "kustomize.weir.dev/prune-limit", "0").await;
    world.ready("app").await;
    let api = world.kustomizations().await;
    api.delete("app", &kube::api::DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    assert!(world.config_map("a").await.is_none());
}

/// Objects that no status names would stay behind when the Kustomization is deleted.
#[tokio::test(flavor = "multi_thread")]
async fn an_inventory_that_is_taken_out_of_the_status_is_written_anew() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    let written = world.ready("app").await.data["status"]["inventory"].clone();
    let api = world.kustomizations().await;
    let nothing = Patch::Merge(json!({"status": {"inventory": null}}));
    let emptied = api.patch_status("app", &PatchParams::default(), &nothing).await.unwrap();
    assert!(emptied.data["status"].get("inventory").is_none());
    assert_eq!(world.requested("app").await.data["status"]["inventory"], written);
}

/// Flux forgets what an apply has made before it failed: nothing ever deletes it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_first_apply_has_made_is_pruned() {
    let world = World::new().await;
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {}}}\nrules: []\n",
        world.ns
    );
    let broken = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n";
    world.source("src", 1, &[("role.yaml", &role), ("web.yaml", broken)]).await;
    world.kustomization("app", json!({})).await;
    let failed = world.not_ready("app", "ReconciliationFailed").await;
    let id = format!("_{}_rbac.authorization.k8s.io_ClusterRole", world.ns);
    assert_eq!(failed.data["status"]["inventory"]["entries"], json!([{"id": id, "v": "v1"}]));
    let revision = world.source("src", 2, &[("a.yaml", &cm("a", "1"))]).await;
    world.applied("app", &revision).await;
    let roles = world.api("rbac.authorization.k8s.io/v1", "ClusterRole").await;
    assert!(roles.get_opt(&world.ns).await.unwrap().is_none());
}
