//! One large manifest: within the budget it is applied, beyond it the condition names the budget; memory is bounded by the flag.

use serde_json::json;
use weir_testkit::condition;

use super::{Meter, PATIENCE};
use crate::memory::{SPEC, peak};
use crate::process::inventory;
use crate::world::{World, archive, cm};

/// Memory for each byte of `--max-build-bytes`, as its help says.
const FACTOR: u64 = 10;
/// Memory of a service that does nothing.
const IDLE: u64 = 32 << 20;

/// One file of ConfigMaps of 100 kB.
fn manifest(megabytes: usize) -> (usize, String) {
    let count = megabytes * 10;
    let value = "0123456789 abcdefghij\\n".repeat(100_000 / 23);
    (count, (0..count).map(|index| format!("---\n{}", cm(&format!("m{index}"), &value))).collect())
}

async fn applied(megabytes: usize, budget: u64) {
    let (world, process) = World::process(&[&format!("--max-build-bytes={budget}")]).await;
    let mut meter = Meter::new(&world, &process);
    let (count, text) = manifest(megabytes);
    // Without this file all others would be read once more, to find out which of them are manifests.
    let files = [("kustomization.yaml", "resources: [all.yaml]\n"), ("all.yaml", &*text)];
    let first = world.source("src", 1, &files).await;
    world.kustomization("app", json!({"timeout": "30m"})).await;
    let applied = world.applied_within(PATIENCE, "app", &first).await;
    assert_eq!(inventory(&applied).len(), count);
    meter.step("install");
    let (peak, most) = (peak(process.pid()), budget * FACTOR + IDLE);
    assert!(peak < most, "{} MiB of {}", peak >> 20, most >> 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_manifest_takes_ten_times_its_budget_at_most() {
    applied(6, 8 << 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_beyond_the_budget_is_refused_with_its_flag() {
    let (world, mut process) = World::process(&["--max-build-bytes=16777216"]).await;
    let (_, text) = manifest(50);
    let archive = archive(&[("all.yaml", text.as_bytes())]);
    world.advertise("GitRepository", "src", SPEC(), "main@sha1:1", archive).await;
    world.kustomization("app", json!({})).await;
    let failed = world.not_ready("app", "BuildFailed").await;
    let message = condition(&failed, "Ready").unwrap().message;
    let expected = "kustomize build failed: it reads more than 16777216 bytes of files, which is what --max-build-bytes allows: \
        split the Kustomization, or raise the flag with the memory of the service, about ten times as much";
    assert_eq!(message, expected);
    assert!(world.config_map("m0").await.is_none());
    process.check_running().unwrap();
    assert!(peak(process.pid()) < 16777216 * FACTOR, "{} MiB", peak(process.pid()) >> 20);
}

mod long {
    use super::applied;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes minutes: make e2e-long"]
    async fn a_manifest_of_fifty_megabytes_is_applied() {
        applied(50, 64 << 20).await;
    }
}
