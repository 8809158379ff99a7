//! Microsoft Azure: Entra ID's access tokens, and the registry's own refresh tokens (SRC-CLD-4, SRC-CLD-5, IR-24).

mod aks;
mod application;
mod certificate;
mod environment;
pub(crate) mod machine;
mod powershell;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_core::credentials::{AccessToken, TokenCredential};
use azure_core::http::{ClientMethodOptions, ClientOptions, Transport};
use azure_identity::{
    ClientAssertion, ClientAssertionCredential, ClientAssertionCredentialOptions, DeveloperToolsCredential,
    ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId, WorkloadIdentityCredential,
    WorkloadIdentityCredentialOptions,
};
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub(crate) use self::aks::Aks;
pub(crate) use self::application::{Application, Proof};
pub use self::certificate::ClientCertificate;
use crate::claims::unverified_claims;
use crate::credentials::Login;
use crate::error::{LoginError, ProviderError, words};
use crate::identity::{AZURE_CLIENT, AZURE_TENANT, Account, Identity};
use crate::rest;

/// Scope of tokens for Azure DevOps (NTF-79).
pub const DEVOPS_SCOPE: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
/// Storage accounts of every cloud of Azure.
pub(crate) const STORAGE_SCOPE: &str = "https://storage.azure.com/.default";
/// Registries of every public and sovereign cloud.
const REGISTRY_SCOPE: &str = "https://containerregistry.azure.net/.default";
const REGISTRY_PATTERN: &str = r"^.+\.(azurecr\.io|azurecr\.cn|azurecr\.de|azurecr\.us)$";
const REGISTRY_SUFFIXES: [&str; 4] = [".azurecr.io", ".azurecr.cn", ".azurecr.de", ".azurecr.us"];
/// The user that goes with refresh tokens.
const REGISTRY_USER: &str = "00000000-0000-0000-0000-000000000000";
const AUDIENCE: &str = "api://AzureADTokenExchange";
/// Names a file that describes another cloud, as Azure Stack has it.
const ENVIRONMENT_FILE: &str = "AZURE_ENVIRONMENT_FILEPATH";
/// Bytes of that file.
const MAX_ENVIRONMENT: u64 = 1 << 20;
/// Life of a refresh token that does not say: a registry's are valid for three hours.
const DEFAULT_LIFE: u64 = 60 * 60;

/// A registry of Azure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registry {
    host: String,
    scope: String,
}

/// Another cloud.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Environment {
    resource_manager_endpoint: String,
    #[serde(rename = "containerRegistryDNSSuffix")]
    registry_suffix: String,
    #[serde(rename = "storageEndpointSuffix")]
    storage_suffix: String,
}

impl Registry {
    /// The registry at a host, if it is one.
    pub(crate) fn at(host: &str) -> Result<Self, LoginError> {
        Self::among(host, other_cloud().as_ref()).ok_or_else(|| LoginError::Registry {
            provider: "Azure",
            host: host.to_owned(),
            pattern: REGISTRY_PATTERN,
        })
    }

    fn among(host: &str, environment: Option<&Environment>) -> Option<Self> {
        let below = |suffix: &str| {
            host.strip_suffix(suffix).is_some_and(|name| !name.is_empty() && !name.contains(['/', ':', '@']))
        };
        let found = |scope: String| Self { host: host.to_owned(), scope };
        if let Some(environment) = environment {
            let suffix = environment.registry_suffix.trim_start_matches('.');
            if !suffix.is_empty() && below(&format!(".{suffix}")) {
                let endpoint = environment.resource_manager_endpoint.trim_end_matches('/');
                return Some(found(format!("{endpoint}/.default")));
            }
        }
        REGISTRY_SUFFIXES.iter().any(|suffix| below(suffix)).then(|| found(REGISTRY_SCOPE.to_owned()))
    }

    /// Returns the key of its refresh tokens, which names everything that they depend on.
    pub(crate) fn key(&self) -> String {
        format!("registry/{}/{}", self.host, self.scope)
    }

    /// User and refresh token of the registry.
    pub(crate) async fn login(&self, client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
        let access = access_token(client, identity, &self.scope).await?;
        self.exchange(client, &access).await.map_err(|error| ProviderError::Registry(Box::new(error)))
    }

    async fn exchange(&self, client: &Client, access: &AccessToken) -> Result<Login, ProviderError> {
        #[derive(Deserialize)]
        struct Exchanged {
            refresh_token: String,
        }
        let form = [
            ("grant_type", "access_token"),
            ("service", &self.host),
            ("access_token", access.token.secret()),
        ];
        let request = client.post(format!("https://{}/oauth2/exchange", self.host)).form(&form);
        let made: Exchanged = rest::json("registry", request).await?;
        let expires = expiry(&made.refresh_token);
        Ok(Login::basic(REGISTRY_USER, made.refresh_token.into(), expires))
    }
}

/// Another cloud that the environment describes.
fn other_cloud() -> Option<Environment> {
    let path = std::env::var_os(ENVIRONMENT_FILE)?;
    let file = std::fs::File::open(path).ok()?;
    serde_json::from_reader(std::io::Read::take(file, MAX_ENVIRONMENT)).ok()
}

/// Returns the domain that follows `blob` in the names of storage hosts, if the environment describes a cloud with one of its own.
#[must_use]
pub fn azure_storage_suffix() -> Option<String> {
    other_cloud().and_then(Environment::storage)
}

impl Environment {
    fn storage(self) -> Option<String> {
        Some(self.storage_suffix).filter(|suffix| !suffix.is_empty())
    }
}

/// A bearer token for `scope`.
pub(crate) async fn login(client: &Client, identity: &Identity, scope: &str) -> Result<Login, ProviderError> {
    let token = access_token(client, identity, scope).await?;
    Ok(Login::bearer(token.token.secret().to_owned().into(), token.expires_on.into()))
}

async fn access_token(
    client: &Client,
    identity: &Identity,
    scope: &str,
) -> Result<AccessToken, ProviderError> {
    let token = match identity {
        Identity::Pod(_) => pod(client, scope).await,
        Identity::Person => person(client, scope).await,
        Identity::Account(account) => federated(account, client, scope).await,
    };
    token.map_err(|error| identity.refused(error))
}

/// Options of the library, with requests through `client`.
fn options(client: &Client) -> ClientOptions {
    let transport = Transport::new(Arc::new(client.clone()));
    ClientOptions { transport: Some(transport), ..ClientOptions::default() }
}

async fn issued(credential: &dyn TokenCredential, scope: &str) -> Result<AccessToken, ProviderError> {
    credential.get_token(&[scope], None).await.map_err(|error| library(&error))
}

fn library(error: &azure_core::Error) -> ProviderError {
    ProviderError::Library { what: "failed to get an Entra token", reason: words(error) }
}

/// The pod's token: for an application of the environment, for a federated token, or of the machine's managed identity, in the
/// order of Azure's default credential.
async fn pod(client: &Client, scope: &str) -> Result<AccessToken, ProviderError> {
    match of_environment(client, scope).await? {
        Some(token) => Ok(token),
        None => managed(scope).await,
    }
}

/// Returns the token of a person or a CI job: one like a Pod's where there is any, else that of the login to Azure's command line
/// (`az login`, `azd auth login`) or PowerShell. Azure's default credential has the same order.
async fn person(client: &Client, scope: &str) -> Result<AccessToken, ProviderError> {
    if let Some(token) = of_environment(client, scope).await? {
        return Ok(token);
    }
    if machine::is_there().await
        && let Ok(token) = managed(scope).await
    {
        return Ok(token);
    }
    let tools = DeveloperToolsCredential::new(None).map_err(|error| library(&error))?;
    match issued(&*tools, scope).await {
        Ok(token) => Ok(token),
        // The reason of the command line stays: most people have that, and are told how to log in.
        Err(error) => powershell::token(scope).await.map_err(|_| error),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A token for the application, or the workload identity, that the environment describes.
async fn of_environment(client: &Client, scope: &str) -> Result<Option<AccessToken>, ProviderError> {
    if let Some(application) = environment::application(variable).await? {
        let (token, expires) = application.token(client, scope).await?;
        return Ok(Some(AccessToken::new(token.expose_secret().to_owned(), expires.into())));
    }
    if variable(environment::FEDERATED_TOKEN).is_some() {
        let credential_options = ClientAssertionCredentialOptions { client_options: options(client) };
        let options = WorkloadIdentityCredentialOptions { credential_options, ..Default::default() };
        let credential = WorkloadIdentityCredential::new(Some(options)).map_err(|error| library(&error))?;
        return issued(&*credential, scope).await.map(Some);
    }
    Ok(None)
}

/// A token of the machine's managed identity.
async fn managed(scope: &str) -> Result<AccessToken, ProviderError> {
    let user_assigned_id = variable("AZURE_CLIENT_ID").map(UserAssignedId::ClientId);
    let client_options = options(&rest::machine_client()?);
    let options = ManagedIdentityCredentialOptions { user_assigned_id, client_options };
    let credential = ManagedIdentityCredential::new(Some(options)).map_err(|error| library(&error))?;
    issued(&*credential, scope).await
}

/// The token of the identity that a ServiceAccount's annotations name.
async fn federated(account: &Account, client: &Client, scope: &str) -> Result<AccessToken, ProviderError> {
    let annotation = |what, key| match account.annotation(key) {
        "" => Err(ProviderError::NoAnnotation { what, key }),
        value => Ok(value.to_owned()),
    };
    let tenant = annotation("azure tenant ID", AZURE_TENANT)?;
    let client_id = annotation("azure client ID", AZURE_CLIENT)?;
    let assertion = Assertion(account.token(AUDIENCE).await?);
    let options = ClientAssertionCredentialOptions { client_options: options(client) };
    let credential = ClientAssertionCredential::new(tenant, client_id, assertion, Some(options));
    issued(&*credential.map_err(|error| library(&error))?, scope).await
}

#[derive(Debug)]
struct Assertion(SecretString);

#[async_trait::async_trait]
impl ClientAssertion for Assertion {
    async fn secret(&self, _: Option<ClientMethodOptions<'_>>) -> azure_core::Result<String> {
        Ok(self.0.expose_secret().to_owned())
    }
}

/// Returns the end of a JWT's life. The registry checks it; we only need the time of the next login.
fn expiry(token: &str) -> SystemTime {
    #[derive(Deserialize)]
    struct Claims {
        exp: u64,
    }
    let end = |Claims { exp }| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(exp));
    let moment = unverified_claims(token).and_then(end);
    moment.unwrap_or_else(|| rest::in_seconds(DEFAULT_LIFE))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use rstest::rstest;

    use super::*;

    fn stack() -> Environment {
        serde_json::from_str(
            r#"{"resourceManagerEndpoint": "https://management.local/", "containerRegistryDNSSuffix": "cr.local",
                "storageEndpointSuffix": "east.stack.example"}"#,
        )
        .unwrap()
    }

    #[rstest]
    #[case("my.azurecr.io", Some(REGISTRY_SCOPE))]
    #[case("my.azurecr.us", Some(REGISTRY_SCOPE))]
    #[case("my.cr.local", Some("https://management.local/.default"))]
    #[case("azurecr.io", None)]
    #[case("my.azurecr.io.evil.example", None)]
    #[case("evil.example/x.azurecr.io", None)]
    #[case("my.azurecr.io:443", None)]
    #[case("ghcr.io", None)]
    fn registries(#[case] host: &str, #[case] scope: Option<&str>) {
        let found = Registry::among(host, Some(&stack())).map(|registry| registry.scope);
        assert_eq!(found.as_deref(), scope);
    }

    #[test]
    fn storage_of_other_clouds() {
        assert_eq!(stack().storage().as_deref(), Some("east.stack.example"));
        assert_eq!(Environment::default().storage(), None);
    }

    #[test]
    fn expiries() {
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"exp":1700000000}"#);
        assert_eq!(
            expiry(&format!("x.{claims}.x")),
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
        );
        assert!(expiry("no token") > SystemTime::now());
    }
}
