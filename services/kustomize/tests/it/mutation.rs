//! Admission webhooks that change what is applied: nobody fights them.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::{Process, eventually};

use crate::webhook::{self, MUTATING, guarded};
use crate::world::{PATIENCE, PROGRAM, World};

/// The changes that a webhook makes.
#[derive(Clone, Copy)]
enum Change {
    /// Fields that no manifest has.
    Adds,
    /// A field that the manifest sets.
    Overrides,
    /// Another value each time.
    Stamps,
}

impl Change {
    fn response(self, calls: &AtomicU32) -> Value {
        let add = |path: &str, value: String| json!({"op": "add", "path": path, "value": value});
        let patch = match self {
            Self::Adds => json!([
                add("/data/injected", "yes".to_owned()),
                add("/metadata/labels/injected", "yes".to_owned())
            ]),
            Self::Overrides => json!([add("/data/k", "theirs".to_owned())]),
            Self::Stamps => json!([add("/data/stamp", calls.fetch_add(1, Ordering::Relaxed).to_string())]),
        };
        json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())})
    }
}

/// Every run after the first looks at the object in another way: one that trusts the watches, one that corrects a foreign write,
/// and one of a process that knows nothing yet. `once_more` is how often the last may write: only an object that is another one at
/// each look cannot be known to be as it should be.
#[rstest]
#[case::adds(Change::Adds, json!({"k": "1", "own": "1", "injected": "yes"}), 0)]
#[case::overrides(Change::Overrides, json!({"k": "theirs", "own": "1"}), 0)]
#[case::stamps(Change::Stamps, json!({"k": "1", "own": "1"}), 1)]
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_changes_objects_is_not_fought(
    #[case] change: Change,
    #[case] expected: Value,
    #[case] once_more: usize,
) {
    let (world, mut process) = World::process(&[]).await;
    let calls = Arc::new(AtomicU32::new(0));
    let answer = move |_| std::future::ready(change.response(&calls));
    let _server = webhook::install(&world, MUTATING, &["CREATE", "UPDATE"], answer).await;
    let manifest = guarded("1") + "  own: \"1\"\n";
    called(&world, &manifest).await;
    world.source("src", 1, &[("guarded.yaml", &manifest)]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    assert_eq!(data(&world).await, expected);
    world.requested("app").await;
    assert_eq!(writes(&process), 1);

    let maps = world.api("v1", "ConfigMap").await;
    let hand = Patch::Merge(json!({"data": {"own": "hand"}}));
    maps.patch("guarded", &PatchParams::apply("hand"), &hand).await.unwrap();
    let corrected = async || (data(&world).await == expected).then_some(());
    eventually("the correction", PATIENCE, corrected).await.unwrap();
    world.requested("app").await;
    assert_eq!(writes(&process), 2);
    let patches = patches(&world);
    world.requested("app").await;
    assert_eq!(self::patches(&world), patches, "what the watches vouch for is not tried");

    process.kill();
    let process = world.launch(Command::new(PROGRAM), &[]);
    world.requested("app").await;
    assert!(writes(&process) <= once_more, "{}", process.log_tail());
    world.requested("app").await;
    assert!(writes(&process) <= once_more, "{}", process.log_tail());
    assert_eq!(data(&world).await, expected);
}

/// Waits until the API server asks the webhook.
async fn called(world: &World, manifest: &str) {
    let manifest: Value = weir_testkit::documents(manifest).unwrap().remove(0);
    let maps = world.api("v1", "ConfigMap").await;
    let params = PatchParams { dry_run: true, ..PatchParams::apply("test") };
    eventually("the webhook to be called", PATIENCE, async || {
        let tried = maps.patch("guarded", &params, &Patch::Apply(&manifest)).await.ok()?;
        (tried.data["data"] != manifest["data"]).then_some(())
    })
    .await
    .unwrap();
}

/// The object's data, but for what is another value each time.
async fn data(world: &World) -> Value {
    let mut data = world.config_map("guarded").await.unwrap().data["data"].clone();
    data.as_object_mut().unwrap().shift_remove("stamp");
    data
}

/// Applies of the process that have written something.
fn writes(process: &Process) -> usize {
    let log = std::fs::read_to_string(process.log_path()).unwrap();
    let applies = log.lines().filter(|line| line.contains("server-side apply completed"));
    applies.filter(|line| line.contains("\"created\"") || line.contains("\"configured\"")).count()
}

/// Applies of ConfigMaps that the API server has seen from the service, those that only try included.
fn patches(world: &World) -> u64 {
    let counts = world.plane().audit_counts().unwrap();
    counts.total(|key| key.user == "weir" && key.verb == "patch" && key.resource == "configmaps")
}
