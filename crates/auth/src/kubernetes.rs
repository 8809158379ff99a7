//! Tokens of this cluster's API server, for those who trust its keys: clouds, other clusters, Vault (DEP-CLD-3, KS-DEC-13,
//! KS-IMP-9).

use std::time::SystemTime;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use secrecy::SecretString;

use crate::credentials::Login;
use crate::error::ProviderError;
use crate::identity::Identity;

/// Life of tokens that are used at once, in seconds: the least that the API server gives.
pub(crate) const SHORT_LIFE: i64 = 600;
/// Life of tokens that are kept, in seconds.
const LONG_LIFE: i64 = 3600;
/// Begin of the user names of ServiceAccounts; namespace and name follow.
const USER: &str = "system:serviceaccount:";

/// A token that proves the identity to `audiences`.
pub(crate) async fn login(identity: &Identity, audiences: &[String]) -> Result<Login, ProviderError> {
    let audiences = audiences.to_vec();
    let made = match identity {
        Identity::Account(account) => account.token_for(audiences, LONG_LIFE).await,
        Identity::Pod(client) => own(client, audiences).await,
        Identity::Person => Err(ProviderError::NoServiceAccount { user: String::new() }),
    };
    let (token, expires) = made.map_err(|error| identity.refused(error))?;
    Ok(Login::bearer(token, expires))
}

/// A token of this process's own ServiceAccount.
async fn own(client: &Client, audiences: Vec<String>) -> Result<(SecretString, SystemTime), ProviderError> {
    let review = Api::<SelfSubjectReview>::all(client.clone());
    let review = review.create(&PostParams::default(), &SelfSubjectReview::default()).await;
    let review = review.map_err(|error| ProviderError::Library {
        what: "failed to find out the service account of the controller",
        reason: words(error),
    })?;
    let user = review.status.and_then(|status| status.user_info?.username).unwrap_or_default();
    let account = user.strip_prefix(USER).and_then(|rest| rest.split_once(':'));
    let Some((namespace, name)) = account else {
        return Err(ProviderError::NoServiceAccount { user });
    };
    let requested = request(client, namespace, name, audiences, LONG_LIFE).await;
    requested
        .map_err(|reason| ProviderError::KubernetesToken { place: format!("{namespace}/{name}"), reason })
}

/// Requests a token of a ServiceAccount; an error is the API server's message.
pub(crate) async fn request(
    client: &Client,
    namespace: &str,
    name: &str,
    audiences: Vec<String>,
    seconds: i64,
) -> Result<(SecretString, SystemTime), String> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec = TokenRequestSpec { audiences, expiration_seconds: Some(seconds), bound_object_ref: None };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let made = api.create_token_request(name, &PostParams::default(), &request).await.map_err(words)?;
    let status = made.status.ok_or_else(|| "no token".to_owned())?;
    Ok((status.token.into(), status.expiration_timestamp.0.into()))
}

fn words(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}
