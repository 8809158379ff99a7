//! Entra tokens, and what a registry gives for them.

use axum::http::StatusCode;
use base64::Engine;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use weir_auth::{Credentials, GitLogin, Provider, RegistryCredentials};

use crate::world::{Cloud, NAMESPACE, account, claims};

const REGISTRY: &str = "weir.azurecr.io";
const HOSTS: [&str; 2] = ["login.microsoftonline.com", REGISTRY];
const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

fn azure(request: &str) -> (StatusCode, Value) {
    if request.contains("/oauth2/exchange") {
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"exp":4070908800}"#);
        return (StatusCode::OK, json!({"refresh_token": format!("head.{claims}.hunter2")}));
    }
    (StatusCode::OK, json!({"token_type": "Bearer", "expires_in": 3600, "access_token": "entra"}))
}

async fn tenant(name: &str) {
    let annotations =
        json!({"azure.workload.identity/tenant-id": TENANT, "azure.workload.identity/client-id": "app"});
    account(name, annotations).await;
}

#[tokio::test]
async fn a_service_account_gets_a_refresh_token() {
    let cloud = Cloud::start(&HOSTS, azure).await;
    tenant("azure").await;
    let caller = cloud.caller(Some("azure"));
    let found = cloud.logins(true, "").await.registry(Provider::Azure, &caller, REGISTRY).await.unwrap();
    let RegistryCredentials::Basic { username, password } = found else { panic!("basic credentials") };
    assert_eq!(username, "00000000-0000-0000-0000-000000000000");
    assert!(password.expose_secret().ends_with(".hunter2"));
    let requests = cloud.requests();
    let [entra, exchange] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(entra.contains(&format!("/{TENANT}/oauth2/v2.0/token")), "{entra}");
    assert!(entra.contains("scope=https%3A%2F%2Fcontainerregistry.azure.net%2F.default"), "{entra}");
    let claims = claims(entra, "client_assertion=");
    assert_eq!(claims["aud"], json!(["api://AzureADTokenExchange"]));
    assert_eq!(claims["sub"], format!("system:serviceaccount:{NAMESPACE}:azure"));
    assert!(
        exchange.contains("grant_type=access_token&service=weir.azurecr.io&access_token=entra"),
        "{exchange}"
    );
}

#[tokio::test]
async fn azure_devops() {
    let cloud = Cloud::start(&HOSTS, azure).await;
    tenant("devops").await;
    let login = GitLogin::of(Some("azure"), "", None).unwrap();
    let url = "https://dev.azure.com/org/project/_git/app".parse().unwrap();
    let caller = cloud.caller(Some("devops"));
    let found = cloud.logins(true, "").await.git(&login, &caller, &url).await.unwrap().unwrap();
    assert!(matches!(&found.credentials, Credentials::Bearer(token) if token.expose_secret() == "entra"));
    assert!(cloud.requests()[0].contains("scope=499b84ac-1321-427f-aa17-267ca6975798%2F.default"));
}

#[tokio::test]
async fn refusals() {
    let cloud = Cloud::start(&HOSTS, |_| {
        (
            StatusCode::UNAUTHORIZED,
            json!({"error": "invalid_client", "error_description": "AADSTS700016: no app"}),
        )
    })
    .await;
    tenant("denied").await;
    account("half", json!({"azure.workload.identity/tenant-id": TENANT})).await;
    let logins = cloud.logins(true, "").await;
    for (name, host, part) in [
        (
            "denied",
            REGISTRY,
            "failed to get access token for artifact registry: failed to create provider access token for service account 'default/denied': ",
        ),
        ("denied", REGISTRY, "AADSTS700016"),
        (
            "half",
            REGISTRY,
            "failed to get provider identity from service account 'default/half' annotations: azure client ID is not set in the service account annotation azure.workload.identity/client-id",
        ),
        (
            "denied",
            "x.azurecr.io.evil.example",
            "invalid Azure registry: 'x.azurecr.io.evil.example'. must match ",
        ),
    ] {
        let error = logins.registry(Provider::Azure, &cloud.caller(Some(name)), host).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
