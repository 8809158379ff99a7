//! Tokens that a provider needs and its Secret does not hold. They come from the cloud of the Provider's identity, or from
//! GitHub for an app (NTF-69, NTF-76, NTF-79).

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use weir_access::{Secret, caller};
use weir_api::Provider;
use weir_auth::{
    App, Caller, Credentials, DEVOPS_SCOPE, GitLogin, KeyLogin, KeyLoginError, Login, LoginError, Logins,
    Operation, ProviderError,
};
use weir_runtime::ObjectKey;

use super::azure_event_hub::has_shared_key;
use super::git::Repository;
use super::github_app::{self, AppFault};
use super::resolve::Resolved;
use super::{InitError, Settings};

/// Scope of tokens for Azure's Event Hubs.
const EVENT_HUBS_SCOPE: &str = "https://eventhubs.azure.net//.default";
/// Scope of tokens that a service account's key gets for Google's Pub/Sub.
const PUBSUB_SCOPE: &str = "https://www.googleapis.com/auth/pubsub";
/// The types that a GitHub App can be used for (NTF-75).
const GITHUB_TYPES: [&str; 3] = ["github", "githubdispatch", "githubpullrequestcomment"];

/// Errors that leave a provider without its token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Azure gives no token for Azure DevOps.
    #[error("failed to acquire azure devops token: failed to get token: {0}")]
    DevOps(#[source] LoginError),
    /// Azure gives no token for the hub.
    #[error("failed to create a eventhub using managed identity: failed to get token: {0}")]
    EventHub(#[source] LoginError),
    /// The Secret's token is no key of Google's.
    #[error("the entry 'token' of the secret cannot be used for GCP Pub/Sub: {0}")]
    Key(#[from] KeyLoginError),
    /// Google gives no token for the topic.
    #[error("failed to get token for GCP Pub/Sub: {0}")]
    PubSub(#[source] LoginError),
    /// The Secret describes no GitHub App.
    #[error(transparent)]
    App(#[from] AppFault),
    /// The private key of the app cannot be used.
    #[error("{0}")]
    AppKey(#[source] ProviderError),
    /// The address names no repository.
    #[error(transparent)]
    Address(InitError),
    /// GitHub gives no token for the app.
    #[error("{0}")]
    GitHub(#[source] LoginError),
    /// The cloud answers with credentials of another form.
    #[error("the login gave no token")]
    NoToken,
}

/// The login that a provider needs before it can be built.
#[derive(Debug)]
enum Needed {
    DevOps,
    EventHub,
    Key(KeyLogin),
    PubSub,
    App(App),
}

/// Logs in where the provider's type needs it, and puts the token into its settings. Such logins are counted as those of posts.
///
/// # Errors
/// When the Provider may not have an identity, or nobody gives it a token.
pub async fn log_in(
    logins: &Logins,
    provider: &Provider,
    resolved: &mut Resolved,
    timeout: Duration,
) -> Result<(), TokenError> {
    let key = ObjectKey::of(provider);
    if resolved.settings.provider_type == "azureeventhub" && resolved.settings.has_static_token {
        tracing::warn!(provider = %key, "a token in the secret of type azureeventhub is deprecated, use a workload identity");
    }
    let Some(needed) = needed(&resolved.settings, resolved.app.as_ref())? else { return Ok(()) };
    let account = provider.spec.service_account_name.as_deref();
    let http = resolved.profile.clone();
    let caller = caller::<Provider>(&key, account, &http, timeout);
    let logins = logins.counted_as(Operation::Post);
    let login = match needed {
        Needed::DevOps => logins.azure(&caller, DEVOPS_SCOPE).await.map_err(TokenError::DevOps)?,
        Needed::EventHub => logins.azure(&caller, EVENT_HUBS_SCOPE).await.map_err(TokenError::EventHub)?,
        Needed::Key(login) => {
            logins.key_login(&caller, &login, PUBSUB_SCOPE).await.map_err(TokenError::PubSub)?
        }
        Needed::PubSub => logins.gcp(&caller).await.map_err(TokenError::PubSub)?,
        Needed::App(app) => {
            if resolved.settings.provider_type == "githubpullrequestcomment" {
                let own = app.own_token().map_err(TokenError::AppKey)?;
                own.expose_secret().clone_into(&mut resolved.settings.app_token);
                resolved.secrets.push(own);
            }
            github(&logins, &caller, app, &resolved.settings.address).await?
        }
    };
    let token = token_of(&login).ok_or(TokenError::NoToken)?;
    token.expose_secret().clone_into(&mut resolved.settings.token);
    resolved.secrets.push(token.clone());
    Ok(())
}

/// Returns the login that the settings need. Settings that [`super::build`] refuses need none.
fn needed(settings: &Settings, secret: Option<&Secret>) -> Result<Option<Needed>, TokenError> {
    let Settings { address, channel, token, .. } = settings;
    Ok(match settings.provider_type.as_str() {
        "azuredevops" if token.is_empty() => Some(Needed::DevOps),
        "azureeventhub" if address.is_empty() || has_shared_key(address) || !token.is_empty() => None,
        "azureeventhub" => Some(Needed::EventHub),
        "googlepubsub" if address.is_empty() || channel.is_empty() => None,
        "googlepubsub" if token.is_empty() => Some(Needed::PubSub),
        "googlepubsub" => Some(Needed::Key(KeyLogin::gcp(token.as_bytes())?)),
        kind if GITHUB_TYPES.contains(&kind) && settings.token_or_password().is_empty() => {
            secret.map(github_app::read).transpose()?.map(Needed::App)
        }
        _ => None,
    })
}

/// Returns the token of an app's installation.
async fn github(
    logins: &Logins,
    caller: &Caller<'_>,
    app: App,
    address: &str,
) -> Result<Arc<Login>, TokenError> {
    let repository = Repository::parse(address).map_err(TokenError::Address)?;
    let login = logins.git(&GitLogin::App(app), caller, &repository.host).await;
    login.map_err(TokenError::GitHub)?.ok_or(TokenError::NoToken)
}

fn token_of(login: &Arc<Login>) -> Option<&SecretString> {
    match &login.credentials {
        Credentials::Bearer(token) => Some(token),
        Credentials::Basic { password, .. } => Some(password),
        Credentials::Aws { .. } | Credentials::Cluster { .. } => None,
    }
}

#[cfg(test)]
mod tests;
