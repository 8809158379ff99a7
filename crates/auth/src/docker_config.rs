//! `.dockerconfigjson` and the older `.dockercfg`.

use std::collections::BTreeMap;

use base64::Engine;
use serde::Deserialize;
use serde::de::IgnoredAny;

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
        /// The line of the fault, from 1.
        line: usize,
        /// Its column.
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

/// The newer format. Templates that have no credentials to fill in leave nulls.
#[derive(Deserialize)]
struct File {
    auths: Option<BTreeMap<String, Option<Entry>>>,
}

/// A value of the older format. Where the newer one has no `auths`, settings of Docker's client stand there (`credsStore`).
#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Entry(Entry),
    Setting(IgnoredAny),
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "lowercase")]
struct Entry {
    username: Option<String>,
    password: Option<String>,
    auth: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
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
        let items: BTreeMap<String, Item> = serde_json::from_slice(bytes).map_err(json)?;
        let auths = if items.contains_key("auths") {
            let File { auths } = serde_json::from_slice(bytes).map_err(json)?;
            auths.unwrap_or_default()
        } else {
            let entry = |item| match item {
                Item::Entry(entry) => Some(entry),
                Item::Setting(_) => None,
            };
            items.into_iter().map(|(registry, item)| (registry, entry(item))).collect()
        };
        let entries =
            auths.into_iter().map(|(registry, entry)| match entry.unwrap_or_default().credentials() {
                Some(credentials) => Ok((registry, credentials)),
                None => Err(DockerConfigError::Auth { registry }),
            });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }
}

impl Entry {
    /// The credentials of one registry; nothing when `auth` cannot be read.
    fn credentials(self) -> Option<RegistryCredentials> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = given(self.registrytoken) {
            return Some(RegistryCredentials::Bearer(token.into()));
        }
        if let Some(token) = given(self.identitytoken) {
            return Some(RegistryCredentials::IdentityToken(token.into()));
        }
        let mut username = self.username.unwrap_or_default();
        let mut password = self.password.unwrap_or_default();
        if let Some(auth) = given(self.auth) {
            let padded = base64::engine::general_purpose::STANDARD.decode(auth.trim());
            let unpadded = || base64::engine::general_purpose::STANDARD_NO_PAD.decode(auth.trim());
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
