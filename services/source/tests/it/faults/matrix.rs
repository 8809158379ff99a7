//! Every part of every protocol, with every fault, between the service and a real server (SRC-SCK-5).

use std::time::Duration;

use rstest::rstest;
use weir_testkit::Fault;

use crate::origin::{Kind, NAME, Origin, holds, served};
use crate::world::World;

/// Larger than what is read at a time.
const BYTES: usize = 100_000;

const FAULTS: [Fault; 10] = [
    Fault::Delay(Duration::from_millis(300)),
    Fault::CutAfter(0),
    Fault::CutAfter(30),
    Fault::CorruptAt(0),
    Fault::CorruptAt(40),
    Fault::Status(429, Some(1)),
    Fault::Status(500, None),
    Fault::Status(503, Some(1)),
    Fault::ContentLength(-20),
    Fault::ContentLength(20),
];

/// What has to come of a fault.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The new content comes as it is.
    Passes,
    /// Nothing changes but what is said, with this reason.
    Refused(&'static str),
    /// HTTP does not tell, so that something else may be taken for new content.
    Unnoticed,
}

fn outcome(kind: Kind, part: &str, fault: Fault) -> Outcome {
    match (kind, part, fault) {
        (_, _, Fault::Delay(_)) => Outcome::Passes,
        (Kind::Git, ..) => Outcome::Refused("GitOperationFailed"),
        (Kind::Oci, "/blobs/", _) => Outcome::Refused("OCIArtifactLayerOperationFailed"),
        (Kind::Oci, ..) => Outcome::Refused("OCIArtifactPullFailed"),
        (Kind::OciRange, ..) => Outcome::Refused("ReadOperationFailed"),
        (Kind::Bucket, ..) => Outcome::Refused("BucketOperationFailed"),
        (Kind::Helm, ..) => Outcome::Refused("Failed"),
        (Kind::Chart, ..) => Outcome::Refused("ChartPullError"),
    }
}

#[rstest]
#[case::git_references(Kind::Git, "/info/refs")]
#[case::git_pack(Kind::Git, "POST ")]
#[case::oci_registry(Kind::Oci, "GET /v2/ ")]
#[case::oci_manifests(Kind::Oci, "/manifests/")]
#[case::oci_layers(Kind::Oci, "/blobs/")]
#[case::oci_tags(Kind::OciRange, "/tags/list")]
#[case::bucket_listing(Kind::Bucket, "list-type=2")]
#[case::bucket_object(Kind::Bucket, "/a.txt")]
#[case::helm_index(Kind::Helm, "/index.yaml")]
#[case::helm_package(Kind::Chart, ".tgz")]
#[tokio::test]
async fn what_is_spoiled_on_the_way_is_not_advertised(#[case] kind: Kind, #[case] part: &str) {
    let Some(origin) = Origin::start(kind).await else { return };
    let mut world = World::start().await;
    origin.publish(0, BYTES).await;
    origin.declare(&world).await;
    origin.at(&world, 0).await;
    for (fault, version) in FAULTS.into_iter().zip(1..) {
        // How a registry lets callers in is remembered.
        if part == "GET /v2/ " {
            world.start_again(&[]);
            world.until_served().await;
        }
        meet(&world, &origin, part, fault, version).await;
    }
}

async fn meet(world: &World, origin: &Origin, part: &str, fault: Fault, version: u32) {
    let expected = outcome(origin.kind, part, fault);
    let old = origin.at(world, version - 1).await;
    let bytes = served(&old).await;
    origin.publish(version, BYTES).await;
    origin.proxy.forget_requests();
    origin.proxy.set_for(part, usize::MAX, fault);
    origin.look(world).await;
    match expected {
        Outcome::Passes => drop(origin.at(world, version).await),
        Outcome::Refused(reason) => {
            let (said, message) = world.failure(origin.kind.name(), NAME).await;
            println!("{:?} {part} {fault:?}: {said}: {message}", origin.kind);
            let status = origin.status(world).await;
            assert_eq!(status["artifact"], old["artifact"], "{fault:?}: {message}");
            assert_eq!(served(&status).await, bytes, "{fault:?}");
            assert_eq!(said, reason, "{fault:?}: {message}");
        }
        Outcome::Unnoticed => {
            let is_new = |object: &kube::core::DynamicObject| {
                object.data["status"]["artifact"]["revision"] != old["artifact"]["revision"]
            };
            let status = world.until(origin.kind.name(), NAME, "something new", is_new).await;
            // What is advertised is what is served, whatever it is.
            served(&status).await;
        }
    }
    assert!(origin.proxy.requests().iter().any(|line| line.contains(part)), "{:?}", origin.proxy.requests());
    origin.proxy.set(Fault::None);
    origin.look(world).await;
    assert!(holds(&served(&origin.at(world, version).await).await, version));
}
