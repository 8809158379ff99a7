//! Pull Secrets of an object and of its ServiceAccount (SRC-OCI-16, IR-19).

use weir_api::LocalObjectReference;
use weir_auth::{DockerConfig, DockerConfigError, Keyring};

use crate::{ReadError, Secret, Secrets};

/// Types of Secrets with a docker configuration, and the key that holds it.
const DOCKER_CONFIGS: [(&str, &str); 2] =
    [("kubernetes.io/dockerconfigjson", ".dockerconfigjson"), ("kubernetes.io/dockercfg", ".dockercfg")];

/// Secrets whose docker configuration is read. Others hold none, which is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullSecrets {
    /// Those that have the key of one, whatever their type.
    OfAnyType,
    /// Those of the types that Kubernetes has for it.
    OfTheirType,
}

/// Errors that leave a registry without credentials.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The Secret that the object names cannot be read.
    #[error("failed to get secret '{place}': {0}", place = .0.place)]
    Secret(ReadError),
    /// The ServiceAccount cannot be read.
    #[error("{}", .0.sentence())]
    Account(ReadError),
    /// A pull Secret of the ServiceAccount cannot be read.
    #[error("failed to get image pull secret for serviceaccount '{account}': {}", .cause.sentence())]
    PullSecret {
        /// Its `namespace/name`.
        account: String,
        /// Cause.
        cause: ReadError,
    },
    /// A docker configuration is none.
    #[error("failed to parse secret '{place}': {cause}")]
    DockerConfig {
        /// `namespace/name` of the Secret.
        place: String,
        /// The fault in it.
        cause: DockerConfigError,
    },
}

impl Secrets {
    /// Returns the credentials of `secretRef` and of the pull Secrets of a ServiceAccount, in this order.
    ///
    /// # Errors
    /// When the ServiceAccount or one of the Secrets cannot be read or used.
    pub async fn keyring(
        &self,
        namespace: &str,
        secret: Option<&LocalObjectReference>,
        account: Option<&str>,
        accepted: PullSecrets,
    ) -> Result<Keyring, KeyringError> {
        let mut ring = Keyring::default();
        if let Some(secret) = self.find(namespace, secret).await.map_err(KeyringError::Secret)? {
            add(&mut ring, &secret, accepted)?;
        }
        let Some(account) = account.filter(|name| !name.is_empty()) else { return Ok(ring) };
        for name in self.pull_secrets(namespace, account).await.map_err(KeyringError::Account)? {
            let secret = self.get(namespace, &name).await.map_err(|cause| KeyringError::PullSecret {
                account: format!("{namespace}/{account}"),
                cause,
            })?;
            add(&mut ring, &secret, accepted)?;
        }
        Ok(ring)
    }
}

fn add(ring: &mut Keyring, secret: &Secret, accepted: PullSecrets) -> Result<(), KeyringError> {
    let Some(config) = docker_config(secret, accepted) else { return Ok(()) };
    let config = DockerConfig::parse(config);
    ring.add(config.map_err(|cause| KeyringError::DockerConfig { place: secret.place.clone(), cause })?);
    Ok(())
}

fn docker_config(secret: &Secret, accepted: PullSecrets) -> Option<&[u8]> {
    let is_accepted = |type_: &str| accepted == PullSecrets::OfAnyType || secret.type_ == type_;
    let mut keys = DOCKER_CONFIGS.iter().filter(|(type_, _)| is_accepted(type_));
    keys.find_map(|(_, key)| secret.data.get(*key)).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{PullSecrets, Secret, docker_config};

    #[rstest]
    #[case("kubernetes.io/dockerconfigjson", ".dockerconfigjson", true, true)]
    #[case("kubernetes.io/dockercfg", ".dockercfg", true, true)]
    #[case("Opaque", ".dockerconfigjson", true, false)]
    #[case("Opaque", "password", false, false)]
    fn pull_secrets(#[case] type_: &str, #[case] key: &str, #[case] of_any: bool, #[case] of_its: bool) {
        let data = [(key.to_owned(), b"{}".to_vec())].into();
        let secret = Secret { place: "ns/s".to_owned(), type_: type_.to_owned(), data };
        let found = [PullSecrets::OfAnyType, PullSecrets::OfTheirType].map(|of| docker_config(&secret, of));
        assert_eq!(found.map(|found| found.is_some()), [of_any, of_its]);
    }
}
