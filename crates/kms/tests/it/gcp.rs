//! Google Cloud KMS: `projects.locations.keyRings.cryptoKeys.decrypt` (KS-SOPS-5, KS-DEC-10).

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_auth::KeyLogin;
use weir_kms::Held;
use weir_sops::{DataKey, MasterKey};
use weir_testkit::Cloud;

use crate::world::{account, backwards, body, data_key, document, keys, refusal, standard, through};

const HOSTS: [&str; 3] = ["cloudkms.googleapis.com", "oauth2.googleapis.com", "sts.googleapis.com"];
const KEY: &str = "projects/p/locations/global/keyRings/r/cryptoKeys/k";
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster";
const USER: &str =
    r#"{"type":"authorized_user","client_id":"id","client_secret":"hunter2","refresh_token":"refresh"}"#;

fn google(request: &str) -> (StatusCode, Value) {
    if !request.contains(" cloudkms.googleapis.com ") {
        let token = if request.contains("refresh_token=refresh") { "of-user" } else { "of-account" };
        return (StatusCode::OK, json!({"access_token": token, "expires_in": 3600, "token_type": "Bearer"}));
    }
    let is_known = request.contains(" Bearer of-user ") || request.contains(" Bearer of-account ");
    let expected = format!("POST cloudkms.googleapis.com /v1/{KEY}:decrypt Bearer ");
    if !is_known || !request.starts_with(&expected) {
        let words = "Permission 'cloudkms.cryptoKeyVersions.useToDecrypt' denied";
        return (StatusCode::FORBIDDEN, json!({"error": {"code": 403, "message": words}}));
    }
    let ciphertext = STANDARD.decode(body(request)["ciphertext"].as_str().unwrap()).unwrap();
    (StatusCode::OK, json!({"plaintext": standard(&backwards(&ciphertext)), "usedPrimary": true}))
}

fn master(resource: &str, key: &DataKey) -> MasterKey {
    MasterKey::GcpKms { resource: resource.to_owned(), enc: standard(&backwards(key.bytes())) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_holds_a_person_s_credentials() {
    let (cloud, key) = (Cloud::start(&HOSTS, google).await.unwrap(), DataKey::generate());
    let held = || Held { gcp: Some(KeyLogin::gcp(USER.as_bytes()).unwrap()), ..Held::default() };
    let encrypted = document(vec![vec![master(KEY, &key)]], &key);
    let found = data_key(&encrypted, keys(through(&cloud), None, held()).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    let [token, decrypt] = cloud.requests().try_into().unwrap();
    assert!(token.contains("grant_type=refresh_token&client_id=id&client_secret=hunter2"), "{token}");
    assert!(decrypt.contains(" Bearer of-user "), "{decrypt}");
    // Another key is refused in Google's words.
    let other = format!("{KEY}2");
    let encrypted = document(vec![vec![master(&other, &key)]], &key);
    let error = refusal(&encrypted, keys(through(&cloud), None, held()).await).await;
    assert!(error.contains(&format!("{other}: FAILED")), "{error}");
    assert!(
        error.contains("failed to decrypt sops data key with GCP KMS key: ") && error.contains("denied"),
        "{error}"
    );
    assert!(!error.contains("hunter2") && !error.contains("of-user"), "{error}");
}

/// KS-DEC-10, KS-DEC-11: without an entry in the Secret, the ServiceAccount is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_has_an_identity() {
    let (cloud, key) = (Cloud::start(&HOSTS, google).await.unwrap(), DataKey::generate());
    account("kms-gcp", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    let encrypted = document(vec![vec![master(KEY, &key)]], &key);
    let keys = keys(through(&cloud), Some("kms-gcp"), Held::default()).await;
    assert_eq!(data_key(&encrypted, keys).await.unwrap().bytes(), key.bytes());
    let [sts, decrypt] = cloud.requests().try_into().unwrap();
    assert!(sts.contains("subject_token="), "{sts}");
    assert!(decrypt.contains(" Bearer of-account "), "{decrypt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_keys_are_not_asked_for() {
    let (cloud, key) = (Cloud::start(&HOSTS, google).await.unwrap(), DataKey::generate());
    let encrypted = document(vec![vec![master("projects/p/../x:decrypt?", &key)]], &key);
    let error = refusal(&encrypted, keys(through(&cloud), None, Held::default()).await).await;
    assert!(error.contains("no valid resource ID found in 'projects/p/../x:decrypt?'"), "{error}");
    assert!(cloud.requests().is_empty());
}
