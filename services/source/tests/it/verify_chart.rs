//! Signatures of charts in a real registry (SRC-CHT-10, DEV 8, B3).

use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::{
    Artifact, CosignAlgorithm, CosignKey, FaultProxy, NotationCertificate, NotationSigner, Registry,
    Sigstore, condition, touch_requested_at,
};

use crate::chart_server::{ChartServer, chart};
use crate::verify_oci::bundled;
use crate::world::World;

const CHART: &str = "HelmChart";
const HELM: &str = "HelmRepository";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

async fn pushed(registry: &Registry, name: &str, notes: &str) -> String {
    let layer = chart(name, "1.0.0", &[("NOTES.txt", notes)]);
    let artifact = Artifact { layer_media_type: LAYER.into(), ..Artifact::of_layer(layer) };
    registry.push_artifact_with(&format!("charts/{name}"), "1.0.0", artifact).await.unwrap()
}

async fn wanted(world: &World, name: &str, chart: &str, verify: Value) {
    let source = json!({"kind": HELM, "name": "repo"});
    let spec =
        json!({"interval": "1h", "chart": chart, "version": "1.x", "sourceRef": source, "verify": verify});
    world.apply(CHART, name, spec).await;
}

fn by(provider: &str, secret: &str) -> Value {
    json!({"provider": provider, "secretRef": {"name": secret}})
}

fn said(object: &DynamicObject, kind: &str) -> Option<(String, String, String)> {
    condition(object, kind).map(|found| (found.status, found.reason, found.message))
}

fn expected(status: &str, reason: &str, message: &str) -> Option<(String, String, String)> {
    Some((status.to_owned(), reason.to_owned(), message.to_owned()))
}

#[tokio::test]
async fn charts_of_a_registry_are_pulled_if_they_are_signed() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let stranger = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let signer = NotationSigner::create(NotationCertificate::Good).unwrap();
    let app = pushed(&registry, "app", "first").await;
    registry.push_cosign("charts/app", &app, &[key.sign(&app).unwrap()]).await.unwrap();
    let notary = pushed(&registry, "notary", "first").await;
    let signature = signer.sign(&notary, &json!({})).unwrap();
    let (kind, media_type) = ("application/vnd.cncf.notary.signature", "application/jose+json");
    registry.attach("charts/notary", &notary, kind, media_type, &signature).await.unwrap();
    let theirs = pushed(&registry, "theirs", "first").await;
    registry.push_cosign("charts/theirs", &theirs, &[stranger.sign(&theirs).unwrap()]).await.unwrap();
    // Flux fails on the first key that does not fit.
    world
        .secret(
            "keys",
            "Opaque",
            json!({"a.pub": CosignKey::generate(CosignAlgorithm::Rsa).unwrap().public_pem(),
        "b.pub": key.public_pem()}),
        )
        .await;
    world.secret("none", "Opaque", json!({"a": "b"})).await;
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "a", "registryScopes": [format!("{}/charts/notary", registry.address())],
        "signatureVerification": {"level": "strict"}, "trustStores": ["ca:a"], "trustedIdentities": ["*"],
    }]});
    let notation = json!({"trustpolicy.json": policy.to_string(), "ca.crt": signer.trusted_pem()});
    world.secret("notation", "Opaque", notation).await;
    world.apply(HELM, "repo", json!({"url": registry.url("charts"), "type": "oci", "insecure": true})).await;
    wanted(&world, "app", "app", by("cosign", "keys")).await;
    let merged = json!({"interval": "1h", "chart": "app", "valuesFiles": ["values.yaml", "other.yaml"],
        "ignoreMissingValuesFiles": true, "sourceRef": {"kind": HELM, "name": "repo"},
        "verify": by("cosign", "keys")});
    world.apply(CHART, "merged", merged).await;
    wanted(&world, "notary", "notary", by("notation", "notation")).await;
    wanted(&world, "theirs", "theirs", by("cosign", "keys")).await;
    wanted(&world, "nokeys", "app", by("cosign", "none")).await;
    for name in ["app", "notary"] {
        world.ready(CHART, name).await;
        let object = world.api(CHART).await.get(name).await.unwrap();
        let good = expected("True", "Succeeded", "verified signature of version 1.0.0");
        assert_eq!(said(&object, "SourceVerified"), good, "{name}");
    }
    world.ready(CHART, "merged").await;
    let object = world.api(CHART).await.get("merged").await.unwrap();
    let good = expected("True", "Succeeded", "verified signature of version 1.0.0+1");
    assert_eq!(said(&object, "SourceVerified"), good, "the version of what is made of it");
    let provider = "failed to verify the signature using provider 'cosign':";
    let address = registry.address();
    let bad = format!(
        "chart verification error: failed to verify oci://{address}/charts/theirs:1.0.0: no matching signatures were found for \
         '{address}/charts/theirs@{theirs}'"
    );
    assert_eq!(world.failure(CHART, "theirs").await, ("VerificationError".to_owned(), bad.clone()));
    let object = world.api(CHART).await.get("theirs").await.unwrap();
    assert_eq!(said(&object, "BuildFailed"), expected("True", "ChartVerificationError", &bad));
    assert_eq!(said(&object, "SourceVerified"), expected("False", "VerificationError", &bad));
    assert!(object.data["status"]["artifact"].is_null());
    let nokeys = format!("{provider} no public keys found in secret '{}/none'", world.namespace);
    assert_eq!(world.failure(CHART, "nokeys").await, ("VerificationError".to_owned(), nokeys));
}

#[tokio::test]
async fn a_tag_that_moves_to_an_unsigned_chart_changes_nothing() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let first = pushed(&registry, "app", "first").await;
    registry.push_cosign("charts/app", &first, &[key.sign(&first).unwrap()]).await.unwrap();
    world.secret("keys", "Opaque", json!({"a.pub": key.public_pem()})).await;
    world.apply(HELM, "repo", json!({"url": registry.url("charts"), "type": "oci", "insecure": true})).await;
    wanted(&world, "app", "app", by("cosign", "keys")).await;
    let before = world.ready(CHART, "app").await;
    pushed(&registry, "app", "second").await;
    touch_requested_at(&world.api(CHART).await, "app").await.unwrap();
    let address = registry.address();
    let unsigned = format!(
        "chart verification error: failed to verify oci://{address}/charts/app:1.0.0: no signatures found"
    );
    assert_eq!(world.failure(CHART, "app").await, ("VerificationError".to_owned(), unsigned));
    let after = world.api(CHART).await.get("app").await.unwrap().data["status"].clone();
    assert_eq!(after["artifact"], before["artifact"]);
}

#[tokio::test]
async fn charts_of_an_index_cannot_be_verified() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    server.publish("/charts", &["1.0.0"]);
    world.apply(HELM, "repo", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    world.ready(HELM, "repo").await;
    wanted(&world, "app", "app", by("cosign", "keys")).await;
    let message = "chart verification error: not implemented".to_owned();
    assert_eq!(world.failure(CHART, "app").await, ("VerificationError".to_owned(), message));
}

/// B3, SRC-OCI-25 for charts: the layout of cosign's third version; and a signature without a key, which the public Sigstore
/// has not witnessed.
#[tokio::test]
async fn bundles_and_signatures_without_a_key() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let (app, keyless) = (pushed(&registry, "app", "n").await, pushed(&registry, "keyless", "n").await);
    bundled(&registry, "charts/app", &app, &key.bundle(&app).unwrap()).await;
    let own = Sigstore::create().unwrap().bundle(&keyless, "dev@example.com", "https://accounts.example.com");
    bundled(&registry, "charts/keyless", &keyless, &own.unwrap().to_string()).await;
    world.secret("keys", "Opaque", json!({"a.pub": key.public_pem()})).await;
    world.apply(HELM, "repo", json!({"url": registry.url("charts"), "type": "oci", "insecure": true})).await;
    wanted(&world, "app", "app", by("cosign", "keys")).await;
    let anyone = json!([{"issuer": ".*", "subject": ".*"}]);
    wanted(&world, "keyless", "keyless", json!({"provider": "cosign", "matchOIDCIdentity": anyone})).await;
    world.ready(CHART, "app").await;
    let object = world.api(CHART).await.get("app").await.unwrap();
    let good = expected("True", "Succeeded", "verified signature of version 1.0.0");
    assert_eq!(said(&object, "SourceVerified"), good);
    let (reason, message) = world.failure(CHART, "keyless").await;
    assert_eq!(reason, "VerificationError", "{message}");
    let start = "chart verification error: failed to verify oci://";
    assert!(
        message.starts_with(start) && message.contains("/charts/keyless:1.0.0: no matching"),
        "{message}"
    );
}

/// DEV 8: what is verified and pulled is what the tag was when it was looked at, whatever it is now.
#[tokio::test]
async fn charts_are_asked_for_by_digest_after_the_first_look() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let proxy = FaultProxy::http(registry.address()).await.unwrap();
    let key = CosignKey::generate(CosignAlgorithm::P256).unwrap();
    let app = pushed(&registry, "app", "first").await;
    registry.push_cosign("charts/app", &app, &[key.sign(&app).unwrap()]).await.unwrap();
    world.secret("keys", "Opaque", json!({"a.pub": key.public_pem()})).await;
    let url = proxy.url(&registry.url("charts"));
    world.apply(HELM, "repo", json!({"url": url, "type": "oci", "insecure": true})).await;
    wanted(&world, "app", "app", by("cosign", "keys")).await;
    world.ready(CHART, "app").await;
    let asked = proxy.requests();
    let (by_tag, others): (Vec<_>, Vec<_>) = asked
        .iter()
        .filter(|line| line.contains("/v2/charts/app/") && !line.contains("/tags/list"))
        .partition(|line| line.contains("/manifests/1.0.0"));
    assert_eq!(by_tag.len(), 1, "{asked:#?}");
    assert!(!others.is_empty() && others.iter().all(|line| line.contains("sha256")), "{asked:#?}");
}
