//! `.dockerconfigjson` and the older `.dockercfg`.

use std::collections::BTreeMap;

use base64::Engine;
use serde::Deserialize;

use crate::RegistryCredentials;

/// Bytes of a configuration: the largest Secret that Kubernetes stores.
const MAX_BYTES: usize = 1 << 20;

/// Errors that make a configuration unusable.
#[derive(Debug, thiserror::Error)]
pub enum DockerConfigError {
    /// More bytes than a Secret has.
    #[error("docker configuration is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// No JSON, or JSON of another form. The content is not repeated.
    #[error("docker configuration is not valid JSON at line {line}, column {column}")]
    Json {
        /// Where.
        line: usize,
        /// Where.
        column: usize,
    },
    /// `auth` is not the base64 of `user:password`.
    #[error("docker configuration has an invalid 'auth' for registry '{registry}'")]
    Auth {
        /// The registry.
        registry: String,
    },
}

/// Credentials by registry, as a pull Secret holds them.
#[derive(Debug, Clone, Default)]
pub struct DockerConfig {
    pub(crate) entries: BTreeMap<String, RegistryCredentials>,
}

#[derive(Deserialize)]
struct File {
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "lowercase")]
struct Entry {
    username: String,
    password: String,
    auth: String,
    identitytoken: String,
    registrytoken: String,
}

impl DockerConfig {
    /// Parses a configuration of either format.
    ///
    /// # Errors
    /// When it is too large, no JSON, or holds an unreadable `auth`.
    pub fn parse(bytes: &[u8]) -> Result<Self, DockerConfigError> {
        if bytes.len() > MAX_BYTES {
            return Err(DockerConfigError::TooLarge);
        }
        let json =
            |error: serde_json::Error| DockerConfigError::Json { line: error.line(), column: error.column() };
        let keys: BTreeMap<String, serde::de::IgnoredAny> = serde_json::from_slice(bytes).map_err(json)?;
        let file = if keys.contains_key("auths") {
            serde_json::from_slice(bytes).map_err(json)?
        } else {
            File { auths: serde_json::from_slice(bytes).map_err(json)? }
        };
        let entries = file.auths.into_iter().map(|(registry, entry)| match entry.credentials() {
            Some(credentials) => Ok((registry, credentials)),
            None => Err(DockerConfigError::Auth { registry }),
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }
}

impl Entry {
    /// The credentials of one registry; nothing when `auth` cannot be read.
    fn credentials(self) -> Option<RegistryCredentials> {
        if !self.registrytoken.is_empty() {
            return Some(RegistryCredentials::Bearer(self.registrytoken.into()));
        }
        if !self.identitytoken.is_empty() {
            return Some(RegistryCredentials::IdentityToken(self.identitytoken.into()));
        }
        let (mut username, mut password) = (self.username, self.password);
        if !self.auth.is_empty() {
            let padded = base64::engine::general_purpose::STANDARD.decode(self.auth.trim());
            let unpadded = || base64::engine::general_purpose::STANDARD_NO_PAD.decode(self.auth.trim());
            let text = String::from_utf8(padded.or_else(|_| unpadded()).ok()?).ok()?;
            let (user, secret) = text.split_once(':')?;
            username = user.to_owned();
            password = secret.trim_matches('\0').to_owned();
        }
        if username.is_empty() && password.is_empty() {
            return Some(RegistryCredentials::Anonymous);
        }
        Some(RegistryCredentials::Basic { username, password: password.into() })
    }
}
