//! Pull Secrets of an object and of its ServiceAccount (SRC-OCI-16).

use super::{SecretData, Secrets, shown};
use weir_auth::{DockerConfig, Keyring};
use weir_runtime::ObjectKey;

const DOCKER_CONFIG: &str = ".dockerconfigjson";
const OLD_DOCKER_CONFIG: &str = ".dockercfg";

/// An error that leaves a registry without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyringError {
    /// The fault found.
    pub(crate) message: String,
    /// The Secret that is not there, if that is the reason.
    pub(crate) missing_secret: Option<String>,
}

/// The credentials of `secret` and of the pull Secrets of `account`, in this order.
pub(crate) async fn keyring(
    secrets: &Secrets,
    object: &ObjectKey,
    secret: Option<&str>,
    account: Option<&str>,
) -> Result<Keyring, KeyringError> {
    let mut names: Vec<(String, bool)> = secret.map(|name| (name.to_owned(), false)).into_iter().collect();
    if let Some(account) = account {
        let pull_secrets =
            secrets.pull_secrets(&object.namespace, account).await.map_err(|error| KeyringError {
                message: if error.is_not_found() {
                    format!("serviceaccount '{}' not found", shown(object, account))
                } else {
                    format!("failed to get serviceaccount '{}': {error}", shown(object, account))
                },
                missing_secret: None,
            })?;
        names.extend(pull_secrets.into_iter().map(|name| (name, true)));
    }
    let mut ring = Keyring::default();
    for (name, is_of_account) in &names {
        let place = shown(object, name);
        let data = secrets.secret(&object.namespace, name).await.map_err(|error| match account {
            Some(account) if *is_of_account => {
                let account = shown(object, account);
                let why = match error.is_not_found() {
                    true => format!("secret '{place}' not found"),
                    false => format!("failed to get secret '{place}': {error}"),
                };
                let message =
                    format!("failed to get image pull secret for serviceaccount '{account}': {why}");
                KeyringError { message, missing_secret: None }
            }
            _ => KeyringError {
                message: format!("failed to get secret '{place}': {error}"),
                missing_secret: error.is_not_found().then(|| name.clone()),
            },
        })?;
        if let Some(config) = docker_config(&data) {
            ring.add(DockerConfig::parse(config).map_err(|error| KeyringError {
                message: format!("failed to parse secret '{}': {error}", shown(object, name)),
                missing_secret: None,
            })?);
        }
    }
    Ok(ring)
}

/// The docker configuration of a Secret; other Secrets have none and are passed over.
fn docker_config(data: &SecretData) -> Option<&[u8]> {
    data.get(DOCKER_CONFIG).or_else(|| data.get(OLD_DOCKER_CONFIG)).map(Vec::as_slice)
}
