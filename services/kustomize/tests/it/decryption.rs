//! SOPS on the real control plane (KS-DEC-1 to KS-DEC-30), with what the real program has encrypted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, cm};

const AGE: &[&str] = &["age.agekey"];

fn data(name: &str) -> String {
    std::fs::read_to_string(weir_testkit::repo_path(&format!("crates/sops/tests/data/{name}"))).unwrap()
}

async fn keys(world: &World, name: &str, files: &[&str]) {
    let entries = files.iter().map(|file| ((*file).to_owned(), Value::from(data(&format!("keys/{file}")))));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": entries.collect::<serde_json::Map<_, _>>()});
    let params = PatchParams::apply("test").force();
    world.api("v1", "Secret").await.patch(name, &params, &Patch::Apply(secret)).await.unwrap();
}

async fn value(world: &World, secret: &str, key: &str) -> String {
    let found = world.api("v1", "Secret").await.get(secret).await.unwrap();
    let decoded = STANDARD.decode(found.data["data"][key].as_str().unwrap()).unwrap();
    String::from_utf8(decoded).unwrap()
}

/// KS-DEC-20, KS-DEC-24, KS-TST-19: a Secret, files and variables of a generator, a patch.
#[tokio::test(flavor = "multi_thread")]
async fn encrypted_secrets_and_files_are_applied_in_the_clear() {
    let world = World::new().await;
    keys(&world, "keys", AGE).await;
    let list = "resources: [secret.yaml, base, patched.yaml]\npatches: [{path: patch.yaml, target: {name: patched}}]\n";
    let patched = "apiVersion: v1\nkind: Secret\nmetadata: {name: patched}\n";
    let base = "generatorOptions: {disableNameSuffixHash: true}\nsecretGenerator:\n- name: made\n  files: [values.yaml=v, all=b]\n- name: env\n  envs: [e]\n";
    let (secret, yaml, binary, env) = (
        data("cases/secret.yaml"),
        data("cases/age.yaml"),
        data("cases/age.binary"),
        data("cases/age.dotenv"),
    );
    let files = [
        ("kustomization.yaml", list),
        ("secret.yaml", &secret),
        ("patched.yaml", patched),
        ("patch.yaml", &secret),
        ("base/kustomization.yaml", base),
        ("base/v", &yaml),
        ("base/b", &binary),
        ("base/e", &env),
    ];
    world.source("src", 1, &files).await;
    let decryption = json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}});
    world.kustomization("app", decryption.clone()).await;
    world.ready("app").await;
    assert_eq!(value(&world, "db", "password").await, "correct horse");
    assert_eq!(value(&world, "patched", "password").await, "correct horse");
    assert_eq!(value(&world, "made", "values.yaml").await, data("cases/age.yaml.plain"));
    assert_eq!(value(&world, "made", "all").await, data("cases/age.binary.plain"));
    assert_eq!(value(&world, "env", "PASSWORD").await, "p=ss\\nword");
    let events = world.events("app").await;
    assert!(!events.iter().any(|event| event.contains("correct horse")), "{events:?}");
    // The next revision is built, and so decrypted, anew: nothing else changes.
    let more = cm("more", "1");
    let list = list.replace("resources: [", "resources: [more.yaml, ");
    let files = files.into_iter().skip(1).chain([("kustomization.yaml", &*list), ("more.yaml", &more)]);
    let revision = world.source("src", 2, &files.collect::<Vec<_>>()).await;
    world.applied("app", &revision).await;
    let changes = world.event("app", "ConfigMap").await;
    assert_eq!(changes, format!("Progressing: ConfigMap/{}/more created", world.ns));
}

/// KS-DEC-1, KS-DEC-28: what is missing is named, and nothing is applied.
#[tokio::test(flavor = "multi_thread")]
async fn missing_and_wrong_keys() {
    let world = World::new().await;
    world.source("src", 1, &[("secret.yaml", &data("cases/secret.yaml"))]).await;
    let decryption = json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}});
    world.kustomization("app", decryption).await;
    let failed = world.not_ready("app", "BuildFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert_eq!(message, "secrets \"keys\" not found");
    keys(&world, "keys", &["pgp.asc"]).await;
    world.requested("app").await;
    let failed = world.not_ready("app", "BuildFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    let expected = format!(
        "decryption failed for 'Secret.v1.[noGrp]/db': failed to decrypt and format '{}/db' Secret data: cannot get sops data key: ",
        world.ns
    );
    assert!(message.starts_with(&expected), "{message}");
    assert!(world.api("v1", "Secret").await.get_opt("db").await.unwrap().is_none());
    // The right keys are taken at the next run.
    keys(&world, "keys", AGE).await;
    world.requested("app").await;
    world.ready("app").await;
    assert_eq!(value(&world, "db", "password").await, "correct horse");
}

/// KS-DEC-3: the age keys for all, which a Secret of its own replaces as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn age_keys_for_all() {
    let world = World::with_flags(&["--sops-age-secret=all-keys"]).await;
    let all = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "all-keys"},
        "stringData": {"a.agekey": data("keys/age.agekey")}});
    let _exists = world.plane().namespace("flux-system").await;
    let api = world.plane().api("v1", "Secret", "flux-system").await.unwrap();
    api.patch("all-keys", &PatchParams::apply("test").force(), &Patch::Apply(all)).await.unwrap();
    world.source("src", 1, &[("secret.yaml", &data("cases/secret.yaml"))]).await;
    world.kustomization("app", json!({"decryption": {"provider": "sops"}})).await;
    world.ready("app").await;
    assert_eq!(value(&world, "db", "password").await, "correct horse");
    keys(&world, "own", &["pgp.asc"]).await;
    let own = json!({"decryption": {"provider": "sops", "secretRef": {"name": "own"}}});
    world.kustomization("other", own).await;
    world.not_ready("other", "BuildFailed").await;
}

/// A stand-in of Vault's transit engine, whose ciphertext is the plaintext, for one token.
async fn vault() -> weir_testkit::Server {
    let answer = async |request: axum::extract::Request| {
        let token = request.headers().get("x-vault-token").cloned();
        let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        match token {
            Some(token) if token == "s.secret" => {
                let plain = body["ciphertext"].as_str().unwrap().strip_prefix("vault:v1:").unwrap();
                (axum::http::StatusCode::OK, json!({"data": {"plaintext": plain}}).to_string())
            }
            _ => (axum::http::StatusCode::FORBIDDEN, json!({"errors": ["permission denied"]}).to_string()),
        }
    };
    weir_testkit::Server::start(axum::Router::new().fallback(answer), None).await.unwrap()
}

/// KS-DEC-2, KS-DEC-12, KS-SOPS-5: a key that a server keeps, and the errors of one that refuses.
#[tokio::test(flavor = "multi_thread")]
async fn a_vault_keeps_the_key() {
    let (world, vault) = (World::new().await, vault().await);
    let address = format!("http://{}", vault.address());
    let key = weir_sops::DataKey::generate();
    let theirs =
        weir_sops::Document::read(data("cases/secret.yaml").as_bytes(), weir_sops::Format::Yaml).unwrap();
    let mut ring = weir_sops::Keyring::default();
    ring.identities.add(&data("keys/age.agekey")).unwrap();
    let plain = theirs.clone().decrypt(&theirs.data_key(&ring).unwrap()).unwrap();
    let master = weir_sops::MasterKey::Vault {
        address: address.clone(),
        engine: "transit".to_owned(),
        key: "sops".to_owned(),
        enc: format!("vault:v1:{}", STANDARD.encode(key.bytes())),
    };
    let metadata = weir_sops::Metadata { groups: vec![vec![master]], ..theirs.metadata };
    let ours = weir_sops::Document::encrypt(plain.trees, metadata, &key).unwrap();
    let ours = String::from_utf8(ours.write(weir_sops::Format::Yaml).unwrap()).unwrap();
    world.source("src", 1, &[("secret.yaml", &ours)]).await;
    let token = async |token: &str| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
            "stringData": {"sops.vault-token": token}});
        let params = PatchParams::apply("test").force();
        world.api("v1", "Secret").await.patch("keys", &params, &Patch::Apply(secret)).await.unwrap();
    };
    token("s.other-token").await;
    world
        .kustomization("app", json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}))
        .await;
    let failed = world.not_ready("app", "BuildFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(message.contains(&format!("{address}/v1/transit/keys/sops: FAILED")), "{message}");
    assert!(
        message.replace("\n      | ", " ").contains("permission denied")
            && !message.contains("s.other-token"),
        "{message}"
    );
    token("s.secret\n").await;
    world.requested("app").await;
    world.ready("app").await;
    assert_eq!(value(&world, "db", "password").await, "correct horse");
}
