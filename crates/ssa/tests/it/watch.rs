//! Watches that break.

use serde_json::json;
use weir_ssa::Notice;
use weir_testkit::{Fault, eventually};

use crate::world::{PATIENCE, World};

/// A watch that has broken proves nothing, and everything again once it is there: else each run would ask the server about each object
/// for as long as the process lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_was_cut_vouches_again_for_what_it_sees() {
    let (mut world, proxy) = World::behind_proxy().await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": world.ns}});
    let changes = world.apply(&[world.cm("a", "1"), world.deployment("web", "one"), account]).await.unwrap();
    world.proved(&changes).await;
    proxy.set(Fault::Away);
    for id in changes.inventory() {
        let id = std::slice::from_ref(&id);
        eventually("nothing is proved without a watch", PATIENCE, async || {
            (!world.ledger.proves(&world.owner(), id)).then_some(())
        })
        .await
        .unwrap();
    }
    // No event tells of this: the list that the watch begins anew with does.
    world.api("v1", "ServiceAccount").await.delete("a", &Default::default()).await.unwrap();
    proxy.set(Fault::None);
    let missed = tokio::time::timeout(PATIENCE, world.notices.recv()).await.unwrap();
    assert_eq!(missed, Some(Notice::Drift));
    let kept: Vec<_> =
        changes.inventory().into_iter().filter(|entry| entry.id.kind != "ServiceAccount").collect();
    eventually("what is there is proved", PATIENCE, async || {
        world.ledger.proves(&world.owner(), &kept).then_some(())
    })
    .await
    .unwrap();
}
