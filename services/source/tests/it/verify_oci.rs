//! Cosign's signatures of artifacts in a real registry (SRC-OCI-22…25, SRC-SCK-4, SRC-SCK-5, B3).

use std::time::Duration;

use serde_json::{Value, json};
use weir_testkit::{CosignAlgorithm, CosignKey, Fault, FaultProxy, Registry, condition, touch_requested_at};

use crate::world::{DEADLINE, World, files};

const OCI: &str = "OCIRepository";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

pub async fn pushed(registry: &Registry, repository: &str, content: &str) -> String {
    registry.push_artifact(repository, "latest", &[("a.yaml", content)]).await.unwrap()
}

async fn signed(registry: &Registry, repository: &str, digest: &str, key: &CosignKey) {
    registry.push_cosign(repository, digest, &[key.sign(digest).unwrap()]).await.unwrap();
}

pub async fn bundled(registry: &Registry, repository: &str, digest: &str, bundle: &str) {
    registry.attach(repository, digest, BUNDLE, BUNDLE, bundle.as_bytes()).await.unwrap();
}

fn key() -> CosignKey {
    CosignKey::generate(CosignAlgorithm::P256).unwrap()
}

fn by(secret: &str) -> Value {
    json!({"verify": {"provider": "cosign", "secretRef": {"name": secret}}})
}

pub async fn verified(world: &World, name: &str) -> Option<(String, String, String)> {
    let object = world.api(OCI).await.get(name).await.unwrap();
    condition(&object, "SourceVerified").map(|found| (found.status, found.reason, found.message))
}

pub fn good(digest: &str) -> Option<(String, String, String)> {
    let message = format!("verified signature of revision latest@{digest}");
    Some(("True".into(), "Succeeded".into(), message))
}

#[tokio::test]
async fn any_key_of_the_secret_in_both_layouts() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let (ours, theirs) = (key(), key());
    let old = pushed(&registry, "old", "a: 1\n").await;
    signed(&registry, "old", &old, &ours).await;
    let new = pushed(&registry, "new", "a: 2\n").await;
    bundled(&registry, "new", &new, &theirs.bundle(&new).unwrap()).await;
    bundled(&registry, "new", &new, &ours.bundle(&new).unwrap()).await;
    let keys = json!({"a.pub": key().public_pem(), "b.pub": ours.public_pem(), "c.txt": "no key"});
    world.secret("keys", "Opaque", keys).await;
    world.oci("old", &registry.url("old"), by("keys")).await;
    world.oci("new", &registry.url("new"), by("keys")).await;
    for (name, digest) in [("old", old), ("new", new)] {
        let status = world.ready(OCI, name).await;
        assert_eq!(status["artifact"]["revision"], format!("latest@{digest}"));
        assert_eq!(files(&status).await.len(), 1);
        assert_eq!(verified(&world, name).await, good(&digest));
    }
    world.oci("old", &registry.url("old"), json!({})).await;
    world.until(OCI, "old", "no verdict", |object| condition(object, "SourceVerified").is_none()).await;
}

#[tokio::test]
async fn what_is_not_signed_by_them_is_not_pulled() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let (ours, theirs) = (key(), key());
    let digests = [
        pushed(&registry, "unsigned", "a: 0\n").await,
        pushed(&registry, "theirs", "a: 1\n").await,
        pushed(&registry, "elsewhere", "a: 2\n").await,
        pushed(&registry, "bundle", "a: 3\n").await,
    ];
    signed(&registry, "theirs", &digests[1], &theirs).await;
    // Our signature of another artifact, put where this one's would be.
    let copied = ours.sign(&digests[0]).unwrap();
    registry.push_cosign("elsewhere", &digests[2], &[copied]).await.unwrap();
    bundled(&registry, "bundle", &digests[3], &ours.bundle(&digests[0]).unwrap()).await;
    world.secret("keys", "Opaque", json!({"a.pub": ours.public_pem()})).await;
    world.secret("empty", "Opaque", json!({"a.asc": "x"})).await;
    let prefix = "failed to verify the signature using provider 'cosign': ";
    let names = ["unsigned", "theirs", "elsewhere", "bundle"];
    for name in names {
        world.oci(name, &registry.url(name), by("keys")).await;
    }
    world.oci("nokeys", &registry.url("unsigned"), by("empty")).await;
    world.oci("nosecret", &registry.url("unsigned"), by("nope")).await;
    for (name, digest) in names.into_iter().zip(&digests) {
        let address = registry.address();
        let message = format!("{prefix}no matching signatures were found for '{address}/{name}@{digest}'");
        assert_eq!(world.failure(OCI, name).await, ("VerificationError".into(), message));
        assert!(world.api(OCI).await.get(name).await.unwrap().data["status"]["artifact"].is_null());
    }
    let place = format!("{}/empty", world.namespace);
    let expected = format!("{prefix}no public keys found in secret '{place}'");
    assert_eq!(world.failure(OCI, "nokeys").await.1, expected);
    assert_eq!(world.failure(OCI, "nosecret").await.1, format!("{prefix}secrets \"nope\" not found"));
}

#[tokio::test]
async fn a_tag_that_moves_to_something_unsigned_and_keys_that_change() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let ours = key();
    let first = pushed(&registry, "app", "a: 1\n").await;
    signed(&registry, "app", &first, &ours).await;
    world.secret("keys", "Opaque", json!({"a.pub": ours.public_pem()})).await;
    world.oci("app", &registry.url("app"), by("keys")).await;
    let before = world.ready(OCI, "app").await;
    let second = pushed(&registry, "app", "a: 2\n").await;
    touch_requested_at(&world.api(OCI).await, "app").await.unwrap();
    let (reason, message) = world.failure(OCI, "app").await;
    assert_eq!(reason, "VerificationError", "{message}");
    let after = world.api(OCI).await.get("app").await.unwrap().data["status"].clone();
    assert_eq!(after["artifact"], before["artifact"], "the old artifact stays");
    signed(&registry, "app", &second, &ours).await;
    touch_requested_at(&world.api(OCI).await, "app").await.unwrap();
    world.at(OCI, "app", &second).await;
    world.ready(OCI, "app").await;
    world.secret("keys", "Opaque", json!({"a.pub": key().public_pem()})).await;
    touch_requested_at(&world.api(OCI).await, "app").await.unwrap();
    assert_eq!(world.failure(OCI, "app").await.0, "VerificationError");
}

/// SRC-SCK-5: the tag is resolved once. The digest found then is checked and pulled, so that a tag that moves
/// meanwhile has no effect.
#[tokio::test]
async fn after_the_first_look_everything_is_asked_for_by_digest() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let ours = key();
    let digest = pushed(&registry, "app", "a: 1\n").await;
    signed(&registry, "app", &digest, &ours).await;
    world.secret("keys", "Opaque", json!({"a.pub": ours.public_pem()})).await;
    let proxy = FaultProxy::http(registry.address()).await.unwrap();
    // The first question about the digest is answered when the tag has moved.
    proxy.set_for("sha256", 1, Fault::Delay(Duration::from_secs(3)));
    world.oci("app", &proxy.url(&registry.url("app")), by("keys")).await;
    proxy.wait_for("sha256", 1, DEADLINE).await.unwrap();
    pushed(&registry, "app", "a: 2\n").await;
    let status = world.ready(OCI, "app").await;
    assert_eq!(status["artifact"]["revision"], format!("latest@{digest}"));
    let asked = proxy.requests();
    let (by_tag, others): (Vec<&String>, Vec<&String>) = asked
        .iter()
        .filter(|line| line.contains("/v2/app/"))
        .partition(|line| line.contains("/manifests/latest "));
    assert_eq!(by_tag.len(), 1, "{asked:?}");
    let hex = digest.trim_start_matches("sha256:");
    assert!(others.iter().all(|line| line.contains("sha256")), "{asked:?}");
    // Referrers, signature and manifest are those of the digest that was seen.
    assert!(others.iter().filter(|line| line.contains(hex)).count() >= 3, "{asked:?}");
}
