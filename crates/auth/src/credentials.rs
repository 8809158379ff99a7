//! The credentials that identify us.

use std::time::SystemTime;

use secrecy::SecretString;

/// How we identify ourselves to a registry. Nothing of it is shown by `Debug`.
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
