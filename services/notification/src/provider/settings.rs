//! The settings of a provider: the Provider object with its Secrets, resolved at each delivery (NTF-41).

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use jiff::Timestamp;
use secrecy::SecretString;

use super::{InitError, message::secret_header};
use crate::event::ObjectReference;

/// The settings of one delivery. No `Debug`: most of it is secret.
#[derive(Clone, Default)]
pub struct Settings {
    /// `spec.type`
    pub provider_type: String,
    /// `metadata.uid` of the Provider; part of keys that are unique per cluster.
    pub provider_uid: String,
    /// Endpoint; the Secret's goes before `spec.address` (NTF-42).
    pub address: String,
    /// `spec.channel`
    pub channel: String,
    /// User name; the Secret's goes before `spec.username`.
    pub username: String,
    /// Password of the Secret, without white space around it.
    pub password: String,
    /// Token of the Secret, without white space around it (NTF-44).
    pub token: String,
    /// Token of the Secret, byte for byte.
    pub hmac_key: Vec<u8>,
    /// File of credentials for NATS, of the Secret.
    pub creds: Vec<u8>,
    /// Seed of a key for NATS, of the Secret.
    pub nkey: Vec<u8>,
    /// Header map of the Secret.
    pub headers: BTreeMap<String, String>,
    /// Name of the commit status (NTF-70, NTF-71); empty for other types.
    pub commit_status: String,
    /// The Alert that the delivery is made for (NTF-66, NTF-67).
    pub alert: ObjectReference,
    /// `spec.serviceAccountName`
    pub account: String,
    /// `AZURE_AUTHORITY_HOST`, which names the cloud of Azure.
    pub authority_host: String,
    /// Name of the host that this service runs on.
    pub host: String,
    /// True when the Secret holds the token; false when a login gave it (NTF-69).
    pub has_static_token: bool,
    /// Token with which a GitHub App asks for its own name; empty without an app (NTF-76).
    pub app_token: String,
    /// The time of the delivery (NTF-67).
    pub now: Timestamp,
}

impl Settings {
    /// The token, or else the password, as Git services take it (NTF-45).
    pub fn token_or_password(&self) -> &str {
        if self.token.is_empty() { &self.password } else { &self.token }
    }

    /// `Bearer <token>`, if there is a token.
    ///
    /// # Errors
    /// When the token cannot stand in a header.
    pub fn bearer(&self) -> Result<Option<HeaderValue>, InitError> {
        self.authorization("Bearer ", &self.token)
    }

    /// `Basic …`, if both user name and password are there.
    ///
    /// # Errors
    /// When they cannot stand in a header.
    pub fn basic(&self) -> Result<Option<HeaderValue>, InitError> {
        if self.username.is_empty() || self.password.is_empty() {
            return Ok(None);
        }
        self.basic_of_either()
    }

    /// `Basic …`, if user name or password is there.
    ///
    /// # Errors
    /// As [`Settings::basic`].
    pub fn basic_of_either(&self) -> Result<Option<HeaderValue>, InitError> {
        if self.username.is_empty() && self.password.is_empty() {
            return Ok(None);
        }
        let pair = BASE64_STANDARD.encode(format!("{}:{}", self.username, self.password));
        self.authorization("Basic ", &pair)
    }

    /// A header of a scheme and a secret; nothing when the secret is empty.
    ///
    /// # Errors
    /// When the secret cannot stand in a header.
    pub fn authorization(&self, scheme: &str, secret: &str) -> Result<Option<HeaderValue>, InitError> {
        if secret.is_empty() {
            return Ok(None);
        }
        secret_header(&format!("{scheme}{secret}"))
            .map(Some)
            .ok_or_else(|| InitError::Header("Authorization".into()))
    }

    /// Everything that may not be seen in texts (NTF-54).
    pub fn secrets(&self) -> Vec<SecretString> {
        let mut secrets: Vec<SecretString> = vec![self.token.as_str().into(), self.password.as_str().into()];
        secrets.extend(self.headers.values().map(|value| value.as_str().into()));
        for file in [&self.creds, &self.nkey] {
            secrets.extend(String::from_utf8_lossy(file).lines().map(SecretString::from));
        }
        secrets
    }
}
