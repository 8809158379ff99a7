//! Layers that are no archive, or one that must not be unpacked, and what is too large.

use std::io::Write;

use serde_json::json;
use weir_testkit::{BucketProgram, BucketServer, Folder, GitServer, Registry, wait_not_ready};

use crate::world::{DEADLINE, Setup, World, paths};

const OCI: &str = "OCIRepository";
const EXTENSIONS: &str = "source.extensions.fluxcd.io/v1beta1";
const GENERATOR: &str = "ArtifactGenerator";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A tarball of one entry with a name and a kind that no honest writer would use, and an honest file.
fn tarball(name: &str, kind: tar::EntryType) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, kind, content) in [(name, kind, ""), ("good.yaml", tar::EntryType::Regular, "good: true\n")] {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if kind != tar::EntryType::Regular {
            header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
        }
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content.as_bytes()).unwrap();
    }
    gzip(&tar.into_inner().unwrap())
}

#[tokio::test]
async fn hostile_and_damaged_layers_are_refused_with_a_reason() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let mut cut = tarball("a.yaml", tar::EntryType::Regular);
    cut.truncate(cut.len() - 9);
    for (name, layer, part) in [
        (
            "parent",
            tarball("../evil", tar::EntryType::Regular),
            "tar contained invalid name error \"../evil\"",
        ),
        (
            "absolute",
            tarball("/etc/evil", tar::EntryType::Regular),
            "tar contained invalid name error \"/etc/evil\"",
        ),
        (
            "hardlink",
            tarball("link", tar::EntryType::Link),
            "tar file entry link contained unsupported file type",
        ),
        ("nogzip", b"no archive at all".to_vec(), "requires gzip-compressed body: gzip: invalid header"),
        ("notar", gzip(b"no tarball at all, but long enough to look like a header of one"), "tar error: "),
        ("cut", cut, "tar error: "),
    ] {
        registry.push_artifact_layer(name, "latest", layer).await.unwrap();
        world.oci(name, &registry.url(name), json!({})).await;
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "OCIArtifactLayerOperationFailed", "{name}: {message}");
        assert!(message.contains("failed to extract layer contents from artifact: "), "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
}

#[tokio::test]
async fn symlinks_are_left_out() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let layer = tarball("link", tar::EntryType::Symlink);
    registry.push_artifact_layer("links", "latest", layer).await.unwrap();
    world.oci("links", &registry.url("links"), json!({})).await;
    assert_eq!(paths(&world.ready(OCI, "links").await).await, ["good.yaml"]);
}

/// SRC-SCK-10, SRC 14.6.
#[tokio::test]
async fn a_bomb_ends_at_the_cap_that_is_given() {
    let cap = 8 << 20;
    let temporary = Folder::new("temporary").unwrap();
    let world = World::start_as(Setup {
        environment: vec![("TMPDIR", temporary.path().display().to_string())],
        arguments: vec![format!("--untar-max-size={cap}")],
        ..Setup::default()
    })
    .await;
    let registry = Registry::start().await.unwrap();
    // Each is a few hundred KiB on the way.
    let (large, part) = ("0".repeat(64 << 20), "0".repeat(1 << 20));
    let many: Vec<_> = (0..64).map(|number| format!("{number}.txt")).collect();
    let many: Vec<_> = many.iter().map(|path| (path.as_str(), part.as_str())).collect();
    for (name, files) in [("one", &[("a.txt", large.as_str())][..]), ("many", &many)] {
        registry.push_artifact(name, "latest", files).await.unwrap();
        world.oci(name, &registry.url(name), json!({})).await;
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "OCIArtifactLayerOperationFailed", "{name}: {message}");
        let said = format!("is bigger than max archive size of {cap} bytes");
        assert!(message.contains(&said), "{name}: {message}");
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "{name}");
    }
    registry.push_artifact("fits", "latest", &many[..7]).await.unwrap();
    world.oci("fits", &registry.url("fits"), json!({})).await;
    assert_eq!(paths(&world.ready(OCI, "fits").await).await.len(), 7);
}

/// SRC 14.6: one cap for everything that is unpacked or put together of files.
#[tokio::test]
async fn the_cap_holds_for_includes_charts_buckets_and_generators() {
    let arguments = vec!["--untar-max-size=65536".into()];
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    let large = "0".repeat(100_000);
    let files = [("chart/Chart.yaml", "name: app\nversion: 1.0.0\n"), ("large.txt", large.as_str())];
    server.repo("large").unwrap().commit("main", "first", &files).unwrap();
    server.repo("small").unwrap().commit("main", "first", &[("a.txt", "a")]).unwrap();
    // A repository has no cap.
    world.git("large", &server.url("large"), json!({})).await;
    world.ready("GitRepository", "large").await;

    let include = json!({"include": [{"repository": {"name": "large"}}]});
    world.git("including", &server.url("small"), include).await;
    let source = json!({"kind": "GitRepository", "name": "large"});
    let spec = json!({"chart": "./chart", "interval": "1h", "sourceRef": source});
    world.apply("HelmChart", "chart", spec).await;
    let said = "is bigger than max archive size of 65536 bytes";
    for (kind, name, reason) in
        [("GitRepository", "including", "CopyFailure"), ("HelmChart", "chart", "ReadOperationFailed")]
    {
        assert_eq!(world.failure_of(kind, name, said).await.0, reason, "{name}");
    }
    let spec = json!({
        "sources": [{"alias": "large", "kind": "GitRepository", "name": "large"}],
        "artifacts": [{"name": "made", "copy": [{"from": "@large/**", "to": "@artifact/"}]}],
    });
    let object =
        json!({"apiVersion": EXTENSIONS, "kind": GENERATOR, "metadata": {"name": "app"}, "spec": spec});
    world.plane.apply(&world.namespace, object).await.unwrap();
    let generators = world.plane.api(EXTENSIONS, GENERATOR, &world.namespace).await.unwrap();
    assert_eq!(wait_not_ready(&generators, "app", said, DEADLINE).await.unwrap().reason, "SourceFetchFailed");

    let Some(bucket) = BucketServer::start(BucketProgram::Moto).await.unwrap() else { return };
    bucket.create("app").await.unwrap();
    bucket.put("app", "large.txt", large).await.unwrap();
    world.secret("keys", "Opaque", json!({"accesskey": "AKID", "secretkey": "secret"})).await;
    world.bucket("app", bucket.address(), "app", json!({"secretRef": {"name": "keys"}})).await;
    let (reason, _) = world.failure_of("Bucket", "app", "larger than 65536 bytes").await;
    assert_eq!(reason, "BucketOperationFailed");
}
