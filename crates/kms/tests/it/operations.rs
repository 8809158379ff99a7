//! Operations under which logins are counted (KS-MET-2).

use serde_json::json;
use weir_auth::KeyLogin;
use weir_http::{Profile, Proxy};
use weir_kms::{Held, KeyServers, LoginPaths};
use weir_sops::{DataKey, Keyring, MasterKey};

use crate::world::{NAMESPACE, account, document, logins, owner, plane, refusal};

const GOOGLE: &str =
    r#"{"type":"authorized_user","client_id":"id","client_secret":"hunter2","refresh_token":"refresh"}"#;
const AZURE: &str = "tenantId: t\nclientId: c\nclientSecret: hunter2\n";

/// Nobody answers here, and a login that fails is counted as well.
#[tokio::test(flavor = "multi_thread")]
async fn each_server_has_its_own() {
    account("operations", json!({})).await;
    let vault = format!("http://127.0.0.1:{}", weir_testkit::free_port().unwrap());
    let config = format!("instances: [{{address: '{vault}', loginPath: auth/kubernetes/login}}]");
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "operations"},
        "data": {"config.yaml": config}});
    plane().await.apply(NAMESPACE, config_map).await.unwrap();
    let (logins, mut registry) = (logins().await, Default::default());
    logins.register(&mut registry);
    let proxy = Proxy { address: vault.parse().unwrap(), credentials: None };
    let paths = LoginPaths::new(plane().await.client().unwrap(), NAMESPACE, "operations");
    let servers = KeyServers::new(logins, Profile { proxy: Some(proxy), ..Profile::default() }, Some(paths));

    let text = str::to_owned;
    let (aws, azure) = (text("arn:aws:kms:eu-west-1:1:key/x"), text("https://weir.vault.azure.net"));
    let google = text("projects/p/locations/global/keyRings/r/cryptoKeys/k");
    for (operation, key) in [
        ("aws", MasterKey::AwsKms { arn: aws, role: text(""), context: Vec::new(), enc: text("eA==") }),
        (
            "azure",
            MasterKey::AzureKeyVault {
                vault_url: azure,
                name: text("k"),
                version: text("1"),
                enc: text("eA"),
            },
        ),
        ("gcp", MasterKey::GcpKms { resource: google, enc: text("eA==") }),
        (
            "vault",
            MasterKey::Vault { address: vault, engine: text("e"), key: text("k"), enc: text("vault:v1:x") },
        ),
    ] {
        let held = Held {
            azure: Some(KeyLogin::azure(AZURE.as_bytes()).unwrap()),
            gcp: Some(KeyLogin::gcp(GOOGLE.as_bytes()).unwrap()),
            ..Held::default()
        };
        let keys = servers.keys(owner(Some("operations")), held, Keyring::default());
        let error = refusal(&document(vec![vec![key]], &DataKey::generate()), keys).await;
        let counted = format!("{registry:?}");
        assert!(counted.contains(&format!("decrypt_with_{operation}")), "{error}\n{counted}");
    }
}
