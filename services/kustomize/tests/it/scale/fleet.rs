//! Many Kustomizations in a Pod as small as those of small clusters.

use std::path::Path;

use futures::{StreamExt, stream};
use kube::api::{DynamicObject, ListParams};
use serde_json::json;
use weir_testkit::{MemoryLimit, condition, eventually};

use super::{Meter, PATIENCE};
use crate::memory::MAX_RESIDENT;
use crate::world::{PROGRAM, World, cm};

/// Kustomizations that are made at once.
const AT_ONCE: usize = 16;

/// The kernel ends the process where it takes more memory than the limit.
async fn many_kustomizations(count: usize) {
    let mebibytes = usize::try_from(MAX_RESIDENT >> 20).unwrap();
    let Some(limit) = MemoryLimit::new_or_skipped(mebibytes).unwrap() else { return };
    let world = World::idle().await;
    let mut command = limit.command(Path::new(PROGRAM));
    // As the Deployment has it (docs/adr/0004).
    command.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TRIM_THRESHOLD_", "131072");
    let mut process = world.launch(command, &["--concurrent=4"]);
    let mut meter = Meter::new(&world, &process);
    let files = |value: &str| cm("${name}", value);
    let first = world.source("src", 1, &[("a.yaml", &files("1"))]).await;
    let unit = |index: usize| {
        let name = format!("unit-{index}");
        let fields = json!({"postBuild": {"substitute": {"name": name}}});
        let world = &world;
        async move { drop(world.kustomization(&name, fields).await) }
    };
    stream::iter((0..count).map(unit)).buffer_unordered(AT_ONCE).collect::<()>().await;
    all_applied(&world, count, &first).await;
    meter.step("install");

    let second = world.source("src", 2, &[("a.yaml", &files("2"))]).await;
    all_applied(&world, count, &second).await;
    let requests = meter.step("upgrade");
    assert!(requests <= 12 * count as u64, "{requests}");
    let values = world.api("v1", "ConfigMap").await.list(&ListParams::default()).await.unwrap();
    let upgraded = values.items.iter().filter(|map| map.data["data"]["k"] == "2").count();
    assert_eq!(upgraded, count);
    process.check_running().unwrap();
}

/// Waits until all Kustomizations are Ready with a revision.
async fn all_applied(world: &World, count: usize, revision: &str) {
    let api = world.kustomizations().await;
    let is_applied = |found: &&DynamicObject| {
        found.data["status"]["lastAppliedRevision"] == revision
            && condition(found, "Ready").is_some_and(|ready| ready.status == "True")
    };
    let all = async || {
        let found = api.list(&ListParams::default()).await.ok()?;
        (found.items.iter().filter(is_applied).count() == count).then_some(())
    };
    eventually("all Kustomizations to be ready", PATIENCE, all).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_kustomizations_fit_into_a_small_pod() {
    many_kustomizations(100).await;
}

mod long {
    use super::many_kustomizations;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes minutes: make e2e-long"]
    async fn two_thousand_kustomizations_fit_into_a_small_pod() {
        many_kustomizations(2000).await;
    }
}
