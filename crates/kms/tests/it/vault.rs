//! The transit engine of Vault: `POST /transit/decrypt/:name`, and logins with a ServiceAccount's token (KS-SOPS-5, KS-DEC-12,
//! KS-DEC-13).

use std::process::Command;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_http::Profile;
use weir_kms::{Held, KeyServers, Keys, LoginPaths};
use weir_sops::{DataKey, Document, Format, Keyring, MasterKey};
use weir_testkit::Server;

use crate::world::{
    NAMESPACE, account, backwards, claims, data_key, document, keys, logins, owner, plane, refusal,
    sops_data, standard,
};

type Requests = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A stand-in of Vault, which keeps the key `sops` and knows two tokens.
struct Vault {
    server: Server,
    requests: Requests,
}

impl Vault {
    async fn start() -> Self {
        let requests = Requests::default();
        let app = Router::new().fallback(answer).with_state(Arc::clone(&requests));
        Self { server: Server::start(app, None).await.unwrap(), requests }
    }

    fn address(&self) -> String {
        format!("http://{}", self.server.address())
    }

    fn master(&self, name: &str, key: &DataKey) -> MasterKey {
        MasterKey::Vault {
            address: self.address(),
            engine: "team/transit".to_owned(),
            key: name.to_owned(),
            enc: format!("vault:v1:{}", standard(&backwards(key.bytes()))),
        }
    }
}

async fn answer(State(requests): State<Requests>, request: Request) -> impl IntoResponse {
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let token = request.headers().get("x-vault-token").map(|token| token.to_str().unwrap().to_owned());
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    requests.lock().push((format!("{method} {path}"), token.clone().unwrap_or_default(), body.clone()));
    // A standby takes over.
    if token.as_deref() == Some("s.slow") && requests.lock().len() == 1 {
        return (StatusCode::SERVICE_UNAVAILABLE, json!({"errors": ["Vault is sealed"]}).to_string());
    }
    let (status, answer) = respond(&path, token.as_deref(), &body);
    (status, answer.to_string())
}

fn respond(path: &str, token: Option<&str>, body: &Value) -> (StatusCode, Value) {
    let denied = (StatusCode::FORBIDDEN, json!({"errors": ["permission denied"]}));
    if path == "/v1/auth/kubernetes-c1/login" {
        let role = body["role"].as_str().unwrap_or_default();
        return match role {
            "default_vault-sops" => (StatusCode::OK, json!({"auth": {"client_token": "s.account"}})),
            _ => (StatusCode::BAD_REQUEST, json!({"errors": [format!("invalid role name {role:?}")]})),
        };
    }
    if !matches!(token, Some("s.secret" | "s.account" | "s.slow")) {
        return denied;
    }
    match path {
        "/v1/team/transit/encrypt/sops" => {
            let plain = STANDARD.decode(body["plaintext"].as_str().unwrap()).unwrap();
            let ciphertext = format!("vault:v1:{}", standard(&backwards(&plain)));
            (StatusCode::OK, json!({"data": {"ciphertext": ciphertext}}))
        }
        "/v1/team/transit/decrypt/sops" => {
            let ciphertext = body["ciphertext"].as_str().unwrap().strip_prefix("vault:v1:").unwrap();
            let plain = backwards(&STANDARD.decode(ciphertext).unwrap());
            (StatusCode::OK, json!({"data": {"plaintext": standard(&plain)}}))
        }
        _ => denied,
    }
}

fn held(token: &str) -> Held {
    Held { vault: Some(token.to_owned().into()), ..Held::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_holds_a_token() {
    let (vault, key) = (Vault::start().await, DataKey::generate());
    let encrypted = document(vec![vec![vault.master("sops", &key)]], &key);
    let found = data_key(&encrypted, keys(Profile::default(), None, held("s.secret")).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    let (line, token, _) = vault.requests.lock()[0].clone();
    assert_eq!((line.as_str(), token.as_str()), ("POST /v1/team/transit/decrypt/sops", "s.secret"));
    // A key that the token may not use.
    let encrypted = document(vec![vec![vault.master("other", &key)]], &key);
    let error = refusal(&encrypted, keys(Profile::default(), None, held("s.secret")).await).await;
    assert!(error.contains(&format!("{}/v1/team/transit/keys/other: FAILED", vault.address())), "{error}");
    let expected =
        "failed to decrypt sops data key from Vault transit backend 'team/transit/decrypt/other': ";
    assert!(error.contains(expected) && error.contains("permission denied"), "{error}");
    assert!(!error.contains("s.secret"), "{error}");
}

/// KS-DEC-13: as Vault's own client does.
#[tokio::test(flavor = "multi_thread")]
async fn a_vault_in_trouble_is_asked_again() {
    let (vault, key) = (Vault::start().await, DataKey::generate());
    let encrypted = document(vec![vec![vault.master("sops", &key)]], &key);
    let found = data_key(&encrypted, keys(Profile::default(), None, held("s.slow")).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    assert_eq!(vault.requests.lock().len(), 2);
}

/// The keys of an object whose operator has a ConfigMap with ways to log in.
async fn with_login(account: &str, config_map: &str, held: Held) -> Keys {
    let paths = LoginPaths::new(plane().await.client().unwrap(), NAMESPACE, config_map);
    let servers = KeyServers::new(logins().await, Profile::default(), Some(paths));
    servers.keys(owner(Some(account)), held, Keyring::default())
}

async fn config_map(name: &str, key: &str, config: &str) {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: config}});
    plane().await.apply(NAMESPACE, object).await.unwrap();
}

/// KS-DEC-13: a token for the address, a role named for the account, one login for all keys of a run.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_logs_in() {
    let (vault, key) = (Vault::start().await, DataKey::generate());
    account("vault-sops", json!({})).await;
    let instance =
        format!("instances: [{{address: '{}', loginPath: auth/kubernetes-c1/login}}]", vault.address());
    config_map("vault-logins", "config.yaml", &instance).await;
    // Both groups are needed.
    let groups = vec![vec![vault.master("sops", &key)], vec![vault.master("sops", &key)]];
    let asked = with_login("vault-sops", "vault-logins", Held::default()).await;
    let error = data_key(&document(groups, &key), asked).await.err().map(|error| error.to_string());
    // Both halves are the same here, which no share is: that both were asked for is what counts.
    assert!(error.is_some(), "equal shares");
    let requests = vault.requests.lock().clone();
    let lines: Vec<&str> = requests.iter().map(|(line, ..)| line.as_str()).collect();
    let decrypt = "POST /v1/team/transit/decrypt/sops";
    assert_eq!(lines, ["POST /v1/auth/kubernetes-c1/login", decrypt, decrypt]);
    assert_eq!((requests[0].1.as_str(), requests[1].1.as_str()), ("", "s.account"));
    let claims = claims(requests[0].2["jwt"].as_str().unwrap());
    assert_eq!(claims["aud"], json!([vault.address()]));
    assert_eq!(claims["sub"], format!("system:serviceaccount:{NAMESPACE}:vault-sops"));
    // The token of the Secret comes first.
    let encrypted = document(vec![vec![vault.master("sops", &key)]], &key);
    let asked = with_login("vault-sops", "vault-logins", held("s.secret")).await;
    assert_eq!(data_key(&encrypted, asked).await.unwrap().bytes(), key.bytes());
    assert_eq!(vault.requests.lock()[3].1, "s.secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_that_are_refused() {
    let (vault, key) = (Vault::start().await, DataKey::generate());
    account("vault-unbound", json!({})).await;
    let address = vault.address();
    let instance = format!("instances: [{{address: '{address}', loginPath: auth/kubernetes-c1/login}}]");
    config_map("vault-known", "config.yaml", &instance).await;
    config_map("vault-unknown", "config.yaml", "instances: []").await;
    config_map("vault-empty", "other", "").await;
    let encrypted = document(vec![vec![vault.master("sops", &key)]], &key);
    for (account, config_map, expected) in [
        (
            "vault-unbound",
            "vault-known",
            format!("failed to authenticate with Vault '{address}' at login path 'auth/kubernetes-c1/login' as role 'default_vault-unbound': "),
        ),
        (
            "vault-unbound",
            "vault-unknown",
            format!("no Vault login path configured for address '{address}' in ConfigMap 'default/vault-unknown'"),
        ),
        (
            "vault-unbound",
            "vault-empty",
            "Vault ConfigMap 'default/vault-empty' is missing the 'config.yaml' key".to_owned(),
        ),
        ("vault-unbound", "vault-gone", "failed to get Vault ConfigMap 'default/vault-gone': ".to_owned()),
        (
            "vault-gone",
            "vault-known",
            "failed to issue Kubernetes token for Vault authentication: failed to get service account 'default/vault-gone': ".to_owned(),
        ),
    ] {
        let error = refusal(&encrypted, with_login(account, config_map, Held::default()).await).await;
        assert!(error.contains(&expected), "{error}");
    }
    // Nothing was told to a Vault that the operator does not name.
    assert!(vault.requests.lock().iter().all(|(line, ..)| line.ends_with("/login")));
}

/// A document may name any path.
#[tokio::test(flavor = "multi_thread")]
async fn paths_stay_below_the_engine() {
    let (vault, key) = (Vault::start().await, DataKey::generate());
    for name in ["../../sys/seal", "a?b", "a#b"] {
        let encrypted = document(vec![vec![vault.master(name, &key)]], &key);
        refusal(&encrypted, keys(Profile::default(), None, held("s.secret")).await).await;
    }
    let expected = ["/v1/team/transit/decrypt/a%3Fb", "/v1/team/transit/decrypt/a%23b"];
    let requests = vault.requests.lock().clone();
    let paths: Vec<&str> = requests.iter().filter_map(|(line, ..)| line.strip_prefix("POST ")).collect();
    assert_eq!(paths, expected);
}

/// The real program encrypts with the stand-in's key; it is decrypted here.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_program() {
    // Whoever builds the project has no Go program of this name.
    let Some(program) = weir_testkit::named_program("SOPS_BIN", "sops").unwrap() else { return };
    let vault = Vault::start().await;
    let key = format!("{}/v1/team/transit/keys/sops", vault.address());
    let mut command = Command::new(program);
    command.args(["encrypt", "--hc-vault-transit", &key]).arg(sops_data("plain/doc.yaml"));
    command.env("VAULT_TOKEN", "s.secret").env_remove("HTTP_PROXY").env_remove("HTTPS_PROXY");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let encrypted = Document::read(&output.stdout, Format::Yaml).unwrap();
    let found = data_key(&encrypted, keys(Profile::default(), None, held("s.secret")).await).await.unwrap();
    let plain = encrypted.clone().decrypt(&found).unwrap();
    plain.verify(&encrypted.metadata, &found).unwrap();
}
