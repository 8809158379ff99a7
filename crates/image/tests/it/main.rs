//! An image of a real program: the same bytes each time, and laid out as the OCI describes it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use weir_image::{Contents, Image, ImageSettings, Layer, shared_objects};

/// A program that every machine of a developer has, linked dynamically.
const PROGRAM: &str = "/bin/ls";

fn image_of(name: &str) -> (Image, Arc<Layer>) {
    let mut contents = Contents::of_program("ls", Path::new(PROGRAM)).unwrap();
    contents.link("/usr/local/bin/dir", "ls");
    let layer = Arc::new(Layer::pack(&contents).unwrap());
    let settings =
        ImageSettings { name: name.into(), tag: "v1".into(), entrypoint: "/usr/local/bin/dir".into() };
    (Image::new(settings, layer.clone()), layer)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn two_builds_are_equal() {
    let (first, _) = image_of("list");
    // Another second, in case a time of the machine got in.
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(PROGRAM, folder.path().join("ls")).unwrap();
    let mut contents = Contents::of_program("ls", &folder.path().join("ls")).unwrap();
    contents.link("/usr/local/bin/dir", "ls");
    let settings =
        ImageSettings { name: "list".into(), tag: "v1".into(), entrypoint: "/usr/local/bin/dir".into() };
    let second = Image::new(settings, Arc::new(Layer::pack(&contents).unwrap()));
    assert_eq!(first.digest(), second.digest());
    assert_eq!(first.blobs().map(|blob| blob.content), second.blobs().map(|blob| blob.content));
}

#[test]
fn a_layout_has_every_blob_under_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let (image, _) = image_of("list");
    image.write_layout(folder.path(), None).unwrap();
    // A second image of the same layer links it.
    let (other, _) = image_of("other");
    let beside = tempfile::tempdir_in(folder.path()).unwrap();
    other.write_layout(beside.path(), Some(folder.path())).unwrap();
    other.write_layout(beside.path(), Some(folder.path())).unwrap();

    let blob = |place: &Path, descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
        let content = std::fs::read(place.join("blobs/sha256").join(&digest)).unwrap();
        assert_eq!(hex::encode(Sha256::digest(&content)), digest);
        assert_eq!(content.len() as u64, descriptor["size"].as_u64().unwrap());
        content
    };
    for place in [folder.path(), beside.path()] {
        assert_eq!(read(&place.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
        let index = read(&place.join("index.json"));
        assert_eq!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], "v1");
        let manifest: Value = serde_json::from_slice(&blob(place, &index["manifests"][0])).unwrap();
        let config: Value = serde_json::from_slice(&blob(place, &manifest["config"])).unwrap();
        assert_eq!(config["config"]["User"], "65534:65534");
        assert_eq!(config["config"]["Entrypoint"][0], "/usr/local/bin/dir");
        let layer = blob(place, &manifest["layers"][0]);
        let mut archive = Vec::new();
        std::io::Read::read_to_end(&mut GzDecoder::new(layer.as_slice()), &mut archive).unwrap();
        let content = format!("sha256:{}", hex::encode(Sha256::digest(&archive)));
        assert_eq!(config["rootfs"]["diff_ids"][0], content.as_str());
    }
}

#[test]
fn a_layer_has_what_the_program_loads_and_nothing_of_the_machine() {
    let (image, layer) = image_of("list");
    let [_, blob] = image.blobs();
    assert_eq!(blob.content.len(), layer.size());
    let mut archive = tar::Archive::new(GzDecoder::new(blob.content));
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), 0);
        assert!(header.username().unwrap().unwrap_or_default().is_empty());
        let path = format!("/{}", entry.path().unwrap().display());
        assert!([0, 65534].contains(&header.uid().unwrap()), "{path}");
        paths.push(path);
    }
    let wanted = shared_objects(Path::new(PROGRAM)).unwrap();
    assert!(wanted.len() > 1, "{wanted:?}");
    for object in wanted {
        assert!(paths.contains(&object.display().to_string()), "{object:?} is not in {paths:?}");
    }
    assert!(paths.contains(&"/etc/ssl/certs/ca-certificates.crt".to_owned()));
    let mut unique = paths.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), paths.len(), "{paths:?}");
}
