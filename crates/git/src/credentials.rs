//! Our identity at a Git server, from the Secrets that Flux documents (SRC-GIT-27, SRC-GIT-29).

use std::collections::BTreeMap;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use secrecy::SecretString;
use url::Url;

/// Credentials of a remote. Nothing of them is shown by `Debug`.
#[derive(Debug, Clone, Default)]
pub enum Credentials {
    /// None; a public repository, or user info in the URL.
    #[default]
    None,
    /// User and password or token over HTTP(S).
    Basic {
        /// The user.
        username: String,
        /// Password or token.
        password: SecretString,
    },
    /// A token over HTTP(S).
    Bearer(SecretString),
    /// A key over SSH.
    Ssh(SshAuth),
    /// The keys of an agent over SSH.
    SshAgent(SshAgent),
}

/// A key and the host keys that are believed.
#[derive(Debug, Clone)]
pub struct SshAuth {
    /// Private key in OpenSSH, PEM or PKCS#8 format.
    pub identity: SecretString,
    /// Passphrase of the key.
    pub passphrase: Option<SecretString>,
    /// `known_hosts` text; no host is trusted that is not in it.
    pub known_hosts: String,
}

/// An agent that signs with the keys it holds, and the host keys that are believed.
#[derive(Debug, Clone)]
pub struct SshAgent {
    /// Socket of the agent.
    pub socket: PathBuf,
    /// `known_hosts` text; no host is trusted that is not in it.
    pub known_hosts: String,
}

/// Errors that leave a Secret without usable credentials. The texts are those of conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthOptionError {
    /// A key of the Secret is missing.
    #[error("invalid '{scheme}' auth option: '{key}' is required")]
    Required {
        /// Scheme of the repository's URL.
        scheme: String,
        /// The missing key.
        key: &'static str,
    },
    /// A password for nobody.
    #[error("invalid '{scheme}' auth option: 'password' requires 'username' to be set")]
    PasswordWithoutUser {
        /// Scheme of the repository's URL.
        scheme: String,
    },
    /// A value that is no text.
    #[error("invalid '{scheme}' auth option: '{key}' is not UTF-8")]
    NotText {
        /// Scheme of the repository's URL.
        scheme: String,
        /// The key.
        key: &'static str,
    },
}

impl Credentials {
    /// Credentials for `url` from the data of its Secret; pass an empty map when there is none. A bearer token wins
    /// over user and password; user info of the URL fills what is missing; nothing at all means anonymous.
    ///
    /// # Errors
    /// When a key is missing or no text.
    pub fn from_secret(url: &Url, secret: &BTreeMap<String, Vec<u8>>) -> Result<Self, AuthOptionError> {
        let secret = SecretData { scheme: url.scheme(), data: secret };
        if url.scheme() == "ssh" { secret.ssh() } else { secret.http(url) }
    }
}

struct SecretData<'a> {
    scheme: &'a str,
    data: &'a BTreeMap<String, Vec<u8>>,
}

impl SecretData<'_> {
    fn http(&self, url: &Url) -> Result<Credentials, AuthOptionError> {
        if let Some(token) = self.text("bearerToken")? {
            return Ok(Credentials::Bearer(token.into()));
        }
        let username = self.text("username")?.unwrap_or_else(|| decoded(url.username()));
        let password = self.text("password")?.or_else(|| url.password().map(decoded)).unwrap_or_default();
        match (username.is_empty(), password.is_empty()) {
            (true, true) => Ok(Credentials::None),
            (true, false) => Err(AuthOptionError::PasswordWithoutUser { scheme: self.scheme.to_owned() }),
            (false, _) => Ok(Credentials::Basic { username, password: password.into() }),
        }
    }

    fn ssh(&self) -> Result<Credentials, AuthOptionError> {
        let required = |key| AuthOptionError::Required { scheme: self.scheme.to_owned(), key };
        let identity = self.text("identity")?.ok_or_else(|| required("identity"))?;
        let known_hosts = self.text("known_hosts")?.ok_or_else(|| required("known_hosts"))?;
        let passphrase = self.text("password")?.map(SecretString::from);
        Ok(Credentials::Ssh(SshAuth { identity: identity.into(), passphrase, known_hosts }))
    }

    /// The value of a key; empty counts as missing.
    fn text(&self, key: &'static str) -> Result<Option<String>, AuthOptionError> {
        let Some(value) = self.data.get(key).filter(|value| !value.is_empty()) else { return Ok(None) };
        match std::str::from_utf8(value) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(AuthOptionError::NotText { scheme: self.scheme.to_owned(), key }),
        }
    }
}

/// A part of a URL, without its percent escapes.
pub(crate) fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
