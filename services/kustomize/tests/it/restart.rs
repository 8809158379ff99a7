//! An API server that dies and comes back while things are applied: the run is taken up, nothing is lost, and no Ready is wrong.

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use serde_json::json;
use weir_testkit::eventually;

use crate::process::inventory;
use crate::world::{PATIENCE, World};

/// Objects of a revision: enough for the API server to die in the middle of them.
const OBJECTS: usize = 400;

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_restarts_in_mid_apply_loses_nothing() {
    let (world, mut process) = World::process(&[]).await;
    let maps = world.api("v1", "ConfigMap").await;
    for number in 1..=2 {
        let revision = world.source("src", number, &[("all.yaml", &manifests(number))]).await;
        if number == 1 {
            world.kustomization("app", json!({"retryInterval": "1s"})).await;
        }
        let begun = async || {
            let count = of_revision(&maps, number).await;
            (count > 0).then_some(count)
        };
        let begun = eventually("the first objects", PATIENCE, begun).await.unwrap();
        world.plane().kill_api_server();
        assert!(begun < OBJECTS, "it was to die in the middle");
        world.plane().start_api_server().await.unwrap();
        let left = of_revision(&maps, number).await;
        let applied = world.applied("app", &revision).await;
        // Each object was there when the status first said so.
        assert_eq!(of_revision(&maps, number).await, OBJECTS, "{begun}, {left} before");
        assert_eq!(inventory(&applied).len(), OBJECTS);
        let own = ListParams::default().labels("kustomize.toolkit.fluxcd.io/name=app");
        let all = maps.list_metadata(&own).await.unwrap().items.len();
        assert_eq!(all, OBJECTS, "what revision {number} no longer has is pruned");
        process.check_running().unwrap();
    }
}

/// ConfigMaps that tell revisions apart. Half of them are in one revision only.
fn manifests(number: u32) -> String {
    let name = |index: usize| match index % 2 {
        0 => format!("both-{index}"),
        _ => format!("only-{number}-{index}"),
    };
    let one = |index: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  labels: {{revision: \"{number}\"}}\n",
            name(index)
        )
    };
    (0..OBJECTS).map(one).collect()
}

async fn of_revision(maps: &Api<DynamicObject>, number: u32) -> usize {
    let params = ListParams::default().labels(&format!("revision={number}"));
    // A connection of before the restart may be met once more.
    let list = async || maps.list_metadata(&params).await.ok();
    eventually("a list", PATIENCE, list).await.unwrap().items.len()
}
