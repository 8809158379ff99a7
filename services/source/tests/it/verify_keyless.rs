//! Keyless signatures of artifacts: certificates and logs of a Sigstore instance of our own (SRC-OCI-24, SRC-OCI-25, B3, C2).

use std::sync::Arc;

use axum::extract::State;
use axum::{Json, Router, routing::post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::core::DynamicObject;
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{Artifact, CosignSignature, Fault, FaultProxy, Registry, Server, Sigstore, eventually};

use crate::verify_oci::{bundled, good, pushed, verified};
use crate::world::{DEADLINE, World};

const OCI: &str = "OCIRepository";
const ISSUER: &str = "https://accounts.example.com";
const DEV: &str = "dev@example.com";
/// Annotation in which cosign before its third version keeps the log's word.
const LOGGED: &str = "dev.sigstore.cosign/bundle";

/// An empty list of identities accepts anyone, with a warning (DEV 28).
#[tokio::test]
async fn keyless_with_a_root_of_our_own() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let sigstore = Sigstore::create().unwrap();
    let old = pushed(&registry, "old", "a: 1\n").await;
    registry.push_cosign("old", &old, &[sigstore.sign(&old, DEV, ISSUER).unwrap()]).await.unwrap();
    let new = pushed(&registry, "new", "a: 2\n").await;
    let bundle = sigstore.bundle(&new, DEV, ISSUER).unwrap().to_string();
    bundled(&registry, "new", &new, &bundle).await;
    world.secret("root", "Opaque", json!({"trusted_root.json": sigstore.trusted_root().to_string()})).await;
    let keyless = |issuer: &str| {
        json!({"verify": {
            "provider": "cosign", "trustedRootSecretRef": {"name": "root"},
            "matchOIDCIdentity": [{"issuer": issuer, "subject": "^dev@example.com$"}],
        }})
    };
    world.oci("old", &registry.url("old"), keyless("^https://accounts.example.com$")).await;
    world.oci("new", &registry.url("new"), keyless("^https://accounts.example.com$")).await;
    world.oci("stranger", &registry.url("new"), keyless("^https://token.actions")).await;
    let anyone = json!({"verify": {"provider": "cosign", "trustedRootSecretRef": {"name": "root"}}});
    world.oci("anyone", &registry.url("new"), anyone).await;
    for (name, digest) in [("old", &old), ("new", &new), ("anyone", &new)] {
        world.ready(OCI, name).await;
        assert_eq!(verified(&world, name).await, good(digest), "{name}");
    }
    let (reason, message) = world.failure(OCI, "stranger").await;
    assert_eq!(reason, "VerificationError");
    assert_eq!(
        message,
        format!(
            "failed to verify the signature using provider 'cosign keyless': no matching signatures: none of the expected \
             identities matched what was in the certificate, got subjects [{DEV}] with issuer {ISSUER}"
        )
    );
    assert!(warned(&world, "anyone").await.contains("a signature of any identity is accepted"));
}

/// SRC-OCI-22: a run that is made obsolete while it pulls has verified, and said nothing of it; the next one says all of it.
#[tokio::test]
async fn a_verdict_outlives_the_run_that_came_to_it() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let (sigstore, proxy) =
        (Sigstore::create().unwrap(), FaultProxy::http(registry.address()).await.unwrap());
    let artifact = Artifact::of_files(&[("a.yaml", "a: 1\n")]).unwrap();
    let layer = format!("/blobs/{}", Digest::of(Algorithm::Sha256, &artifact.layer));
    let digest = registry.push_artifact_with("app", "latest", artifact).await.unwrap();
    bundled(&registry, "app", &digest, &sigstore.bundle(&digest, DEV, ISSUER).unwrap().to_string()).await;
    world.secret("root", "Opaque", json!({"trusted_root.json": sigstore.trusted_root().to_string()})).await;
    proxy.set_for(&layer, 1, Fault::StallAfter(0));
    let anyone = json!({"verify": {"provider": "cosign", "trustedRootSecretRef": {"name": "root"}}});
    world.oci("app", &proxy.url(&registry.url("app")), anyone).await;
    proxy.wait_for(&layer, 1, DEADLINE).await.unwrap();
    world.reconciled(OCI, "app").await;
    world.ready(OCI, "app").await;
    assert_eq!(verified(&world, "app").await, good(&digest));
    assert!(warned(&world, "app").await.contains("a signature of any identity is accepted"));
}

/// The message of the warning about an object.
async fn warned(world: &World, name: &str) -> String {
    let events = world.plane.api("v1", "Event", &world.namespace).await.unwrap();
    eventually("a warning", DEADLINE, || async {
        let list = events.list(&kube::api::ListParams::default()).await.ok()?;
        let about = |event: &&DynamicObject| {
            event.data["involvedObject"]["name"] == name && event.data["type"] == "Warning"
        };
        Some(list.items.iter().find(about)?.data["message"].as_str()?.to_owned())
    })
    .await
    .unwrap()
}

/// A transparency log over HTTP: bodies of entries, with the log's statements about them.
#[derive(Clone, Default)]
struct Log {
    entries: Arc<Mutex<Vec<(Value, Value)>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Log {
    async fn serve(&self) -> Server {
        let routes = Router::new().route("/api/v1/log/entries/retrieve", post(answer));
        Server::start(routes.with_state(self.clone()), None).await.unwrap()
    }

    /// Takes the log's statement out of a signature, and returns it on a request for this or for `another` signature.
    fn keep(&self, mut signature: CosignSignature, another: Option<&CosignSignature>) -> CosignSignature {
        let word = |signature: &CosignSignature| -> (Value, Value) {
            let bundle: Value = serde_json::from_str(&signature.annotations[LOGGED]).unwrap();
            let body = STANDARD.decode(bundle["Payload"]["body"].as_str().unwrap()).unwrap();
            let mut entry = bundle["Payload"].clone();
            entry["verification"] = json!({"signedEntryTimestamp": bundle["SignedEntryTimestamp"]});
            (serde_json::from_slice(&body).unwrap(), entry)
        };
        let (body, entry) = word(&signature);
        let entry = another.map_or(entry, |another| word(another).1);
        self.entries.lock().push((body, entry));
        signature.annotations.remove(LOGGED);
        signature
    }
}

async fn answer(State(log): State<Log>, Json(query): Json<Value>) -> Json<Value> {
    log.asked.lock().push(query["entries"][0].clone());
    let entries = log.entries.lock();
    let found = entries.iter().filter(|(body, _)| *body == query["entries"][0]);
    Json(found.map(|(_, entry)| json!({"24296fb24b8ad77a": entry})).collect())
}

/// Signatures that come without the log's statement are looked up where the trusted root points; the log is trusted
/// for the statements that it has signed, not for its answers.
#[tokio::test]
async fn what_comes_without_the_logs_word_is_looked_up() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let (sigstore, log) = (Sigstore::create().unwrap(), Log::default());
    let server = log.serve().await;
    let mut root = sigstore.trusted_root();
    root["tlogs"][0]["baseUrl"] = json!(format!("http://{}", server.address()));
    world.secret("root", "Opaque", json!({"trusted_root.json": root.to_string()})).await;
    root["tlogs"][0]["baseUrl"] = json!("http://127.0.0.1:1");
    world.secret("away", "Opaque", json!({"trusted_root.json": root.to_string()})).await;
    let sign = |digest: &str| sigstore.sign(digest, DEV, ISSUER).unwrap();
    let mut digests = Vec::new();
    for name in ["known", "unknown", "lies"] {
        let digest = pushed(&registry, name, name).await;
        let signature = match name {
            "known" => log.keep(sign(&digest), None),
            "lies" => log.keep(sign(&digest), Some(&sign(&digest))),
            _ => Log::default().keep(sign(&digest), None),
        };
        registry.push_cosign(name, &digest, &[signature]).await.unwrap();
        digests.push(digest);
    }
    let by = |root: &str| {
        json!({"verify": {
            "provider": "cosign", "trustedRootSecretRef": {"name": root},
            "matchOIDCIdentity": [{"issuer": ".*", "subject": "^dev@example.com$"}],
        }})
    };
    for name in ["known", "unknown", "lies"] {
        world.oci(name, &registry.url(name), by("root")).await;
    }
    world.oci("away", &registry.url("known"), by("away")).await;
    world.ready(OCI, "known").await;
    assert_eq!(verified(&world, "known").await, good(&digests[0]));
    let prefix = "failed to verify the signature using provider 'cosign keyless': no matching signatures: ";
    for (name, part) in [
        ("unknown", "signature not found in transparency log"),
        ("lies", ""),
        (
            "away",
            "transparency log 'http://127.0.0.1:1' cannot be asked: dial tcp 127.0.0.1:1: connect: connection refused",
        ),
    ] {
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "VerificationError");
        assert!(message.starts_with(&format!("{prefix}{part}")), "{name}: {message}");
        assert!(world.api(OCI).await.get(name).await.unwrap().data["status"]["artifact"].is_null(), "{name}");
    }
    world.reconciled(OCI, "known").await;
    let known = log.entries.lock()[0].0.clone();
    let asked = log.asked.lock().iter().filter(|body| **body == known).count();
    assert_eq!(asked, 1, "what is verified is not asked for again");
}
