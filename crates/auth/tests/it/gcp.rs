//! Google's tokens, directly and by impersonation.

use axum::http::StatusCode;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use weir_auth::{Provider, RegistryCredentials};

use crate::world::{Cloud, NAMESPACE, account, claims, logins};

const REGISTRY: &str = "europe-west1-docker.pkg.dev";
const HOSTS: [&str; 2] = ["sts.googleapis.com", "iamcredentials.googleapis.com"];
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster";
const EMAIL: &str = "weir@project.iam.gserviceaccount.com";

fn google(request: &str) -> (StatusCode, Value) {
    if request.contains(" iamcredentials.") {
        return (
            StatusCode::OK,
            json!({"accessToken": "impersonated", "expireTime": "2099-01-01T00:00:00Z"}),
        );
    }
    (StatusCode::OK, json!({"access_token": "direct", "expires_in": 3600, "token_type": "Bearer"}))
}

async fn password(cloud: &Cloud, name: &str) -> String {
    let caller = cloud.caller(Some(name));
    let found = cloud.logins(true, "").await.registry(Provider::Gcp, &caller, REGISTRY).await.unwrap();
    let RegistryCredentials::Basic { username, password } = found else { panic!("basic credentials") };
    assert_eq!(username, "oauth2accesstoken");
    password.expose_secret().to_owned()
}

#[tokio::test]
async fn direct_access() {
    let cloud = Cloud::start(&HOSTS, google).await;
    account("gcp", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    assert_eq!(password(&cloud, "gcp").await, "direct");
    let [sts] = cloud.requests().try_into().unwrap();
    let audience = format!("//iam.googleapis.com/{POOL}");
    assert!(sts.contains(&format!("audience={}", audience.replace('/', "%2F"))), "{sts}");
    let claims = claims(&sts, "subject_token=");
    assert_eq!(claims["aud"], json!([audience]));
    assert_eq!(claims["sub"], format!("system:serviceaccount:{NAMESPACE}:gcp"));
}

/// An author of an object would otherwise get the pod's token at a server of their own.
#[tokio::test]
async fn an_object_cannot_bring_its_own_authority() {
    let cloud = Cloud::start(&HOSTS, google).await;
    account("own-ca", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    let caller = cloud.caller(Some("own-ca"));
    assert!(caller.http.ca.is_some());
    let error = logins(true, "").await.registry(Provider::Gcp, &caller, REGISTRY).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(cloud.requests(), Vec::<String>::new());
    assert_eq!(cloud.proxied().len(), 1);
}

#[tokio::test]
async fn impersonation() {
    let cloud = Cloud::start(&HOSTS, google).await;
    let annotations = json!({
        "gcp.auth.fluxcd.io/workload-identity-provider": POOL,
        "iam.gke.io/gcp-service-account": EMAIL,
    });
    account("gsa", annotations).await;
    assert_eq!(password(&cloud, "gsa").await, "impersonated");
    let asked = cloud.requests().pop().unwrap();
    assert!(
        asked.contains(&format!("serviceAccounts/{EMAIL}:generateAccessToken Bearer direct ")),
        "{asked}"
    );
}

#[tokio::test]
async fn refusals() {
    let cloud = Cloud::start(&HOSTS, |_| {
        (StatusCode::BAD_REQUEST, json!({"error": "invalid_target", "error_description": "unknown pool"}))
    })
    .await;
    account("pool", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    account("wrong", json!({"gcp.auth.fluxcd.io/workload-identity-provider": "pool"})).await;
    let email =
        json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL, "iam.gke.io/gcp-service-account": "x"});
    account("email", email).await;
    let logins = cloud.logins(true, "").await;
    for (name, host, part) in [
        ("pool", REGISTRY, "when fetching https://sts.googleapis.com/v1/token: unknown pool"),
        (
            "wrong",
            REGISTRY,
            "failed to get provider audience: invalid gcp.auth.fluxcd.io/workload-identity-provider annotation: 'pool'. must match ",
        ),
        (
            "email",
            REGISTRY,
            "service account 'default/email' annotations: invalid iam.gke.io/gcp-service-account annotation: 'x'. must match ",
        ),
        ("pool", "gcr.io.evil.example", "invalid GCP registry: 'gcr.io.evil.example'. must match "),
    ] {
        let error = logins.registry(Provider::Gcp, &cloud.caller(Some(name)), host).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
