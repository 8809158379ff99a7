//! Several keys and groups of keys: the first that works (KS-SOPS-4), and servers that are silent.

use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use weir_http::Profile;
use weir_kms::{Held, KeyServers};
use weir_sops::{DataKey, Document, Format, Keyring, MasterKey};

use crate::world::{data_key, logins, owner, refusal, sops_data};

fn unreachable(port: u16) -> MasterKey {
    MasterKey::Vault {
        address: format!("http://127.0.0.1:{port}"),
        engine: "transit".to_owned(),
        key: "sops".to_owned(),
        enc: "vault:v1:x".to_owned(),
    }
}

fn aged() -> Document {
    let bytes = std::fs::read(sops_data("cases/age.yaml")).unwrap();
    Document::read(&bytes, Format::Yaml).unwrap()
}

async fn keys(ring: Keyring) -> weir_kms::Keys {
    let held = Held { vault: Some("s.x".to_owned().into()), ..Held::default() };
    KeyServers::new(logins().await, Profile::default(), None).keys(owner(None), held, ring)
}

fn ring() -> Keyring {
    let mut ring = Keyring::default();
    ring.identities.add(&std::fs::read_to_string(sops_data("keys/age.agekey")).unwrap()).unwrap();
    ring
}

/// Keys at hand come first, so that no server is asked; without them each key is named with what failed.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_key_that_works() {
    let closed = weir_testkit::free_port().unwrap();
    let mut document = aged();
    document.metadata.groups[0].insert(0, unreachable(closed));
    let key = DataKey::new(data_key(&document, keys(ring()).await).await.unwrap().bytes()).unwrap();
    assert!(document.clone().decrypt(&key).is_ok());
    let error = refusal(&document, keys(Keyring::default()).await).await;
    let vault = error.find(&format!("http://127.0.0.1:{closed}/v1/transit/keys/sops: FAILED")).unwrap();
    let age = error.find("age1").unwrap();
    assert!(age < vault, "age before servers: {error}");
    assert!(error.contains("connection refused"), "{error}");
}

/// A server that takes connections and says nothing is given up after 10 s.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut document = aged();
    document.metadata.groups = vec![vec![unreachable(silent.local_addr().unwrap().port())]];
    let started = Instant::now();
    let error = refusal(&document, keys(Keyring::default()).await).await;
    assert!(error.contains("no answer of the key server within 10s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
