//! ECR, public ECR and CodeCommit: a ServiceAccount's token becomes keys, keys become passwords.

use axum::http::StatusCode;
use base64::Engine;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use weir_auth::{Credentials, GitLogin, Provider, RegistryCredentials};

use crate::world::{Cloud, NAMESPACE, account, claims};

const ROLE: &str = "arn:aws:iam::123456789012:role/weir";
const REGISTRY: &str = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";
const HOSTS: [&str; 4] = [
    "sts.eu-west-1.amazonaws.com",
    "sts.us-east-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    "api.ecr-public.us-east-1.amazonaws.com",
];

fn aws(request: &str) -> (StatusCode, Value) {
    let token = base64::engine::general_purpose::STANDARD.encode("AWS:hunter2");
    if request.contains(" sts.") {
        let keys = "<AccessKeyId>ASIAKEY</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
                    <SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>";
        let answer = format!(
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <AssumeRoleWithWebIdentityResult><Credentials>{keys}</Credentials></AssumeRoleWithWebIdentityResult>\
             </AssumeRoleWithWebIdentityResponse>"
        );
        return (StatusCode::OK, Value::String(answer));
    }
    let data = json!({"authorizationToken": token, "expiresAt": 4_070_908_800_u64});
    if request.contains(" api.ecr-public.") {
        return (StatusCode::OK, json!({"authorizationData": data}));
    }
    (StatusCode::OK, json!({"authorizationData": [data]}))
}

fn password(credentials: &RegistryCredentials) -> String {
    match credentials {
        RegistryCredentials::Basic { username, password } => {
            format!("{username}:{}", password.expose_secret())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_service_account_becomes_a_role_and_gets_a_password() {
    let cloud = Cloud::start(&HOSTS, aws).await;
    account("aws", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    let logins = cloud.logins(true, "").await;
    let caller = cloud.caller(Some("aws"));
    let found = logins.registry(Provider::Aws, &caller, REGISTRY).await.unwrap();
    assert_eq!(password(&found), "AWS:hunter2");
    let requests = cloud.requests();
    let [sts, ecr] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(sts.contains("Action=AssumeRoleWithWebIdentity"), "{sts}");
    assert!(sts.contains(&format!("RoleSessionName=aws.{NAMESPACE}.eu-west-1.fluxcd.io")), "{sts}");
    let claims = claims(sts, "WebIdentityToken=");
    assert_eq!(claims["aud"], json!(["sts.amazonaws.com"]));
    assert_eq!(claims["sub"], format!("system:serviceaccount:{NAMESPACE}:aws"));
    assert!(ecr.contains("Credential=ASIAKEY/"), "{ecr}");
    // All went through the object's proxy, and the second time nothing went at all.
    assert!(cloud.proxied().iter().all(|request| request.method == "CONNECT"), "{:?}", cloud.proxied());
    logins.registry(Provider::Aws, &caller, REGISTRY).await.unwrap();
    assert_eq!(cloud.requests().len(), 2);
}

#[tokio::test]
async fn tenants_do_not_share() {
    let cloud = Cloud::start(&HOSTS, aws).await;
    for name in ["tenant-a", "tenant-b"] {
        account(name, json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    }
    let logins = cloud.logins(true, "").await;
    for name in ["tenant-a", "tenant-b"] {
        logins.registry(Provider::Aws, &cloud.caller(Some(name)), REGISTRY).await.unwrap();
    }
    let roles = cloud.requests().iter().filter(|request| request.contains(" sts.")).count();
    assert_eq!(roles, 2, "each has a login of its own (SRC-SCK-12)");
}

#[tokio::test]
async fn the_public_registry() {
    let cloud = Cloud::start(&HOSTS, aws).await;
    account("public", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    let caller = cloud.caller(Some("public"));
    let found =
        cloud.logins(true, "").await.registry(Provider::Aws, &caller, "public.ecr.aws").await.unwrap();
    assert_eq!(password(&found), "AWS:hunter2");
    let asked = cloud.requests().pop().unwrap();
    assert!(asked.contains("/us-east-1/ecr-public/aws4_request"), "{asked}");
}

#[tokio::test]
async fn code_commit() {
    let cloud = Cloud::start(&HOSTS, aws).await;
    account("git", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    let url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app".parse().unwrap();
    let login = GitLogin::of(Some("aws"), "", None).unwrap();
    let found =
        cloud.logins(true, "").await.git(&login, &cloud.caller(Some("git")), &url).await.unwrap().unwrap();
    let Credentials::Basic { username, password } = &found.credentials else { panic!("basic credentials") };
    assert_eq!(username, "ASIAKEY%session");
    let (time, signature) = password.expose_secret().split_once('Z').unwrap();
    assert_eq!((time.len(), signature.len()), ("20231114T221320".len(), 64));
}

#[tokio::test]
async fn refusals() {
    let denied = |_: &str| {
        let answer = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>";
        (StatusCode::FORBIDDEN, Value::String(answer.to_owned()))
    };
    let cloud = Cloud::start(&HOSTS, denied).await;
    account("denied", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    account("nobody", json!({})).await;
    let logins = cloud.logins(true, "").await;
    for (name, host, part) in [
        (
            "denied",
            REGISTRY,
            "failed to get access token for artifact registry: failed to create provider access token for service account 'default/denied': ",
        ),
        (
            "denied",
            REGISTRY,
            "failed to assume role with web identity: api error AccessDenied: Not authorized",
        ),
        (
            "nobody",
            REGISTRY,
            "failed to get access token for artifact registry: failed to get provider identity from service account \
             'default/nobody' annotations: invalid eks.amazonaws.com/role-arn annotation: ''. must match ^arn:aws",
        ),
        (
            "missing",
            REGISTRY,
            "failed to get service account 'default/missing': ServiceAccount \"missing\" not found",
        ),
        ("denied", "ghcr.io", "invalid AWS registry: 'ghcr.io'. must match "),
        ("denied", "1.dkr.ecr.eu-west-1.amazonaws.com.evil.example", "invalid AWS registry: "),
    ] {
        let error = logins.registry(Provider::Aws, &cloud.caller(Some(name)), host).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let endpoint = Some("https://sts.evil.example");
    let error = logins.aws(&cloud.caller(Some("denied")), Some("eu-west-1"), endpoint).await.unwrap_err();
    assert!(error.to_string().starts_with("invalid STS endpoint: 'https://sts.evil.example'"), "{error}");
    let error = logins.aws(&cloud.caller(Some("nobody")), None, None).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to get provider identity from "), "{error}");
    let error = logins.aws(&cloud.caller(Some("denied")), None, None).await.unwrap_err();
    assert!(error.to_string().contains("an AWS region is required"), "{error}");
}
