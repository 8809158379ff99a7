//! The rules about identities (SRC-CLD-2, SRC-CLD-3, SRC-SCK-14).

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use weir_auth::{LockdownError, LoginError, LoginOptions, Logins, Provider};

use crate::world::{Cloud, account, plane};

const REGISTRY: &str = "europe-west1-docker.pkg.dev";

async fn nobody() -> Cloud {
    Cloud::start(&["sts.googleapis.com"], |_| (StatusCode::FORBIDDEN, json!({}))).await
}

#[tokio::test]
async fn the_gate_is_closed() {
    let cloud = nobody().await;
    account("gated", json!({})).await;
    let logins = cloud.logins(false, "").await;
    for host in [REGISTRY, "registry.of.nobody"] {
        let error = logins.registry(Provider::Gcp, &cloud.caller(Some("gated")), host).await.unwrap_err();
        assert!(matches!(error, LoginError::GateDisabled), "{error}");
    }
    assert!(cloud.proxied().is_empty(), "{:?}", cloud.proxied());
}

#[tokio::test]
async fn objects_without_an_account_are_the_default_one() {
    let cloud = nobody().await;
    let pool = "projects/1/locations/global/workloadIdentityPools/pool/providers/locked";
    account("lockdown", json!({"gcp.auth.fluxcd.io/workload-identity-provider": pool})).await;
    for account in [None, Some("")] {
        let logins = cloud.logins(true, "lockdown").await;
        let error = logins.registry(Provider::Gcp, &cloud.caller(account), REGISTRY).await.unwrap_err();
        let expected = "failed to get access token for artifact registry: failed to create provider access token for \
                        service account 'default/lockdown': ";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let requests = cloud.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.contains("locked")), "{requests:?}");
}

#[tokio::test]
async fn a_default_account_that_is_not_there() {
    let cloud = nobody().await;
    let logins = cloud.logins(true, "absent").await;
    let error = logins.registry(Provider::Gcp, &cloud.caller(None), REGISTRY).await.unwrap_err();
    let expected = "failed to get access token for artifact registry: failed to get service account 'default/absent': the specified default service account does not \
                    exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, \
                    reach out to your cluster administrator for help";
    assert_eq!(error.to_string(), expected);
    assert!(cloud.proxied().is_empty());
}

#[tokio::test]
async fn a_lockdown_needs_the_gate() {
    let options = LoginOptions {
        workload_identity: false,
        default_account: "default".to_owned(),
        cache_size: 1,
        cache_duration: Duration::from_secs(1),
    };
    let refused = Logins::new(plane().await.client().unwrap(), options).err();
    assert_eq!(refused, Some(LockdownError));
    let expected = "cannot set default service accounts when the feature gate ObjectLevelWorkloadIdentity is not enabled";
    assert_eq!(LockdownError.to_string(), expected);
}
