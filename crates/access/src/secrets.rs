//! Reading of Secrets and ServiceAccounts.

use std::fmt::Debug;

use k8s_openapi::api::core::v1;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use weir_api::LocalObjectReference;
use weir_http::SecretData;

/// The error of a read. Its text is the API server's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReadError {
    /// Kind of the object in Flux's messages, for example `secret`.
    pub kind: String,
    /// Its `namespace/name`.
    pub place: String,
    /// True when there is none. Otherwise the API server did not give it.
    pub is_not_found: bool,
    /// The API server's message, or the fault on the way to it.
    pub message: String,
}

impl ReadError {
    /// Returns the sentence that Flux's libraries make of the error, with the object in it (SRC-SEC-1).
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { kind, place, message, .. } = self;
        match self.is_not_found {
            true => format!("{kind} '{place}' not found"),
            false => format!("failed to get {kind} '{place}': {message}"),
        }
    }
}

/// A Secret that was read.
#[derive(Clone, Default)]
pub struct Secret {
    /// Its `namespace/name`, for messages.
    pub place: String,
    /// Its type.
    pub type_: String,
    /// Its content.
    pub data: SecretData,
}

/// Reads Secrets and ServiceAccounts.
#[derive(Clone)]
pub struct Secrets {
    client: Client,
}

impl Secrets {
    /// Makes a reader with the rights of `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads a Secret.
    ///
    /// # Errors
    /// When it is not there or the API server does not give it.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Secret, ReadError> {
        let v1::Secret { data, type_, .. } = self.read(namespace, name).await?;
        Ok(Secret {
            place: format!("{namespace}/{name}"),
            type_: type_.unwrap_or_default(),
            data: data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect(),
        })
    }

    /// Reads the Secret that an object names, if it names one.
    ///
    /// # Errors
    /// When it is not there or the API server does not give it.
    pub async fn find(
        &self,
        namespace: &str,
        reference: Option<&LocalObjectReference>,
    ) -> Result<Option<Secret>, ReadError> {
        let Some(reference) = reference else { return Ok(None) };
        self.get(namespace, &reference.name).await.map(Some)
    }

    /// Reads the names of the pull Secrets of a ServiceAccount.
    pub(crate) async fn pull_secrets(
        &self,
        namespace: &str,
        account: &str,
    ) -> Result<Vec<String>, ReadError> {
        let account: v1::ServiceAccount = self.read(namespace, account).await?;
        Ok(account.image_pull_secrets.unwrap_or_default().into_iter().map(|secret| secret.name).collect())
    }

    async fn read<K>(&self, namespace: &str, name: &str) -> Result<K, ReadError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let read = Api::namespaced(self.client.clone(), namespace).get(name).await;
        read.map_err(|error| {
            let (is_not_found, message) = match error {
                kube::Error::Api(status) => (status.code == 404, status.message),
                // A name is all that a request can lack.
                kube::Error::BuildRequest(_) => (false, "resource name may not be empty".to_owned()),
                other => (false, other.to_string()),
            };
            let (kind, place) = (K::kind(&()).to_lowercase(), format!("{namespace}/{name}"));
            ReadError { kind, place, is_not_found, message }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_secret_without_a_name_is_told_in_the_words_of_flux() {
        weir_runtime::service::install_crypto();
        let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let secrets = Secrets::new(Client::try_from(nowhere).unwrap());
        let error = secrets.get("apps", "").await.err().unwrap();
        assert_eq!(error.sentence(), "failed to get secret 'apps/': resource name may not be empty");
    }
}
