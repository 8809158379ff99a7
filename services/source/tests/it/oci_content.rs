//! Contents of the artifact of an `OCIRepository`, and the reasons for which a registry is not asked.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{Artifact, Registry};

use crate::world::{World, files, paths};

const OCI: &str = "OCIRepository";

/// A tarball with a manifest, a file that a rule leaves out, the rule, and a link.
fn tarball() -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in [(".sourceignore", "*.md\n"), ("app.yaml", "a: 1\n"), ("README.md", "no")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    tar.append_link(&mut link, "link.yaml", "app.yaml").unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

/// SRC-OCI-8, SRC-OCI-10: a layer is unpacked without links and what is ignored, or copied byte for byte.
#[tokio::test]
async fn layers_are_unpacked_or_copied() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let layer = tarball();
    let digest = Digest::of(Algorithm::Sha256, &layer).to_string();
    let artifact = Artifact::of_layer(layer.clone()).annotated("example.com/team", "a");
    let annotations = json!(artifact.annotations);
    registry.push_artifact_with("app", "latest", artifact).await.unwrap();
    for operation in ["extract", "copy"] {
        world.oci(operation, &registry.url("app"), json!({"layerSelector": {"operation": operation}})).await;
    }
    let unpacked = world.ready(OCI, "extract").await;
    assert_eq!(paths(&unpacked).await, [".sourceignore", "app.yaml"]);
    let copied = world.ready(OCI, "copy").await;
    assert_eq!(copied["artifact"]["digest"], digest);
    assert_eq!(copied["artifact"]["size"], layer.len());
    assert!(copied["artifact"]["path"].as_str().unwrap().ends_with(".tar.gz"));
    let stored = world.folder.path().join("data").join(copied["artifact"]["path"].as_str().unwrap());
    assert!(std::fs::read(stored).unwrap() == layer, "the layer is stored as it is");
    for status in [&unpacked, &copied] {
        assert_eq!(status["artifact"]["metadata"], annotations);
    }
    assert!(files(&unpacked).await.values().all(|file| !file.executable));
}

/// SRC-OCI-1, SRC-OCI-21: addresses that are none, certificates and proxies that cannot be used.
#[tokio::test]
async fn what_keeps_a_registry_from_being_asked_is_told() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let url = registry.url("app");
    world.secret("junk", "Opaque", json!({"ca.crt": "junk"})).await;
    world.secret("no-address", "Opaque", json!({"username": "user"})).await;
    let tagged = format!("{url}:v1");
    world.oci("tagged", &tagged, json!({})).await;
    let upper = url.replace("/app", "/App");
    world.oci("upper", &upper, json!({})).await;
    world.oci("certificates", &url, json!({"certSecretRef": {"name": "junk"}})).await;
    world.oci("no-certificates", &url, json!({"certSecretRef": {"name": "nothing"}})).await;
    world.oci("proxy", &url, json!({"proxySecretRef": {"name": "no-address"}})).await;
    world.oci("no-proxy", &url, json!({"proxySecretRef": {"name": "nothing"}})).await;
    let transport = format!("failed to generate transport for '{url}': ");
    for (name, reason, part) in [
        ("tagged", "URLInvalid", &*format!("URL validation failed for '{tagged}': ")),
        ("upper", "URLInvalid", &*format!("URL validation failed for '{upper}': ")),
        ("certificates", "AuthenticationFailed", &*transport),
        ("no-certificates", "AuthenticationFailed", &*transport),
        ("proxy", "AuthenticationFailed", "failed to get proxy address: "),
        ("no-proxy", "AuthenticationFailed", "failed to get proxy address: "),
    ] {
        let (found, message) = world.failure_of(OCI, name, part).await;
        assert_eq!(found, reason, "{name}: {message}");
        assert!(message.starts_with(part), "{name}: {message}");
        let status = world.reconciled(OCI, name).await;
        let conditions = status["conditions"].as_array().unwrap();
        let stalled = conditions.iter().find(|condition| condition["type"] == "Stalled");
        let expected = (reason == "URLInvalid").then(|| Value::from(reason));
        assert_eq!(stalled.map(|stalled| stalled["reason"].clone()), expected, "{name}");
    }
}
