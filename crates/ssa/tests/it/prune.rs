use std::sync::atomic::{AtomicUsize, Ordering};

use kube::api::{Patch, PatchParams};
use serde_json::json;
use weir_ssa::stale;

use crate::world::{World, lines};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_wanted_goes_in_reverse_order() {
    let world = World::new().await;
    let ns = &world.ns;
    // No controller writes Services: what one writes after the watch has vouched for it is read again before its deletion.
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": ns},
        "spec": {"ports": [{"port": 80}]}});
    let old = world.apply(&[world.cm("a", "1"), world.cm("b", "1"), service]).await.unwrap();
    world.proved(&old).await;
    let new = world.apply(&[world.cm("a", "1")]).await.unwrap();
    world.requests();
    let gone = stale(&old.inventory(), &new.inventory());
    let pruned = world.session.prune(&world.owner(), &gone).await;
    assert_eq!(lines(&pruned.changes), format!("Service/{ns}/web deleted\nConfigMap/{ns}/b deleted"));
    assert_eq!(world.requests(), 2, "an object that was seen is deleted without being read");
    assert!(world.config_map("a").await.is_some() && world.config_map("b").await.is_none());
    let again = world.session.prune(&world.owner(), &gone).await;
    assert_eq!(lines(&again.changes), lines(&pruned.changes));
}

#[tokio::test(flavor = "multi_thread")]
async fn four_objects_that_do_not_need_each_other_go_at_once() {
    static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let world = World::new().await;
    let objects: Vec<_> = (0..6).map(|number| world.cm(&number.to_string(), "1")).collect();
    let applied = world.apply(&objects).await.unwrap();
    let counting = world.session.clone().stepping(|step| match step {
        "before-delete" => {
            MOST.fetch_max(IN_FLIGHT.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        }
        "after-delete" => drop(IN_FLIGHT.fetch_sub(1, Ordering::SeqCst)),
        _ => {}
    });
    let pruned = counting.prune(&world.owner(), &applied.inventory()).await;
    assert!(pruned.failure().is_none() && pruned.unsettled(&applied.inventory()).is_empty());
    assert_eq!(MOST.load(Ordering::SeqCst), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_another_owner_and_marked_ones_stay() {
    let world = World::new().await;
    let ns = &world.ns;
    let mut kept = world.cm("kept", "1");
    kept["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/prune": "Disabled"});
    let changes = world.apply(&[kept, world.cm("stolen", "1"), world.cm("gone", "1")]).await.unwrap();
    let api = world.api("v1", "ConfigMap").await;
    let steal = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "thief"}}});
    api.patch("stolen", &PatchParams::apply("hand"), &Patch::Merge(steal)).await.unwrap();
    let preview = async || world.session.preview_prune(&world.owner(), &changes.inventory()).await;
    let foreseen =
        format!("ConfigMap/{ns}/gone deleted\nConfigMap/{ns}/kept skipped\nConfigMap/{ns}/stolen skipped");
    assert_eq!(lines(&preview().await.changes), foreseen);
    assert!(world.config_map("gone").await.is_some(), "a preview deletes nothing");
    let pruned = world.session.prune(&world.owner(), &changes.inventory()).await;
    let expected =
        format!("ConfigMap/{ns}/stolen skipped\nConfigMap/{ns}/kept skipped\nConfigMap/{ns}/gone deleted");
    assert_eq!(lines(&pruned.changes), expected);
    assert!(pruned.unsettled(&changes.inventory()).is_empty());
    assert_eq!(lines(&preview().await.changes), foreseen.replace("gone deleted", "gone unchanged"));
}

/// KS-TST-4: objects that people have taken out of Weir's hands stay when their manifests are renamed.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_are_marked_in_the_cluster_outlive_their_manifests() {
    let world = World::new().await;
    let ns = &world.ns;
    let old = world.apply(&[world.cm("ignored", "1"), world.cm("paused", "1")]).await.unwrap();
    world.proved(&old).await;
    let api = world.api("v1", "ConfigMap").await;
    for (name, key, value) in [("ignored", "ssa", "Ignore"), ("paused", "reconcile", "disabled")] {
        let mark =
            json!({"metadata": {"annotations": {format!("kustomize.toolkit.fluxcd.io/{key}"): value}}});
        api.patch(name, &PatchParams::apply("hand"), &Patch::Merge(mark)).await.unwrap();
    }
    let new = world.apply(&[world.cm("renamed", "1")]).await.unwrap();
    let gone = stale(&old.inventory(), &new.inventory());
    let pruned = world.session.prune(&world.owner(), &gone).await;
    assert_eq!(
        lines(&pruned.changes),
        format!("ConfigMap/{ns}/paused skipped\nConfigMap/{ns}/ignored skipped")
    );
    assert!(pruned.unsettled(&gone).is_empty(), "they are no longer in the inventory");
    assert!(world.config_map("ignored").await.is_some() && world.config_map("paused").await.is_some());
}

/// KS-TST-6. A namespace that a build gives to an object of the cluster makes no other object of it.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_are_made_once_are_deleted_with_their_manifests() {
    let world = World::new().await;
    let ns = &world.ns;
    let mark = json!({"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"});
    let mut once = world.cm("once", "1");
    once["metadata"]["annotations"] = mark.clone();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": ns, "namespace": ns, "annotations": mark}, "rules": []});
    let made = world.apply(&[once.clone(), role.clone()]).await.unwrap();
    let again = world.apply(&[once, role]).await.unwrap();
    assert_eq!(lines(&again), format!("ClusterRole/{ns} skipped\nConfigMap/{ns}/once skipped"));
    assert!(stale(&made.inventory(), &again.inventory()).is_empty());
    let pruned = world.session.prune(&world.owner(), &again.inventory()).await;
    assert_eq!(lines(&pruned.changes), format!("ConfigMap/{ns}/once deleted\nClusterRole/{ns} deleted"));
    assert!(world.config_map("once").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn security_object_that_changes_hands_before_its_deletion_stays() {
    let world = World::new().await;
    let ns = &world.ns;
    let steal = Patch::Merge(json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "thief"}}}));
    for is_known in [true, false] {
        let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
        world.proved(&changes).await;
        if !is_known {
            world.ledger.forget(&world.owner());
        }
        let (api, patch) = (world.api("v1", "ConfigMap").await, steal.clone());
        world.before_delete(async move {
            api.patch("a", &PatchParams::apply("hand"), &patch).await.unwrap();
        });
        let pruned = world.session.prune(&world.owner(), &changes.inventory()).await;
        assert_eq!(lines(&pruned.changes), format!("ConfigMap/{ns}/a skipped"), "known: {is_known}");
        assert!(world.config_map("a").await.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_only_changes_before_its_deletion_goes() {
    let world = World::new().await;
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    world.ledger.forget(&world.owner());
    let api = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"other": "1"}}));
    world.before_delete(async move {
        api.patch("a", &PatchParams::apply("hand"), &edit).await.unwrap();
    });
    let pruned = world.session.prune(&world.owner(), &changes.inventory()).await;
    assert_eq!(lines(&pruned.changes), format!("ConfigMap/{}/a deleted", world.ns));
    assert!(world.config_map("a").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_deletes_only_what_it_may() {
    let world = World::new().await;
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    let own = world.plane.client().unwrap();
    let client = weir_ssa::impersonate(own.clone(), &world.ns, "nobody");
    let mapper = std::sync::Arc::new(weir_ssa::Mapper::new(own));
    let session = weir_ssa::Session::unwatched(client, mapper);
    let pruned = session.prune(&world.owner(), &changes.inventory()).await;
    let failure = pruned.failure().unwrap();
    let who = format!("User \"system:serviceaccount:{}:nobody\" cannot get resource", world.ns);
    assert!(failure.starts_with("delete failed, errors: ConfigMap/") && failure.contains(&who), "{failure}");
    assert_eq!(pruned.unsettled(&changes.inventory()), changes.inventory());
}
