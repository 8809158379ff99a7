//! Credentials of a registry.

use secrecy::SecretString;
use std::time::SystemTime;

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

/// Credentials that someone gave us for a while.
#[derive(Debug, Clone)]
pub struct Login {
    /// The credentials.
    pub credentials: RegistryCredentials,
    /// Until when they are good.
    pub expires: SystemTime,
}
