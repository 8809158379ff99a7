//! Artifacts that unpack to far more than they are: they take disk, and no memory that others need.

use serde_json::json;
use weir_testkit::{condition, eventually};

use crate::world::{PATIENCE, World, archive, cm};

/// The memory that the process may ever hold: the Pods of small clusters have this limit.
pub(crate) const MAX_RESIDENT: u64 = 256 << 20;

/// Bytes of zeros in one archive; five of them are twice what the process may hold.
const ZEROS: usize = 100 << 20;

/// Bytes of random data in one archive: more than any consumer of artifacts takes that has a cap of its own.
const NOISE: usize = 520 << 20;

pub(crate) const SPEC: fn() -> serde_json::Value =
    || json!({"interval": "1h", "url": "https://example.com/x"});

/// The most memory that a process ever held.
pub(crate) fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_of_zeros_do_not_keep_others_from_their_memory() {
    let (world, mut process) = World::process(&["--max-build-bytes=16777216"]).await;
    let zeros = vec![0; ZEROS];
    // Nobody reads them: the build names its files.
    let beside = archive(&[("zeros.bin", &zeros), ("a.yaml", cm("beside", "1").as_bytes())]);
    // A folder without a kustomization file is read whole.
    let read = archive(&[("zeros.yaml", &zeros), ("a.yaml", cm("never", "1").as_bytes())]);
    // Files that each may be read, and together may not.
    let many = vec![b'#'; 3 << 20];
    let names: Vec<String> = (0..8).map(|number| format!("{number}.yaml")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), many.as_slice())).collect();
    let archives = [&beside, &read, &beside, &read, &archive(&files)];
    for (number, bytes) in archives.into_iter().enumerate() {
        world
            .advertise("GitRepository", &format!("src-{number}"), SPEC(), "main@sha1:1", bytes.clone())
            .await;
    }
    world.source("src", 1, &[("a.yaml", &cm("small", "1"))]).await;
    for number in 0..archives.len() {
        let source = json!({"kind": "GitRepository", "name": format!("src-{number}")});
        world.kustomization(&format!("app-{number}"), json!({"sourceRef": source})).await;
    }
    world.kustomization("small", json!({})).await;
    world.ready("small").await;
    for name in ["app-0", "app-2"] {
        world.ready(name).await;
    }
    let failed =
        [world.not_ready("app-1", "BuildFailed").await, world.not_ready("app-3", "BuildFailed").await];
    process.check_running().unwrap();
    let peak = peak(process.pid());
    assert!(peak < MAX_RESIDENT, "{} MiB", peak >> 20);
    for failed in failed.into_iter().chain([world.not_ready("app-4", "BuildFailed").await]) {
        let message = &condition(&failed, "Ready").unwrap().message;
        assert!(message.contains("reads more than 16777216 bytes of files"), "{message}");
    }
    assert!(world.config_map("never").await.is_none());
}

/// STO 14.6: only the disk bounds an artifact, and only what a build reads counts.
#[tokio::test(flavor = "multi_thread")]
async fn artifacts_may_be_larger_than_what_others_download() {
    let (world, process) = World::process(&[]).await;
    // Repeated beyond the reach of gzip, which finds nothing to save.
    let mut mebibyte = vec![0; 1 << 20];
    rand::fill(mebibyte.as_mut_slice());
    let noise = mebibyte.repeat(NOISE >> 20);
    let large = archive(&[("noise.bin", &noise), ("a.yaml", cm("beside", "1").as_bytes())]);
    drop(noise);
    assert!(large.len() > weir_artifact::Limits::default().download as usize);
    world.advertise("GitRepository", "src", SPEC(), "main@sha1:1", large).await;
    world.kustomization("app", json!({})).await;
    world.applied("app", "main@sha1:1").await;
    assert!(world.config_map("beside").await.is_some());
    let peak = peak(process.pid());
    assert!(peak < MAX_RESIDENT, "{} MiB", peak >> 20);
}

/// KS-DEC-29
#[tokio::test(flavor = "multi_thread")]
async fn memory_is_kept_out_of_core_dumps() {
    let (_world, process) = World::process(&[]).await;
    let path = format!("/proc/{}/limits", process.pid());
    let is_lowered = async || {
        let limits = std::fs::read_to_string(&path).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
        line.split_whitespace().eq(["1", "1", "bytes"]).then_some(())
    };
    eventually("a limit of one byte", PATIENCE, is_lowered).await.unwrap();
}
