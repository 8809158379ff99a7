//! Azure Key Vault: the operation `decrypt` of a key (KS-SOPS-5, KS-DEC-10).

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_auth::KeyLogin;
use weir_kms::Held;
use weir_sops::{DataKey, MasterKey};
use weir_testkit::Cloud;

use crate::world::{account, backwards, body, data_key, document, keys, refusal, through, url_safe};

const HOSTS: [&str; 2] = ["login.microsoftonline.com", "weir.vault.azure.net"];
const VAULT: &str = "https://weir.vault.azure.net";
const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

fn azure(request: &str) -> (StatusCode, Value) {
    if request.contains("/oauth2/v2.0/token") {
        let scope = "scope=https%3A%2F%2Fvault.azure.net%2F.default";
        assert!(request.contains(scope), "{request}");
        return (
            StatusCode::OK,
            json!({"token_type": "Bearer", "expires_in": 3600, "access_token": "entra"}),
        );
    }
    let expected = "POST weir.vault.azure.net /keys/sops/v1/decrypt?api-version=7.4 Bearer entra ";
    if !request.starts_with(expected) {
        let words = "The user does not have keys decrypt permission";
        return (StatusCode::FORBIDDEN, json!({"error": {"code": "Forbidden", "message": words}}));
    }
    let body = body(request);
    assert_eq!(body["alg"], "RSA-OAEP-256");
    let ciphertext = URL_SAFE_NO_PAD.decode(body["value"].as_str().unwrap()).unwrap();
    (
        StatusCode::OK,
        json!({"kid": format!("{VAULT}/keys/sops/v1"), "value": url_safe(&backwards(&ciphertext))}),
    )
}

fn master(version: &str, key: &DataKey) -> MasterKey {
    MasterKey::AzureKeyVault {
        vault_url: VAULT.to_owned(),
        name: "sops".to_owned(),
        version: version.to_owned(),
        enc: url_safe(&backwards(key.bytes())),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_holds_an_application() {
    let (cloud, key) = (Cloud::start(&HOSTS, azure).await.unwrap(), DataKey::generate());
    let entry = format!("tenantId: {TENANT}\nclientId: app\nclientSecret: hunter2\n");
    let held = || Held { azure: Some(KeyLogin::azure(entry.as_bytes()).unwrap()), ..Held::default() };
    let encrypted = document(vec![vec![master("v1", &key)]], &key);
    let found = data_key(&encrypted, keys(through(&cloud), None, held()).await).await.unwrap();
    assert_eq!(found.bytes(), key.bytes());
    assert!(cloud.requests()[0].contains("client_secret=hunter2"));
    let encrypted = document(vec![vec![master("v2", &key)]], &key);
    let error = refusal(&encrypted, keys(through(&cloud), None, held()).await).await;
    let expected =
        format!("failed to decrypt sops data key with Azure Key Vault key '{VAULT}/keys/sops/v2': ");
    assert!(error.contains(&expected) && error.contains("does not have keys decrypt permission"), "{error}");
    assert!(!error.contains("hunter2") && !error.contains("entra"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_has_an_identity() {
    let (cloud, key) = (Cloud::start(&HOSTS, azure).await.unwrap(), DataKey::generate());
    let annotations =
        json!({"azure.workload.identity/tenant-id": TENANT, "azure.workload.identity/client-id": "app"});
    account("kms-azure", annotations).await;
    let encrypted = document(vec![vec![master("v1", &key)]], &key);
    let keys = keys(through(&cloud), Some("kms-azure"), Held::default()).await;
    assert_eq!(data_key(&encrypted, keys).await.unwrap().bytes(), key.bytes());
    assert!(cloud.requests()[0].contains("client_assertion="));
}

/// A token must not be sent in the clear, nor to a host of no cloud.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_no_vaults_are_not_asked() {
    let (cloud, key) = (Cloud::start(&HOSTS, azure).await.unwrap(), DataKey::generate());
    for address in ["http://weir.vault.azure.net", "https://10.0.0.1", "weir.vault.azure.net"] {
        let mut master = master("v1", &key);
        if let MasterKey::AzureKeyVault { vault_url, .. } = &mut master {
            *vault_url = address.to_owned();
        }
        let error =
            refusal(&document(vec![vec![master]], &key), keys(through(&cloud), None, Held::default()).await)
                .await;
        assert!(error.contains(&format!("no valid Azure Key Vault address found in '{address}'")), "{error}");
    }
    assert!(cloud.proxied().is_empty());
}
