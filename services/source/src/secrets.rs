//! Secrets that sources refer to, read when they are needed, always from the object's own namespace (SRC-SEC-2,
//! SRC-TYP-4).

mod login;
mod registry;
mod transport;

pub(crate) use login::{caller, git_credentials, login_failure};
pub(crate) use registry::keyring;
pub(crate) use transport::{proxy, tls};
pub(crate) use weir_http::{SecretData, text};

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{Api, Client};
use weir_runtime::ObjectKey;

/// Errors in reading something that an object refers to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReferenceError {
    /// There is none.
    #[error("{message}")]
    NotFound {
        /// The API server's words.
        message: String,
    },
    /// The API server did not give it.
    #[error("{message}")]
    Refused {
        /// Its words.
        message: String,
    },
}

impl ReferenceError {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, ReferenceError::NotFound { .. })
    }
}

impl From<kube::Error> for ReferenceError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 404 => {
                ReferenceError::NotFound { message: status.message }
            }
            kube::Error::Api(status) => ReferenceError::Refused { message: status.message },
            other => ReferenceError::Refused { message: other.to_string() },
        }
    }
}

/// Reads Secrets and ServiceAccounts of one namespace.
#[derive(Clone)]
pub(crate) struct Secrets {
    client: Client,
}

impl Secrets {
    pub(crate) fn new(client: Client) -> Secrets {
        Secrets { client }
    }

    /// The data of a Secret.
    pub(crate) async fn secret(&self, namespace: &str, name: &str) -> Result<SecretData, ReferenceError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api.get(name).await?;
        Ok(secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect())
    }

    /// The names of the pull Secrets of a ServiceAccount.
    async fn pull_secrets(&self, namespace: &str, name: &str) -> Result<Vec<String>, ReferenceError> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let account = api.get(name).await?;
        Ok(account.image_pull_secrets.unwrap_or_default().into_iter().map(|secret| secret.name).collect())
    }
}

/// How a Secret is named in messages.
pub(crate) fn shown(object: &ObjectKey, name: &str) -> String {
    format!("{}/{name}", object.namespace)
}
