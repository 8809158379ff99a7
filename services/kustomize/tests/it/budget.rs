//! The number of requests that a Kustomization costs.

use std::time::Instant;

use serde_json::json;
use weir_testkit::{AuditCounts, eventually};

use crate::world::{PATIENCE, World, deployment};

const REST: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ${name}\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  selector: {app: x}\n  ports: [{port: 80}]\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: ${name}\nspec:\n  defaultBackend: {service: {name: x, port: {number: 80}}}\n";

const UNITS: u64 = 10;

/// The shape of Flux's benchmark: a ServiceAccount, Service, Deployment without replicas and Ingress, `wait`, an
/// impersonated account, a substitute.
#[tokio::test(flavor = "multi_thread")]
async fn install_and_resync_stay_within_the_budget() {
    let world = World::alone().await;
    let everything = vec![
        serde_json::from_value(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})).unwrap(),
    ];
    world.plane().service_account(&world.ns, "tenant", &everything).await.unwrap();
    let web = deployment("${name}", 0).replace("replicas: 0", "replicas: ${replicas:=0}");
    world.source("src", 1, &[("web.yaml", &web), ("rest.yaml", REST)]).await;
    // The watches of the kinds, and discovery, are started once for all.
    world.kustomization("first", json!({"postBuild": {"substitute": {"name": "first"}}})).await;
    world.ready("first").await;
    world.event("first", "Reconciliation finished").await;
    let unit = |index: u64, replicas: u64| {
        json!({"wait": true, "serviceAccountName": "tenant",
            "postBuild": {"substitute": {"name": format!("unit-{index}"), "replicas": format!("{replicas}")}}})
    };
    let before = world.plane().audit_counts().unwrap();
    for index in 0..UNITS {
        world.kustomization(&format!("unit-{index}"), unit(index, 0)).await;
    }
    for index in 0..UNITS {
        world.ready(&format!("unit-{index}")).await;
    }
    let installed = told(&world, &before, 3).await;
    let cost = total(&installed.since(&before)).div_ceil(UNITS);
    // One more than without the record of what is about to be made (docs/adr/0022).
    assert!((11..=15).contains(&cost), "install: {cost} requests a unit: {:?}", installed.since(&before));

    let start = Instant::now();
    for index in 0..UNITS {
        world.requested(&format!("unit-{index}")).await;
    }
    let asked_for = start.elapsed().as_secs();
    let resynced = told(&world, &installed, 1).await.since(&installed);
    // The event and the status of each; the question if the account still has its rights is one for all, once a second.
    let questions = resynced.total(|key| key.user == "weir" && key.resource == "selfsubjectaccessreviews");
    assert!((1..=1 + asked_for).contains(&questions), "{questions} questions: {resynced:?}");
    assert_eq!(total(&resynced), 2 * UNITS + questions, "resync: {resynced:?}");
}

/// The requests of the service, and of the accounts that it acts as.
fn total(counts: &AuditCounts) -> u64 {
    counts.total(|key| key.user == "weir" && key.verb != "watch")
}

/// Returns the counts, once every unit has sent so many events: a run sends them last.
async fn told(world: &World, before: &AuditCounts, events: u64) -> AuditCounts {
    eventually("the events are sent", PATIENCE, async || {
        let counts = world.plane().audit_counts().unwrap();
        let told = counts.since(before).total(|key| key.user == "weir" && key.resource == "events");
        (told >= UNITS * events).then_some(counts)
    })
    .await
    .unwrap()
}
