//! Killed at any step: the next life ends where an unharmed one does, and nothing is forgotten in the cluster.

mod kills;
mod random;
mod shutdown;

use kube::api::DeleteParams;

use crate::process::{Service, id, inventory};

/// Revision 2 adds an object, the process is killed before the inventory says so, and revision 3 no longer has the object.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_run_has_added_is_no_orphan_of_a_later_revision() {
    let mut service = Service::new().await;
    let first = service.publish("src", 1, &["a"]).await;
    service.declare("app", "src").await;
    service.start();
    service.holds("app", &first).await;
    service.kill();

    service.publish("src", 2, &["a", "added"]).await;
    service.dies_at("after-apply").await;
    let added = id(&service.world.ns, "added");
    assert!(service.objects("app").await.contains_key(&added), "it was made before the process died");

    let third = service.publish("src", 3, &["a"]).await;
    service.start();
    service.holds("app", &third).await;
}

/// The same with the Kustomization itself: it is deleted before it has ever had a status.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_first_run_has_made_goes_with_its_kustomization() {
    let mut service = Service::new().await;
    service.publish("src", 1, &["a", "role"]).await;
    service.declare("app", "src").await;
    service.dies_at("after-apply").await;
    assert_eq!(service.objects("app").await.len(), 2);

    let api = service.world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    service.start();
    service.leaves_nothing("app").await;
}

/// A revision that the server refuses leaves the inventory as it was.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_before_anything_was_written_is_in_no_inventory() {
    let mut service = Service::new().await;
    let first = service.publish("src", 1, &["a"]).await;
    service.declare("app", "src").await;
    service.start();
    service.holds("app", &first).await;
    service.publish("src", 2, &["a", "b", "No-Name"]).await;
    let refused = service.world.not_ready("app", "ReconciliationFailed").await;
    assert_eq!(inventory(&refused), first.objects.keys().cloned().collect::<Vec<_>>());
    assert_eq!(service.objects("app").await, first.objects);
}
