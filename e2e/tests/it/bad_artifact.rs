//! Artifacts that lie or attack: corrupt, of another digest, with paths and links that lead out.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use sha2::{Digest, Sha256};
use weir_e2e::World;
use weir_testkit::object::{git_repository, kustomization, oci_repository, with_spec};
use weir_testkit::{SinkAnswer, condition, wait_for, wait_not_ready, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n";

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(content).unwrap();
    gzip.finish().unwrap()
}

/// A tar.gz with one entry, whose name no tar library would write.
fn tar_gz(name: &str, entry_type: tar::EntryType, link: &str, content: &str) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    let fields = header.as_old_mut();
    fields.name[..name.len()].copy_from_slice(name.as_bytes());
    fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(entry_type);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut tar = header.as_bytes().to_vec();
    tar.extend_from_slice(content.as_bytes());
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    gzip(&tar)
}

#[tokio::test]
async fn hostile_oci_layers_are_refused_and_nothing_is_written_outside() -> Result<()> {
    let mut world = World::start().await?;
    let outside = world.weir.path().join("outside.yaml");
    let up = format!("{}{}", "../".repeat(12), outside.display().to_string().trim_start_matches('/'));
    let layers = [
        ("corrupt", "requires gzip-compressed body", b"this is no archive".to_vec()),
        ("truncated", "tar error", gzip(&[1; 5000])[..20].to_vec()),
        ("upward", "tar contained invalid name", tar_gz(&up, tar::EntryType::Regular, "", CONFIG_MAP)),
    ];
    for (name, part, layer) in layers {
        world.registry.push_artifact_layer(name, "v1", layer).await?;
        world.plane.apply("flux-system", oci_repository(name, &world.registry.url(name))).await?;
        let api = world.api("OCIRepository", "flux-system").await?;
        wait_not_ready(&api, name, part, DEADLINE).await?;
    }
    assert!(!outside.exists());
    check_no_panic(&mut world)
}

#[tokio::test]
async fn links_out_of_an_artifact_are_not_followed() -> Result<()> {
    let mut world = World::start().await?;
    let secret = world.weir.path().join("secret.yaml");
    std::fs::write(&secret, CONFIG_MAP)?;
    let layer = tar_gz("a.yaml", tar::EntryType::Symlink, &secret.display().to_string(), "");
    world.registry.push_artifact_layer("link", "v1", layer).await?;
    world.plane.apply("flux-system", oci_repository("link", &world.registry.url("link"))).await?;
    world.plane.apply("flux-system", kustomization("link", "OCIRepository", "link", "./")).await?;

    // The source leaves the link out of its artifact, and nothing is left of it to build.
    let source = wait_ready(&world.api("OCIRepository", "flux-system").await?, "link", DEADLINE).await?;
    let revision = &source.data["status"]["artifact"]["revision"];
    assert!(revision.is_string(), "{}", source.data);
    let judged = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            let ready = condition(object, "Ready");
            object.data["status"]["lastAttemptedRevision"] == *revision
                && ready.is_some_and(|ready| ready.status != "Unknown")
        })
    };
    let api = world.api("Kustomization", "flux-system").await?;
    wait_for(&api, "link", "a verdict about the artifact", DEADLINE, judged).await?;
    assert!(world.api("ConfigMap", "default").await?.get_opt("a").await?.is_none());
    check_no_panic(&mut world)
}

#[tokio::test]
async fn an_artifact_of_another_digest_is_not_applied() -> Result<()> {
    let mut world = World::start().await?;
    let good = tar_gz("a.yaml", tar::EntryType::Regular, "", CONFIG_MAP);
    let served = good.clone();
    world.sink.answer_with(move |_| SinkAnswer { body: served.clone().into(), ..SinkAnswer::default() });
    let other = format!("sha256:{}", hex::encode(Sha256::digest(b"something else")));
    publish(&world, "other", &other).await?;
    world.plane.apply("flux-system", kustomization("other", "GitRepository", "other", "./")).await?;
    let kustomizations = world.api("Kustomization", "flux-system").await?;
    let told = wait_not_ready(&kustomizations, "other", "failed to verify archive", DEADLINE).await?;
    assert_eq!(told.reason, "ArtifactFailed", "{}", told.message);
    assert!(world.api("ConfigMap", "default").await?.get_opt("a").await?.is_none());

    // The same bytes under their own digest are applied: it was the digest that was refused.
    let own = format!("sha256:{}", hex::encode(Sha256::digest(&good)));
    publish(&world, "own", &own).await?;
    world.plane.apply("flux-system", kustomization("own", "GitRepository", "own", "./")).await?;
    wait_ready(&kustomizations, "own", DEADLINE).await?;
    check_no_panic(&mut world)
}

/// Plays another source controller: a suspended GitRepository with an artifact that the sink serves.
async fn publish(world: &World, name: &str, digest: &str) -> Result<()> {
    let object = with_spec(git_repository(name, "https://example.com/app"), json!({"suspend": true}));
    world.plane.apply("flux-system", object).await?;
    let status = json!({"status": {"observedGeneration": 1, "artifact": {
        "path": format!("gitrepository/flux-system/{name}/a.tar.gz"), "url": world.sink.url("/a.tar.gz"),
        "revision": "main@sha1:1111111111111111111111111111111111111111", "digest": digest,
        "lastUpdateTime": "2026-01-02T03:04:05Z"}}});
    let api = world.api("GitRepository", "flux-system").await?;
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

fn check_no_panic(world: &mut World) -> Result<()> {
    world.weir.check_running()?;
    assert!(!world.weir.log().contains("panicked"));
    Ok(())
}
