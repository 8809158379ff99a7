//! Every part of every protocol, with every fault, between the service and a real server (SRC-SCK-5).

use std::time::Duration;

use rstest::rstest;
use weir_testkit::Fault;

use crate::origin::{Kind, NAME, Origin, holds, served};
use crate::world::World;

/// Larger than what is read at a time.
const BYTES: usize = 100_000;

/// All faults; a byte is another one at `offset`, where the part has something that matters.
fn faults(offset: u64) -> [Fault; 9] {
    [
        Fault::Delay(Duration::from_millis(300)),
        Fault::CutAfter(0),
        Fault::CutAfter(30),
        Fault::CorruptAt(offset),
        Fault::Status(429, Some(1)),
        Fault::Status(500, None),
        Fault::Status(503, Some(1)),
        Fault::ContentLength(-20),
        Fault::ContentLength(20),
    ]
}

/// The expected outcome of a fault.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The new content comes as it is.
    Passes,
    /// Nothing changes but the condition, which has this reason.
    Refused(&'static str),
    /// HTTP cannot show it, so that something else may be taken for new content.
    Unnoticed,
}

fn outcome(kind: Kind, part: &str, fault: Fault) -> Outcome {
    let is_status = matches!(fault, Fault::Status(..));
    match (kind, part, fault) {
        (_, _, Fault::Delay(_)) => Outcome::Passes,
        // Only the status of this page is of interest.
        (_, PING, _) if !is_status => Outcome::Passes,
        (Kind::Git | Kind::GitSha256, ..) => Outcome::Refused("GitOperationFailed"),
        // The manifest has size and digest of the content.
        (Kind::Oci, "/blobs/", Fault::ContentLength(1..)) => Outcome::Passes,
        (Kind::Oci, "/blobs/", _) => Outcome::Refused("OCIArtifactLayerOperationFailed"),
        (Kind::Oci, ..) => Outcome::Refused("OCIArtifactPullFailed"),
        (Kind::OciRange, ..) => Outcome::Refused("ReadOperationFailed"),
        // Etags are no digests, see docs/sources/bucket.md.
        (Kind::Bucket, "/a.txt", Fault::CorruptAt(_)) => Outcome::Unnoticed,
        (Kind::Bucket, ..) => Outcome::Refused("BucketOperationFailed"),
        // All of it arrived, as far as HTTP shows, and it is no index.
        (Kind::Helm, _, Fault::CorruptAt(_) | Fault::ContentLength(..0)) => {
            Outcome::Refused("IndexationFailed")
        }
        (Kind::Helm, ..) => Outcome::Refused("Failed"),
        (Kind::Chart, ..) => Outcome::Refused("ChartPullError"),
    }
}

/// Asked once, to see how a registry lets callers in.
const PING: &str = "GET /v2/ ";

#[rstest]
#[case::git_references(Kind::Git, "/info/refs", 2)]
#[case::git_pack(Kind::Git, "POST ", 5000)]
#[case::git_pack_sha256(Kind::GitSha256, "POST ", 5000)]
#[case::oci_registry(Kind::Oci, PING, 0)]
#[case::oci_manifests(Kind::Oci, "/manifests/", 40)]
#[case::oci_layers(Kind::Oci, "/blobs/", 5000)]
#[case::oci_tags(Kind::OciRange, "/tags/list", 0)]
#[case::bucket_listing(Kind::Bucket, "list-type=2", 0)]
#[case::bucket_object(Kind::Bucket, "/a.txt", 5000)]
#[case::helm_index(Kind::Helm, "/index.yaml", 0)]
#[case::helm_package(Kind::Chart, ".tgz", 5000)]
#[tokio::test]
async fn what_is_spoiled_on_the_way_is_not_advertised(
    #[case] kind: Kind,
    #[case] part: &str,
    #[case] offset: u64,
) {
    let Some(origin) = Origin::start(kind).await else { return };
    let mut world = World::start().await;
    origin.publish(0, BYTES).await;
    origin.declare(&world).await;
    origin.at(&world, 0).await;
    // Git's server answers in chunks, which have no length to lie about.
    let is_git = matches!(kind, Kind::Git | Kind::GitSha256);
    let is_possible = |fault: &Fault| !is_git || !matches!(fault, Fault::ContentLength(_));
    for (fault, version) in faults(offset).into_iter().filter(is_possible).zip(1..) {
        meet(&mut world, &origin, part, fault, version).await;
    }
}

async fn meet(world: &mut World, origin: &Origin, part: &str, fault: Fault, version: u32) {
    let expected = outcome(origin.kind, part, fault);
    let old = origin.at(world, version - 1).await;
    let bytes = served(&old).await;
    origin.publish(version, BYTES).await;
    origin.proxy.forget_requests();
    origin.proxy.set_for(part, usize::MAX, fault);
    if part == PING {
        // The result is remembered as long as the process runs.
        world.start_again(&[]);
        world.until_served().await;
    }
    origin.look(world).await;
    match expected {
        Outcome::Passes => drop(origin.at(world, version).await),
        Outcome::Refused(reason) => {
            let (said, message) = world.failure(origin.kind.name(), NAME).await;
            if let Fault::Status(code, _) = fault {
                assert!(message.contains(&code.to_string()), "{fault:?}: {message}");
            }
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
            // The advertised artifact is the one that is served, whichever it is.
            served(&status).await;
        }
    }
    assert!(origin.proxy.requests().iter().any(|line| line.contains(part)), "{:?}", origin.proxy.requests());
    origin.proxy.set(Fault::None);
    origin.look(world).await;
    assert!(holds(&served(&origin.at(world, version).await).await, version));
}
