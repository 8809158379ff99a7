//! Ways into other clusters (KS-IMP-7 to KS-IMP-11).

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;
use weir_auth::{ClusterSpec, Credentials, Provider};

use crate::world::{Cloud, NAMESPACE, account, claims, plane};

const CA: &str = "-----BEGIN CERTIFICATE-----\nremote\n-----END CERTIFICATE-----\n";
const ARN: &str = "arn:aws:eks:eu-west-1:123456789012:cluster/app";
const ROLE: &str = "arn:aws:iam::123456789012:role/weir";
const AKS: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/app";
const GKE: &str = "projects/p/locations/europe-west1/clusters/app";
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster";
const TENANT: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

/// Address, authority and token.
async fn enter(
    cloud: &Cloud,
    name: Option<&str>,
    spec: &ClusterSpec,
) -> Result<(String, String, String), String> {
    let login = cloud
        .logins(true, "")
        .await
        .cluster(&cloud.caller(name), spec)
        .await
        .map_err(|error| error.to_string())?;
    let Credentials::Cluster { address, ca, token } = &login.credentials else { panic!("{login:?}") };
    assert!(login.expires > SystemTime::now());
    Ok((address.to_string(), ca.clone(), token.expose_secret().to_owned()))
}

fn cloud_spec(provider: Provider, name: &str) -> ClusterSpec {
    ClusterSpec { provider: Some(provider), name: name.to_owned(), ..ClusterSpec::default() }
}

/// The API server of another cluster trusts the keys of this one.
#[tokio::test]
async fn a_service_account_has_a_token_for_another_cluster() {
    let cloud = Cloud::start(&[], |_| (StatusCode::FORBIDDEN, json!({}))).await;
    account("generic", json!({})).await;
    let spec = ClusterSpec {
        address: "https://Remote.example:6443".to_owned(),
        ca: CA.to_owned(),
        ..ClusterSpec::default()
    };
    let (address, ca, token) = enter(&cloud, Some("generic"), &spec).await.unwrap();
    assert_eq!((address.as_str(), ca.as_str()), ("https://remote.example:6443/", CA));
    let found = claims(&format!("token={token}"), "token=");
    assert_eq!(found["aud"], json!(["https://Remote.example:6443"]));
    assert_eq!(found["sub"], format!("system:serviceaccount:{NAMESPACE}:generic"));
    let spec = ClusterSpec { audiences: vec!["a".to_owned(), "b".to_owned()], ..spec };
    let (_, _, token) = enter(&cloud, Some("generic"), &spec).await.unwrap();
    assert_eq!(claims(&format!("token={token}"), "token=")["aud"], json!(["a", "b"]));
    let error = enter(&cloud, Some("gone"), &spec).await.unwrap_err();
    let expected = "failed to get access token for cluster: failed to get service account 'default/gone': ";
    assert!(error.starts_with(expected), "{error}");
}

/// Objects without a ServiceAccount have this process's own, which the API server names.
#[tokio::test]
async fn the_pod_has_a_token_for_another_cluster() {
    let cloud = Cloud::start(&[], |_| (StatusCode::FORBIDDEN, json!({}))).await;
    let rules = [json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})];
    let rules: Vec<_> = rules.into_iter().map(|rule| serde_json::from_value(rule).unwrap()).collect();
    plane().await.service_account(NAMESPACE, "own", &rules).await.unwrap();
    let token = plane().await.service_account_token(NAMESPACE, "own").await.unwrap();
    let client = plane().await.client_for(&token).unwrap();
    let logins = weir_auth::Logins::new(client, weir_auth::LoginOptions::default()).unwrap();
    let spec = ClusterSpec { address: "remote.example".to_owned(), ..ClusterSpec::default() };
    let login = logins.cluster(&cloud.caller(None), &spec).await.unwrap();
    let Credentials::Cluster { token, .. } = &login.credentials else { panic!("{login:?}") };
    let found = claims(&format!("token={}", token.expose_secret()), "token=");
    assert_eq!(found["sub"], format!("system:serviceaccount:{NAMESPACE}:own"));
    // The administrator of the tests is none.
    let error = cloud.logins(true, "").await.cluster(&cloud.caller(None), &spec).await.unwrap_err();
    assert!(error.to_string().contains("is not a service account"), "{error}");
}

fn aws(request: &str) -> (StatusCode, Value) {
    if request.contains(" sts.") {
        let keys = "<AccessKeyId>ASIAKEY</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
                    <SessionToken>ses/sion+=</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>";
        let answer = format!(
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <AssumeRoleWithWebIdentityResult><Credentials>{keys}</Credentials></AssumeRoleWithWebIdentityResult>\
             </AssumeRoleWithWebIdentityResponse>"
        );
        return (StatusCode::OK, Value::String(answer));
    }
    if !request
        .starts_with("GET eks.eu-west-1.amazonaws.com /clusters/app AWS4-HMAC-SHA256 Credential=ASIAKEY/")
    {
        return (StatusCode::NOT_FOUND, json!({"message": "No cluster found for name: other."}));
    }
    let cluster = json!({"endpoint": "https://ABC.gr7.eu-west-1.eks.amazonaws.com",
        "certificateAuthority": {"data": STANDARD.encode(CA)}});
    (StatusCode::OK, json!({"cluster": cluster}))
}

/// The signature of a presigned URL by the steps of AWS's documentation, over the host and the cluster's name.
fn signature(url: &Url, cluster: &str) -> String {
    let encode = |text: &str| {
        let safe = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
        text.bytes()
            .map(|b| if safe(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect::<String>()
    };
    let query: BTreeMap<String, String> =
        url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
    let signed = query.iter().filter(|(name, _)| *name != "X-Amz-Signature");
    let canonical: Vec<String> =
        signed.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    let host = url.host_str().unwrap();
    let empty = hex::encode(Sha256::digest(b""));
    let request = format!(
        "GET\n/\n{}\nhost:{host}\nx-k8s-aws-id:{cluster}\n\nhost;x-k8s-aws-id\n{empty}",
        canonical.join("&")
    );
    let time = &query["X-Amz-Date"];
    let scope = query["X-Amz-Credential"].split_once('/').unwrap().1;
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex::encode(Sha256::digest(request)));
    let moment = jiff::fmt::strtime::parse("%Y%m%dT%H%M%SZ", time).unwrap().to_datetime().unwrap();
    let moment = moment.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let key = generate_signing_key("secret", moment.into(), "eu-west-1", "sts");
    calculate_signature(key, text.as_bytes())
}

#[tokio::test]
async fn eks() {
    let cloud = Cloud::start(&["sts.eu-west-1.amazonaws.com", "eks.eu-west-1.amazonaws.com"], aws).await;
    account("eks", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    let (address, ca, token) = enter(&cloud, Some("eks"), &cloud_spec(Provider::Aws, ARN)).await.unwrap();
    assert_eq!((address.as_str(), ca.as_str()), ("https://abc.gr7.eu-west-1.eks.amazonaws.com/", CA));
    let url = URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
    let url = Url::parse(std::str::from_utf8(&url).unwrap()).unwrap();
    assert_eq!((url.scheme(), url.host_str()), ("https", Some("sts.eu-west-1.amazonaws.com")));
    let query: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    for (name, value) in [
        ("Action", "GetCallerIdentity"),
        ("Version", "2011-06-15"),
        ("X-Amz-Expires", "900"),
        ("X-Amz-SignedHeaders", "host;x-k8s-aws-id"),
        ("X-Amz-Security-Token", "ses/sion+="),
    ] {
        assert_eq!(query[name], value, "{url}");
    }
    assert_eq!(query["X-Amz-Signature"], signature(&url, "app"), "{url}");
    assert_eq!(cloud.requests().len(), 2, "an own token is not asked of anybody");
    // With address and authority the cloud is asked for nothing but keys.
    let known = ClusterSpec {
        address: "https://k.example".to_owned(),
        ca: CA.to_owned(),
        ..cloud_spec(Provider::Aws, ARN)
    };
    enter(&cloud, Some("eks"), &known).await.unwrap();
    assert_eq!(cloud.requests().iter().filter(|request| request.contains(" eks.")).count(), 1);
    let other = cloud_spec(Provider::Aws, &ARN.replace("app", "other"));
    let error = enter(&cloud, Some("eks"), &other).await.unwrap_err();
    let expected = format!("failed to describe EKS cluster '{}': ", other.name);
    assert!(error.starts_with(&expected) && error.ends_with("No cluster found for name: other."), "{error}");
}

fn azure(request: &str) -> (StatusCode, Value) {
    if request.contains("/oauth2/v2.0/token") {
        let is_cluster = request.contains("6dae42f8-4368-4678-94ff-3960e28e3630");
        let token = if is_cluster { "for-cluster" } else { "for-management" };
        return (StatusCode::OK, json!({"token_type": "Bearer", "expires_in": 3600, "access_token": token}));
    }
    let is_asked =
        |line: &str| request.starts_with(&format!("{line}?api-version=2024-02-01 Bearer for-management "));
    if is_asked(&format!("GET management.azure.com {AKS}")) {
        return (StatusCode::OK, json!({"properties": {"aadProfile": {"managed": true}}}));
    }
    if is_asked(&format!("GET management.azure.com {}", AKS.replace("/app", "/plain"))) {
        return (StatusCode::OK, json!({"properties": {}}));
    }
    if is_asked(&format!("POST management.azure.com {AKS}/listClusterUserCredential")) {
        let cluster = |server: &str| {
            let text = format!(
                "apiVersion: v1\nkind: Config\nclusters:\n- name: k\n  cluster:\n    server: {server}\n    certificate-authority-data: {}\n",
                STANDARD.encode(CA)
            );
            json!({"name": "clusterUser", "value": STANDARD.encode(text)})
        };
        let all = [cluster("https://app.hcp.example:443"), cluster("https://private.example:443")];
        return (StatusCode::OK, json!({"kubeconfigs": all}));
    }
    (StatusCode::FORBIDDEN, json!({"error": {"code": "AuthorizationFailed", "message": "not authorized"}}))
}

#[tokio::test]
async fn aks() {
    let cloud = Cloud::start(&["login.microsoftonline.com", "management.azure.com"], azure).await;
    let annotations =
        json!({"azure.workload.identity/tenant-id": TENANT, "azure.workload.identity/client-id": "app"});
    account("aks", annotations).await;
    let spec = cloud_spec(Provider::Azure, AKS);
    let (address, ca, token) = enter(&cloud, Some("aks"), &spec).await.unwrap();
    assert_eq!(
        (address.as_str(), ca.as_str(), token.as_str()),
        ("https://app.hcp.example/", CA, "for-cluster")
    );
    let scopes =
        cloud.requests().iter().filter(|request| request.contains("/oauth2/")).cloned().collect::<Vec<_>>();
    assert!(scopes[0].contains("scope=6dae42f8-4368-4678-94ff-3960e28e3630%2F.default"), "{scopes:?}");
    assert!(scopes[1].contains("scope=https%3A%2F%2Fmanagement.azure.com%2F.default"), "{scopes:?}");
    let other = ClusterSpec { address: "private.example".to_owned(), ..spec.clone() };
    assert_eq!(enter(&cloud, Some("aks"), &other).await.unwrap().0, "https://private.example/");
    let wrong = ClusterSpec { address: "https://evil.example".to_owned(), ..spec.clone() };
    let error = enter(&cloud, Some("aks"), &wrong).await.unwrap_err();
    assert!(error.contains("none matches the specified address 'https://evil.example'"), "{error}");
    let plain = cloud_spec(Provider::Azure, &AKS.replace("/app", "/plain"));
    let error = enter(&cloud, Some("aks"), &plain).await.unwrap_err();
    assert!(error.contains("does not have Microsoft Entra ID integration enabled"), "{error}");
}

fn google(request: &str) -> (StatusCode, Value) {
    if request.contains(" sts.googleapis.com ") {
        return (
            StatusCode::OK,
            json!({"access_token": "of-account", "expires_in": 3600, "token_type": "Bearer"}),
        );
    }
    if !request.starts_with(&format!("GET container.googleapis.com /v1/{GKE} Bearer of-account ")) {
        return (StatusCode::NOT_FOUND, json!({"error": {"code": 404, "message": "Not found: cluster"}}));
    }
    let authority = json!({"clusterCaCertificate": STANDARD.encode(CA)});
    (StatusCode::OK, json!({"endpoint": "203.0.113.7", "masterAuth": authority}))
}

#[tokio::test]
async fn gke() {
    let cloud = Cloud::start(&["sts.googleapis.com", "container.googleapis.com"], google).await;
    account("gke", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    let spec = cloud_spec(Provider::Gcp, GKE);
    let (address, ca, token) = enter(&cloud, Some("gke"), &spec).await.unwrap();
    assert_eq!((address.as_str(), ca.as_str(), token.as_str()), ("https://203.0.113.7/", CA, "of-account"));
    let other = cloud_spec(Provider::Gcp, &GKE.replace("app", "other"));
    let error = enter(&cloud, Some("gke"), &other).await.unwrap_err();
    assert!(
        error.contains("failed to describe GKE cluster") && error.ends_with("Not found: cluster"),
        "{error}"
    );
}

/// KS-IMP-10: one login for many requests.
#[tokio::test]
async fn logins_are_kept() {
    let cloud = Cloud::start(&["sts.googleapis.com", "container.googleapis.com"], google).await;
    account("kept", json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL})).await;
    let (logins, spec) = (cloud.logins(true, "").await, cloud_spec(Provider::Gcp, GKE));
    for _ in 0..3 {
        logins.cluster(&cloud.caller(Some("kept")), &spec).await.unwrap();
    }
    assert_eq!(cloud.requests().len(), 2);
    let limit = Duration::from_secs(3600);
    let login = logins.cluster(&cloud.caller(Some("kept")), &spec).await.unwrap();
    assert!(login.expires <= SystemTime::now() + limit);
}
