//! The credentials that identify us.

use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use url::Url;

use crate::cache::fingerprint;

/// Credentials for a registry. Nothing of it is shown by `Debug`.
#[derive(Debug, Clone, Default)]
pub enum RegistryCredentials {
    /// Not at all.
    #[default]
    Anonymous,
    /// User and password.
    Basic {
        /// The user.
        username: String,
        /// Password or token.
        password: SecretString,
    },
    /// A refresh token that the registry's token server exchanges.
    IdentityToken(SecretString),
    /// A token that the registry takes as it is.
    Bearer(SecretString),
}

/// Credentials that a provider issued. Nothing secret of them is shown by `Debug`.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// User and password.
    Basic {
        /// The user.
        username: String,
        /// Password or token.
        password: SecretString,
    },
    /// An access token.
    Bearer(SecretString),
    /// A token, and the API server that accepts it.
    Cluster {
        /// Address of the API server; encrypted always.
        address: Url,
        /// The authority of its certificate in PEM; empty when that is one of the system's.
        ca: String,
        /// The token.
        token: SecretString,
    },
    /// Keys for requests that are signed.
    Aws {
        /// The public half.
        access_key_id: String,
        /// The secret half.
        secret_access_key: SecretString,
        /// Goes with keys that are valid for a while.
        session_token: Option<SecretString>,
    },
}

impl Credentials {
    /// Returns a key of what is made with them and with other parts; it does not give them away.
    pub(crate) fn key<'a>(&'a self, others: impl IntoIterator<Item = &'a str>) -> String {
        let mut parts: Vec<&str> = match self {
            Self::Basic { username, password } => vec![username, password.expose_secret()],
            Self::Bearer(token) => vec![token.expose_secret()],
            Self::Cluster { address, ca, token } => vec![address.as_str(), ca, token.expose_secret()],
            Self::Aws { access_key_id, secret_access_key, session_token } => {
                let token = session_token.as_ref().map_or("", |token| token.expose_secret());
                vec![access_key_id, secret_access_key.expose_secret(), token]
            }
        };
        parts.extend(others);
        fingerprint(parts.into_iter().map(str::as_bytes))
    }
}

/// Credentials that someone gave us for a while.
#[derive(Debug, Clone)]
pub struct Login {
    /// The credentials.
    pub credentials: Credentials,
    /// Until when they are good.
    pub expires: SystemTime,
}

impl Login {
    pub(crate) fn basic(username: &str, password: SecretString, expires: SystemTime) -> Self {
        Self { credentials: Credentials::Basic { username: username.to_owned(), password }, expires }
    }

    pub(crate) fn bearer(token: SecretString, expires: SystemTime) -> Self {
        Self { credentials: Credentials::Bearer(token), expires }
    }
}

/// Reads a text that is a secret.
pub(crate) fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(Into::into)
}
