use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use weir_auth::{LoginOptions, Logins};
use weir_http::Profile;
use weir_kms::{Held, KeyServers, Keys, Owner};
use weir_sops::{DataKey, Document, Format, KeyError, KeyGroup, Keyring, Metadata};
use weir_testkit::{Cloud, ControlPlane};

pub(crate) const NAMESPACE: &str = "default";

pub(crate) async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.unwrap()
}

/// Logins of a service whose objects have identities of their own.
pub(crate) async fn logins() -> Logins {
    let options = LoginOptions { workload_identity: true, ..LoginOptions::default() };
    Logins::new(plane().await.client().unwrap(), options).unwrap()
}

pub(crate) fn through(cloud: &Cloud) -> Profile {
    Profile {
        ca: Some(cloud.ca_pem().into()),
        proxy: Some(weir_http::Proxy {
            address: format!("http://{}", cloud.proxy()).parse().unwrap(),
            credentials: None,
        }),
        ..Profile::default()
    }
}

pub(crate) fn owner(account: Option<&str>) -> Owner {
    let account = account.map(str::to_owned);
    Owner { kind: "Kustomization", namespace: NAMESPACE.to_owned(), name: "app".to_owned(), account }
}

/// The keys of an object with a ServiceAccount, or with what its Secret holds.
pub(crate) async fn keys(profile: Profile, account: Option<&str>, held: Held) -> Keys {
    let logins = match &profile.ca {
        Some(ca) => logins().await.trusting(std::str::from_utf8(ca).unwrap()),
        None => logins().await,
    };
    KeyServers::new(logins, profile, None).keys(owner(account), held, Keyring::default())
}

/// A ServiceAccount with annotations.
pub(crate) async fn account(name: &str, annotations: Value) {
    let object = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "annotations": annotations}});
    plane().await.apply(NAMESPACE, object).await.unwrap();
}

/// A document whose data key the groups hold, as it lies in a file.
pub(crate) fn document(groups: Vec<KeyGroup>, key: &DataKey) -> Document {
    let plain = std::fs::read(sops_data("cases/age.json")).unwrap();
    let theirs = Document::read(&plain, Format::Json).unwrap();
    let metadata = Metadata { groups, ..theirs.metadata };
    let written = Document::encrypt(theirs.trees, metadata, key).unwrap().write(Format::Yaml).unwrap();
    Document::read(&written, Format::Yaml).unwrap()
}

pub(crate) fn sops_data(name: &str) -> PathBuf {
    weir_testkit::repo_path(&format!("crates/sops/tests/data/{name}"))
}

/// Asks for the data key as a build does: on a thread where waiting is allowed.
pub(crate) async fn data_key(document: &Document, keys: Keys) -> Result<DataKey, KeyError> {
    let document = document.clone();
    let asking = tokio::task::spawn_blocking(move || document.data_key(&keys));
    tokio::time::timeout(Duration::from_secs(90), asking).await.unwrap().unwrap()
}

/// The refusal of the only key of a document.
pub(crate) async fn refusal(document: &Document, keys: Keys) -> String {
    match data_key(document, keys).await.unwrap_err() {
        // Without the breaks of its lines.
        KeyError::NotEnough { groups, .. } => groups.replace("\n      | ", " "),
        other => panic!("{other}"),
    }
}

/// A ciphertext of the stand-ins: the plaintext backwards.
pub(crate) fn backwards(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

pub(crate) fn standard(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn url_safe(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The body of a request.
pub(crate) fn body(request: &str) -> Value {
    serde_json::from_str(&request[request.find('{').unwrap()..]).unwrap()
}

/// The claims of a Kubernetes token.
pub(crate) fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
