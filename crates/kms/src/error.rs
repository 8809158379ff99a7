//! Errors of asking a server, as they stand beside the key's name in conditions. No key and no token is among them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_auth::{LoginError, ProviderError};
use weir_sops::IdentityError;

/// Errors that leave a key without its data key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document's ciphertext is broken.
    #[error("failed to base64 decode encrypted data key")]
    Ciphertext,
    /// The name of the key in AWS.
    #[error("no valid ARN found in '{0}'")]
    Arn(String),
    /// The name of the key at Google.
    #[error("no valid resource ID found in '{0}'")]
    ResourceId(String),
    /// The address of the server.
    #[error("no valid {server} address found in '{address}'")]
    Address {
        /// Kind of server.
        server: &'static str,
        /// The address.
        address: String,
    },
    /// The Secret has half of a pair of keys.
    #[error("static credentials are empty")]
    EmptyKeys,
    /// There is no login.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// A client cannot be made.
    #[error(transparent)]
    Client(#[from] weir_http::ClientError),
    /// AWS refuses.
    #[error("failed to decrypt sops data key with AWS KMS: {0}")]
    Aws(String),
    /// Google refuses.
    #[error("failed to decrypt sops data key with GCP KMS key: {0}")]
    Gcp(Box<ProviderError>),
    /// Azure refuses.
    #[error("failed to decrypt sops data key with Azure Key Vault key '{key}': {source}")]
    Azure {
        /// The key.
        key: String,
        /// Cause.
        source: Box<ProviderError>,
    },
    /// Vault refuses.
    #[error("failed to decrypt sops data key from Vault transit backend '{path}': {source}")]
    Vault {
        /// Path of the request.
        path: String,
        /// Cause.
        source: Box<ProviderError>,
    },
    /// The operator does not allow this Vault (KS-DEC-14).
    #[error("Allowlist does not allow {0}")]
    NotAllowed(String),
    /// The operator names no way to log in to this Vault (KS-DEC-13).
    #[error("no Vault login path configured for address '{address}' in ConfigMap '{place}'")]
    NoLoginPath {
        /// The Vault.
        address: String,
        /// `namespace/name` of the ConfigMap.
        place: String,
    },
    /// The ConfigMap with the ways to log in cannot be used.
    #[error("{0}")]
    LoginPaths(String),
    /// No token of Kubernetes.
    #[error("failed to issue Kubernetes token for Vault authentication: {0}")]
    KubernetesToken(LoginError),
    /// A token of Kubernetes that names no ServiceAccount.
    #[error("failed to derive Vault role for authentication: the token names no service account")]
    Subject,
    /// Vault does not let the ServiceAccount in.
    #[error(
        "failed to authenticate with Vault '{address}' at login path '{path}' as role '{role}': {source}"
    )]
    VaultLogin {
        /// The Vault.
        address: String,
        /// The path.
        path: String,
        /// The role.
        role: String,
        /// Cause.
        source: Box<ProviderError>,
    },
    /// The environment cannot be used.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The answer is no data key.
    #[error("the answer of the key server is no data key")]
    Answer,
    /// No answer.
    #[error("no answer of the key server within {0:?}")]
    Silent(Duration),
    /// Too many servers were slow.
    #[error("key servers have taken longer than {0:?} in all")]
    Late(Duration),
}

/// Errors in the environment of the process. They are the operator's.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EnvironmentError {
    /// A file that a variable names.
    #[error("{variable}: {path}: {source}")]
    File {
        /// The variable.
        variable: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: Arc<std::io::Error>,
    },
    /// Keys that are none.
    #[error("{variable}: {reason}")]
    Keys {
        /// The variable.
        variable: &'static str,
        /// Cause.
        reason: String,
    },
}

impl EnvironmentError {
    pub(crate) fn keys(variable: &'static str, error: &IdentityError) -> Self {
        Self::Keys { variable, reason: error.to_string() }
    }
}
