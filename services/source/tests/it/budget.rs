//! The cost of a source for the API server, counted in its audit log.

use serde_json::json;
use weir_testkit::{AuditCounts, ControlPlane, Registry, eventually, touch_requested_at};

use crate::world::{DEADLINE, Plane, Setup, World};

const OCI: &str = "OCIRepository";
const UNITS: u64 = 10;

/// Returns the counts, once every unit has sent one more event: a run sends that last.
async fn told(world: &World, before: &AuditCounts) -> AuditCounts {
    eventually("the events are sent", DEADLINE, async || {
        let counts = world.plane.audit_counts().unwrap();
        let told = counts.since(before).total(|key| key.user == "weir" && key.resource == "events");
        (told >= UNITS).then_some(counts)
    })
    .await
    .unwrap()
}

fn writes_and_reads(before: &AuditCounts, after: &AuditCounts) -> u64 {
    after.since(before).total(|key| key.user == "weir" && key.verb != "watch")
}

#[tokio::test(flavor = "multi_thread")]
async fn three_requests_to_ready_and_two_when_nothing_changed() {
    let plane = Plane::Own(Box::new(ControlPlane::options().audit().start().await.unwrap()));
    let (world, registry) =
        (World::start_on(plane, Setup::default()).await, Registry::start().await.unwrap());
    let plane = &world.plane;
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    // The watches of the kinds are started once for all.
    world.oci("first", &registry.url("app"), json!({})).await;
    world.ready(OCI, "first").await;
    eventually("the first event", DEADLINE, async || {
        let counts = plane.audit_counts().unwrap();
        (counts.total(|key| key.user == "weir" && key.resource == "events") > 0).then_some(())
    })
    .await
    .unwrap();

    let before = plane.audit_counts().unwrap();
    for index in 0..UNITS {
        world.oci(&format!("unit-{index}"), &registry.url("app"), json!({})).await;
    }
    for index in 0..UNITS {
        world.ready(OCI, &format!("unit-{index}")).await;
    }
    let installed = told(&world, &before).await;
    // Finalizer, status, event.
    assert_eq!(writes_and_reads(&before, &installed), 3 * UNITS, "{:?}", installed.since(&before));

    for index in 0..UNITS {
        touch_requested_at(&world.api(OCI).await, &format!("unit-{index}")).await.unwrap();
    }
    let resynced = told(&world, &installed).await;
    // The status shows the handled request, an event that nothing changed.
    assert_eq!(writes_and_reads(&installed, &resynced), 2 * UNITS, "{:?}", resynced.since(&installed));
}
