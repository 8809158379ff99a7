//! Full disks (SRC-SCK-10): the condition names the failed storage and its place, the old artifact is served, and the
//! new one comes as soon as there is room.

use std::process::Command;

use rstest::rstest;
use serde_json::json;
use weir_testkit::{Folder, Registry, SmallDisk, condition};

use crate::origin::{Kind, NAME, Origin, holds, noise, served};
use crate::world::{Setup, World, paths};

/// The size of these tests' volumes at first, as an option of tmpfs: a small artifact and what goes with it.
const SMALL: &str = "3m";
const LARGE: &str = "200m";
/// More than that, of what does not shrink.
const BYTES: usize = 6 << 20;

const OCI: &str = "OCIRepository";

/// The bytes that are free on a volume.
fn free(volume: &SmallDisk) -> u64 {
    let said = Command::new("df").args(["-B1", "--output=avail"]).arg(volume.path()).output().unwrap();
    String::from_utf8(said.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap()
}

fn entries(volume: &SmallDisk) -> Vec<String> {
    let entries = std::fs::read_dir(volume.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The one of the service's two places that is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// `--storage-path`, where the repositories of Git are kept too.
    Storage,
    /// `TMPDIR`.
    Temporary,
}

/// A service with a small volume; nothing where that cannot be had.
async fn small(place: Place, arguments: &[&str]) -> Option<(World, SmallDisk, Folder)> {
    if !SmallDisk::is_allowed().unwrap() {
        return None;
    }
    let temporary = Folder::new("temporary").unwrap();
    let environment = vec![("TMPDIR", temporary.path().display().to_string())];
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let mut setup = Setup { environment, arguments, ..Setup::default() };
    if place == Place::Temporary {
        let volume = SmallDisk::mount(temporary.path(), SMALL).unwrap();
        return Some((World::start_as(setup).await, volume, temporary));
    }
    setup.prepare = Some(|data| std::mem::forget(SmallDisk::mount(data, SMALL).unwrap()));
    let world = World::start_as(setup).await;
    let volume = SmallDisk::mounted_at(world.folder.path().join("data"));
    Some((world, volume, temporary))
}

#[rstest]
#[case::git(Kind::Git, Place::Storage)]
#[case::git_sha256(Kind::GitSha256, Place::Storage)]
#[case::oci(Kind::Oci, Place::Storage)]
#[case::bucket(Kind::Bucket, Place::Storage)]
#[case::helm(Kind::Helm, Place::Storage)]
#[case::chart(Kind::Chart, Place::Storage)]
#[case::oci_temporary(Kind::Oci, Place::Temporary)]
#[case::bucket_temporary(Kind::Bucket, Place::Temporary)]
#[case::helm_temporary(Kind::Helm, Place::Temporary)]
#[case::chart_temporary(Kind::Chart, Place::Temporary)]
#[tokio::test]
async fn a_full_disk_is_said_and_the_old_artifact_still_served(#[case] kind: Kind, #[case] place: Place) {
    let Some((mut world, volume, _temporary)) = small(place, &[]).await else { return };
    let Some(origin) = Origin::start(kind).await else { return };
    origin.publish(0, 100).await;
    origin.declare(&world).await;
    let old = origin.at(&world, 0).await;
    let bytes = served(&old).await;

    // A pack of the other library is received first and then copied: the copy is what does not fit.
    origin.publish(1, if kind == Kind::GitSha256 { BYTES / 2 } else { BYTES }).await;
    origin.look(&world).await;
    let (reason, message) = world.failure(kind.name(), NAME).await;
    let object = world.api(kind.name()).await.get(NAME).await.unwrap();
    let storage = condition(&object, "StorageOperationFailed");
    assert!(storage.is_some_and(|storage| storage.status == "True"), "{reason}: {message}");
    assert_eq!(reason, "ArchiveOperationFailed", "{message}");
    assert!(message.contains("no space left on device"), "{message}");
    assert!(message.contains("stay in reserve"), "{message}");
    assert_eq!(object.data["status"]["artifact"], old["artifact"], "{message}");
    assert_eq!(served(&old).await, bytes);
    world.controller.check_running().unwrap();

    volume.resize(LARGE).unwrap();
    origin.look(&world).await;
    assert!(holds(&served(&origin.at(&world, 1).await).await, 1));
}

/// SRC 14.6: without a cap of its own, what is unpacked ends before the disk is full, and leaves nothing.
#[tokio::test]
async fn a_bomb_ends_while_there_is_room_for_others() {
    let Some((world, volume, _temporary)) = small(Place::Temporary, &[]).await else { return };
    let registry = Registry::start().await.unwrap();
    let files: Vec<_> = (0..64).map(|number| format!("{number}.txt")).collect();
    let (text, before) = ("0".repeat(1 << 20), free(&volume));
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), text.as_str())).collect();
    registry.push_artifact(NAME, "latest", &files).await.unwrap();
    world.oci(NAME, &registry.url(NAME), json!({})).await;
    let (reason, message) = world.failure(OCI, NAME).await;
    assert_eq!(reason, "ArchiveOperationFailed", "{message}");
    let place = volume.path().display().to_string();
    for part in ["failed to extract layer contents", "no space left on device", "in reserve", place.as_str()]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!((entries(&volume), free(&volume)), (Vec::new(), before), "nothing is left behind");
}

/// Generators have a condition of their own for everything; what they made before stays.
#[rstest]
#[case::storage(Place::Storage, "BuildFailed")]
#[case::temporary(Place::Temporary, "SourceFetchFailed")]
#[tokio::test]
async fn a_generator_says_that_the_disk_is_full(#[case] place: Place, #[case] expected: &str) {
    let Some((world, volume, _temporary)) = small(place, &[]).await else { return };
    let registry = Registry::start().await.unwrap();
    // A source that is passed on fits into each volume once, and what is made of it beside it does not.
    let copied = json!({"layerSelector": {"operation": "copy"}});
    let (first, second) = (noise("first", 100), noise("second", 3 << 20));
    registry.push_artifact(NAME, "latest", &[("a.txt", &first)]).await.unwrap();
    world.oci(NAME, &registry.url(NAME), copied).await;
    world.ready(OCI, NAME).await;
    let api = "source.extensions.fluxcd.io/v1beta1";
    let spec = json!({
        "sources": [{"alias": "app", "kind": OCI, "name": NAME}],
        "artifacts": [{"name": "made", "copy": [{"from": "@app/**", "to": "@artifact/"}]}],
    });
    let object =
        json!({"apiVersion": api, "kind": "ArtifactGenerator", "metadata": {"name": NAME}, "spec": spec});
    world.plane.apply(&world.namespace, object).await.unwrap();
    let is_made = |object: &kube::core::DynamicObject| {
        condition(object, "Ready").is_some_and(|ready| ready.status == "True")
    };
    let made = world.until("ExternalArtifact", "made", "Ready", is_made).await;
    assert_eq!(paths(&made).await, ["a.txt"]);

    let files = [("a.txt", second.as_str()), ("b.txt", "b")];
    let pushed = registry.push_artifact(NAME, "latest", &files).await.unwrap();
    world.reconciled(OCI, NAME).await;
    world.at(OCI, NAME, &pushed).await;
    let generators = world.plane.api(api, "ArtifactGenerator", &world.namespace).await.unwrap();
    let said =
        weir_testkit::wait_not_ready(&generators, NAME, "o space left on device", crate::world::DEADLINE);
    assert_eq!(said.await.unwrap().reason, expected);
    let status = world.api("ExternalArtifact").await.get("made").await.unwrap().data["status"].clone();
    assert_eq!(status["artifact"], made["artifact"]);
    assert_eq!(paths(&made).await, ["a.txt"]);

    volume.resize(LARGE).unwrap();
    let grown = |object: &kube::core::DynamicObject| {
        object.data["status"]["artifact"]["digest"] != made["artifact"]["digest"]
    };
    let status = world.until("ExternalArtifact", "made", "the new files", grown).await;
    assert_eq!(paths(&status).await, ["a.txt", "b.txt"]);
}
