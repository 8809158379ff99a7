//! One Kustomization of many objects: what is asked of the API server grows with what has changed, and memory does not.

use serde_json::json;

use super::{Meter, PATIENCE};
use crate::memory::{MAX_RESIDENT, peak};
use crate::process::inventory;
use crate::world::{World, cm};

/// Requests of a run beside those for objects: its status, its record, its events, and what the service does once.
const RUN: u64 = 40;

async fn many_objects(count: usize) {
    let (world, process) = World::process(&[]).await;
    let mut meter = Meter::new(&world, &process);
    let manifests = |changed: &str| -> String {
        let value = |index: usize| if index == count / 2 { changed } else { "same" };
        (0..count).map(|index| format!("---\n{}", cm(&format!("m{index}"), value(index)))).collect()
    };
    let first = world.source("src", 1, &[("all.yaml", &manifests("one"))]).await;
    world.kustomization("app", json!({"timeout": "30m"})).await;
    let applied = world.applied_within(PATIENCE, "app", &first).await;
    assert_eq!(inventory(&applied).len(), count);
    let requests = meter.step("install");
    // Each object is tried and applied.
    assert!(requests <= 2 * count as u64 + RUN, "{requests}");

    world.requested("app").await;
    let requests = meter.step("resync");
    assert!(requests <= RUN, "{requests}");

    let second = world.source("src", 2, &[("all.yaml", &manifests("two"))]).await;
    world.applied_within(PATIENCE, "app", &second).await;
    let requests = meter.step("one change");
    assert!(requests <= RUN, "{requests}");
    let changed = world.config_map(&format!("m{}", count / 2)).await.unwrap();
    assert_eq!(changed.data["data"]["k"], "two");

    let third = world.source("src", 3, &[("all.yaml", &cm("m0", "same"))]).await;
    let applied = world.applied_within(PATIENCE, "app", &third).await;
    let requests = meter.step("prune");
    assert!(requests <= count as u64 + RUN, "{requests}");
    assert_eq!(inventory(&applied).len(), 1);
    let left = world.api("v1", "ConfigMap").await.list_metadata(&Default::default()).await.unwrap();
    let left =
        left.items.iter().filter(|map| map.metadata.name.as_ref().is_some_and(|name| name.starts_with('m')));
    assert_eq!(left.count(), 1);
    assert!(peak(process.pid()) < MAX_RESIDENT, "{} MiB", peak(process.pid()) >> 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_objects_cost_what_has_changed() {
    many_objects(500).await;
}

/// A Kustomization whose inventory takes more than half of its status, all of whose objects get other names at once.
async fn renamed(count: usize) {
    let (world, _process) = World::process(&[]).await;
    let manifests = |prefix: &str| -> String {
        (0..count).map(|index| format!("---\n{}", cm(&format!("{prefix}{index:0>250}"), "1"))).collect()
    };
    let first = world.source("src", 1, &[("all.yaml", &manifests("a"))]).await;
    world.kustomization("app", json!({"timeout": "30m"})).await;
    world.applied_within(PATIENCE, "app", &first).await;
    let second = world.source("src", 2, &[("all.yaml", &manifests("b"))]).await;
    let applied = world.applied_within(PATIENCE, "app", &second).await;
    assert_eq!(inventory(&applied).len(), count);
    let left = world.api("v1", "ConfigMap").await.list_metadata(&Default::default()).await.unwrap();
    let names = left.items.iter().filter_map(|map| map.metadata.name.as_deref());
    let long: Vec<&str> = names.filter(|name| name.len() > 250).collect();
    assert!(long.len() == count && long.iter().all(|name| name.starts_with('b')), "{}", long.len());
}

mod long {
    use super::{many_objects, renamed};

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes minutes: make e2e-long"]
    async fn all_objects_of_a_large_kustomization_are_renamed_at_once() {
        renamed(3_000).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes minutes: make e2e-long"]
    async fn ten_thousand_objects_cost_what_has_changed() {
        many_objects(10_000).await;
    }
}
