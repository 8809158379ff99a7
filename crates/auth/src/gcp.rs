//! Google Cloud: access tokens of the pod, of a person or of a ServiceAccount (SRC-CLD-2, SRC-CLD-4, IR-24).

mod default_credentials;
mod executable;
mod external_account;
mod gke;
mod key_file;
mod metadata;
mod service_account;
mod user;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub(crate) use self::gke::Gke;
pub(crate) use self::key_file::KeyFile;
use self::metadata::Metadata;
pub(crate) use self::service_account::ServiceAccount;
pub use self::service_account::ServiceAccountError;
pub(crate) use self::user::User;
use crate::credentials::{Credentials, Login};
use crate::error::{LoginError, ProviderError};
use crate::identity::{Account, GCP_ACCOUNT, GCP_PROVIDER, Identity};
use crate::rest;

/// Scopes of the tokens.
const SCOPES: [&str; 2] =
    ["https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/userinfo.email"];
const REGISTRY_PATTERN: &str = r"^(((.+\.)?gcr\.io)|(.+-docker\.pkg\.dev)|(docker\.s3nsregistry\.fr))$";
/// The user that goes with access tokens.
const REGISTRY_USER: &str = "oauth2accesstoken";
/// The type of the tokens that Kubernetes and most other issuers give.
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const STS: &str = "https://sts.googleapis.com/v1/token";
const IMPERSONATION: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts";
/// Life requested for impersonated tokens.
const LIFETIME: &str = "3600s";
const EMAIL_PATTERN: &str = r"^[a-zA-Z0-9-]{1,100}@[a-zA-Z0-9-]{1,100}\.iam\.gserviceaccount\.com$";
const EMAIL_SUFFIX: &str = ".iam.gserviceaccount.com";
const PROVIDER_PATTERN: &str =
    r"^projects/\d{1,30}/locations/global/workloadIdentityPools/[^/]{1,100}/providers/[^/]{1,100}$";
/// Characters of a name in these patterns.
const MAX_NAME: usize = 100;
/// Digits of a project's number.
const MAX_PROJECT: usize = 30;

/// Refuses hosts that are no registry of Google's.
pub(crate) fn check_registry(host: &str) -> Result<(), LoginError> {
    if is_registry(host) {
        return Ok(());
    }
    Err(LoginError::Registry { provider: "GCP", host: host.to_owned(), pattern: REGISTRY_PATTERN })
}

fn is_registry(host: &str) -> bool {
    // Text that is no host name must not hide in the pattern's `.+`.
    let is_host = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let below = |suffix: &str| host.strip_suffix(suffix).is_some_and(|name| !name.is_empty());
    is_host
        && (host == "gcr.io"
            || below(".gcr.io")
            || below("-docker.pkg.dev")
            || host == "docker.s3nsregistry.fr")
}

/// User and password of a registry.
pub(crate) async fn registry(client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
    let Login { credentials, expires } = login(client, identity).await?;
    match credentials {
        Credentials::Bearer(token) => Ok(Login::basic(REGISTRY_USER, token, expires)),
        _ => Err(ProviderError::Answer { what: "Google", missing: "access token" }),
    }
}

/// An access token.
pub(crate) async fn login(client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
    let made = match identity {
        Identity::Pod(_) | Identity::Person => default_credentials::login(client, identity).await,
        Identity::Account(account) => federated(client, account).await,
    };
    made.map_err(|error| identity.refused(error))
}

async fn federated(client: &Client, account: &Account) -> Result<Login, ProviderError> {
    let audiences = match provider(account) {
        Ok(Some(provider)) => Ok((provider.clone(), provider)),
        Ok(None) => Metadata::new()?.audiences().await,
        Err(error) => Err(error),
    };
    let (own, googles) = audiences.map_err(|error| ProviderError::Audience(Box::new(error)))?;
    let email = email(account)?;
    let token = account.token(&own).await?;
    let login = exchange(client, STS, &googles, JWT, &token).await?;
    match email {
        Some(email) => {
            let url = format!("{IMPERSONATION}/{email}:generateAccessToken");
            impersonate(client, &url, &[], &login).await
        }
        None => Ok(login),
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: u64,
}

impl Answer {
    fn login(self) -> Login {
        Login::bearer(self.access_token.into(), rest::in_seconds(self.expires_in))
    }
}

/// A token of Kubernetes, or of another issuer, for one of Google's.
async fn exchange(
    client: &Client,
    url: &str,
    audience: &str,
    subject_type: &str,
    subject: &SecretString,
) -> Result<Login, ProviderError> {
    let scope = SCOPES.join(" ");
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", audience),
        ("scope", &scope),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token_type", subject_type),
        ("subject_token", subject.expose_secret()),
    ];
    let request = client.post(url).form(&form);
    let answer = rest::json_hiding::<Answer>("Google's STS", request, std::slice::from_ref(subject)).await;
    answer.map(Answer::login)
}

/// A token of a service account, for one that may act as it, or whose `delegates` may, each as the next.
async fn impersonate(
    client: &Client,
    url: &str,
    delegates: &[String],
    login: &Login,
) -> Result<Login, ProviderError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Made {
        access_token: String,
        expire_time: String,
    }
    let Credentials::Bearer(token) = &login.credentials else {
        return Err(ProviderError::Answer { what: "Google's STS", missing: "access token" });
    };
    let mut body = serde_json::json!({"scope": SCOPES, "lifetime": LIFETIME});
    if let (false, Some(fields)) = (delegates.is_empty(), body.as_object_mut()) {
        fields.insert("delegates".to_owned(), delegates.into());
    }
    let request = client.post(url).bearer_auth(token.expose_secret()).json(&body);
    let made: Made = rest::json("Google's IAM", request).await?;
    Ok(Login::bearer(made.access_token.into(), rest::moment(&made.expire_time)))
}

/// The audience of the identity provider that the ServiceAccount names; none on GKE.
fn provider(account: &Account) -> Result<Option<String>, ProviderError> {
    let value = account.annotation(GCP_PROVIDER);
    if value.is_empty() {
        return Ok(None);
    }
    if is_provider(value) {
        return Ok(Some(format!("//iam.googleapis.com/{value}")));
    }
    Err(ProviderError::Annotation { key: GCP_PROVIDER, value: value.to_owned(), pattern: PROVIDER_PATTERN })
}

fn is_provider(value: &str) -> bool {
    let is_name = |name: &str| (1..=MAX_NAME).contains(&name.chars().count());
    let is_number = |text: &str| {
        (1..=MAX_PROJECT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    match value.split('/').collect::<Vec<_>>().as_slice() {
        [
            "projects",
            project,
            "locations",
            "global",
            "workloadIdentityPools",
            pool,
            "providers",
            provider,
        ] => is_number(project) && is_name(pool) && is_name(provider),
        _ => false,
    }
}

/// The service account to act as; none means direct access.
fn email(account: &Account) -> Result<Option<&str>, ProviderError> {
    let value = account.annotation(GCP_ACCOUNT);
    if value.is_empty() || is_email(value) {
        return Ok(Some(value).filter(|value| !value.is_empty()));
    }
    Err(ProviderError::Annotation { key: GCP_ACCOUNT, value: value.to_owned(), pattern: EMAIL_PATTERN })
}

fn is_email(value: &str) -> bool {
    let is_part = |part: &str| {
        (1..=MAX_NAME).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let parts = value.strip_suffix(EMAIL_SUFFIX).and_then(|rest| rest.split_once('@'));
    parts.is_some_and(|(name, project)| is_part(name) && is_part(project))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use rstest::rstest;
    use weir_testkit::Server;

    use super::*;

    #[rstest]
    #[case("gcr.io", true)]
    #[case("eu.gcr.io", true)]
    #[case("europe-west1-docker.pkg.dev", true)]
    #[case("docker.s3nsregistry.fr", true)]
    #[case("gcr.io.evil.example", false)]
    #[case("evilgcr.io", false)]
    #[case("evil.example/x.gcr.io", false)]
    #[case("-docker.pkg.dev", false)]
    fn registries(#[case] host: &str, #[case] expected: bool) {
        assert_eq!(is_registry(host), expected);
    }

    #[rstest]
    #[case("app@project.iam.gserviceaccount.com", true)]
    #[case("app@project.iam.gserviceaccount.com/x", false)]
    #[case("a/b@project.iam.gserviceaccount.com", false)]
    #[case("@project.iam.gserviceaccount.com", false)]
    fn emails(#[case] value: &str, #[case] expected: bool) {
        assert_eq!(is_email(value), expected);
    }

    /// SRC-SCK-11: a file may name any server for this.
    #[tokio::test]
    async fn a_refused_exchange_does_not_show_the_token() {
        let answer = |body: String| async move {
            (StatusCode::BAD_REQUEST, serde_json::json!({ "error_description": body }).to_string())
        };
        let server = Server::start(Router::new().fallback(answer), None).await.unwrap();
        let url = format!("http://{}", server.address());
        let Err(error) = exchange(&Client::new(), &url, "a", JWT, &"hunter2".into()).await else {
            panic!("it is refused")
        };
        let shown = error.to_string();
        assert!(shown.contains("subject_token=<redacted>"), "{shown}");
    }

    #[rstest]
    #[case("projects/1/locations/global/workloadIdentityPools/p/providers/q", true)]
    #[case("projects/x/locations/global/workloadIdentityPools/p/providers/q", false)]
    #[case("projects/1/locations/global/workloadIdentityPools/p/providers/q/r", false)]
    #[case("projects/1/locations/eu/workloadIdentityPools/p/providers/q", false)]
    fn providers(#[case] value: &str, #[case] expected: bool) {
        assert_eq!(is_provider(value), expected);
    }
}
