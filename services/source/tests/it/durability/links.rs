//! The compatibility links, which volumes of some kinds cannot hold (SRC-STO-3).

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use rstest::rstest;
use weir_testkit::eventually;

use super::file;
use crate::origin::{Kind, NAME, Origin};
use crate::world::{DEADLINE, World};

/// The events about an object that have a reason.
async fn told(world: &World, kind: Kind, reason: &str) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let mut all = events.list(&ListParams::default()).await.unwrap().items;
    all.retain(|event| {
        event.involved_object.kind.as_deref() == Some(kind.name()) && event.reason.as_deref() == Some(reason)
    });
    all
}

/// As in Flux, the artifact is advertised without its link, and an event says why the URL of the status stays behind.
#[rstest]
#[case::oci(Kind::Oci, "latest.tar.gz")]
#[case::bucket(Kind::Bucket, "latest.tar.gz")]
#[case::helm(Kind::Helm, "index.yaml")]
#[case::chart(Kind::Chart, "latest.tar.gz")]
#[tokio::test]
async fn a_link_that_fails_costs_no_artifact(#[case] kind: Kind, #[case] name: &str) {
    let (world, origin) = (World::start().await, Origin::start(kind).await);
    let Some(origin) = origin else { return };
    origin.publish(0, 100).await;
    origin.declare(&world).await;
    let old = origin.at(&world, 0).await;
    assert!(old["url"].as_str().unwrap().ends_with(&format!("/{NAME}/{name}")), "{old:#}");

    // No link can take the place of a directory.
    let link = file(&world, &old).with_file_name(name);
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(&link).unwrap();
    origin.publish(1, 100).await;
    origin.look(&world).await;
    let new = origin.at(&world, 1).await;
    assert_eq!(new["url"], old["url"]);
    assert!(link.is_dir());
    let event =
        eventually("the event", DEADLINE, async || told(&world, kind, "SymlinkUpdateFailed").await.pop());
    let event = event.await.unwrap();
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    let message = event.message.unwrap();
    assert!(message.starts_with("failed to update status URL symlink: rename: "), "{message}");
    assert!(told(&world, kind, "StatOperationFailed").await.is_empty());
}
