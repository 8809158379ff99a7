//! Private keys of SSH Secrets.

mod short_scalar;

use russh::keys::ssh_key::{Kdf, PrivateKey};
use russh::keys::{Error as KeyError, decode_secret_key};
use secrecy::{ExposeSecret, SecretString};

/// Bytes of a private key. RSA keys of 16384 bits have 13 KiB.
const MAX_IDENTITY_BYTES: usize = 64 * 1024;
/// Rounds of the key derivation of encrypted keys: `ssh-keygen` makes 24, and more take seconds each.
const MAX_ROUNDS: u32 = 1024;

/// Errors that make a private key unusable. The texts are those of Go's libraries, which users search for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// No key in the text.
    #[error("ssh: no key found")]
    NoKey,
    /// Encrypted, and no passphrase was given.
    #[error("ssh: this private key is passphrase protected")]
    Encrypted,
    /// Encrypted with another passphrase.
    #[error("x509: decryption password incorrect")]
    WrongPassphrase,
    /// A key, but none that we can use.
    #[error("ssh: cannot decode private key: {reason}")]
    Unusable {
        /// The library's error.
        reason: String,
    },
}

/// Returns true when the key needs a passphrase. Text that is no key does not.
#[must_use]
pub fn identity_is_encrypted(identity: &str) -> bool {
    matches!(parse_identity(identity, None), Err(IdentityError::Encrypted))
}

/// Decodes the key of an SSH credential.
pub(crate) fn decode(auth: &crate::SshAuth) -> Result<PrivateKey, IdentityError> {
    parse_identity(auth.identity.expose_secret(), auth.passphrase.as_ref().map(ExposeSecret::expose_secret))
}

/// Decodes a private key in OpenSSH, PEM or PKCS#8 format.
///
/// # Errors
/// When the text is no key, or does not open with the passphrase.
pub fn parse_identity(identity: &str, passphrase: Option<&str>) -> Result<PrivateKey, IdentityError> {
    if identity.len() > MAX_IDENTITY_BYTES || !identity.contains("-----BEGIN ") {
        return Err(IdentityError::NoKey);
    }
    let identity = tidy(identity);
    let identity = identity.expose_secret();
    if passphrase.is_some() && rounds(identity) > MAX_ROUNDS {
        let reason = format!("more than {MAX_ROUNDS} rounds of key derivation");
        return Err(IdentityError::Unusable { reason });
    }
    // First without: the passphrase may be the password for HTTPS in the same Secret.
    let read = decode_secret_key(identity, None).or_else(|error| match passphrase {
        Some(_) => decode_secret_key(identity, passphrase),
        None => Err(error),
    });
    read.or_else(|error| short_scalar::decode(identity, passphrase).ok_or(error)).map_err(|error| match error
    {
        KeyError::KeyIsEncrypted => IdentityError::Encrypted,
        _ if passphrase.is_some() && has_other_lock(identity) => {
            let reason = "this kind of encryption is not known; `ssh-keygen -p` writes it as one that is";
            IdentityError::Unusable { reason: reason.to_owned() }
        }
        other if passphrase.is_some() && looks_encrypted(identity) => {
            tracing::debug!(error = %other, "private key does not open with its passphrase");
            IdentityError::WrongPassphrase
        }
        other if looks_encrypted(identity) => {
            tracing::debug!(error = %other, "private key does not open without passphrase");
            IdentityError::Encrypted
        }
        other => IdentityError::Unusable { reason: other.to_string() },
    })
}

/// Returns the text without the blanks around its lines, which Go passes over and the library does not.
fn tidy(identity: &str) -> SecretString {
    identity.lines().flat_map(|line| [line.trim(), "\n"]).collect::<String>().into()
}

/// Returns the rounds of key derivation that a key in OpenSSH's format asks for.
fn rounds(identity: &str) -> u32 {
    match PrivateKey::from_openssh(identity).as_ref().map(PrivateKey::kdf) {
        Ok(Kdf::Bcrypt { rounds, .. }) => *rounds,
        _ => 0,
    }
}

/// Returns true when the key is encrypted in the old way of PEM, which the library knows of RSA keys with one cipher
/// only.
fn has_other_lock(identity: &str) -> bool {
    let is_known = identity.contains("BEGIN RSA PRIVATE KEY") && identity.contains("DEK-Info: AES-128-CBC,");
    identity.contains("DEK-Info:") && !is_known
}

/// Returns true when the format says that the key is encrypted: the library's errors for a missing and a wrong
/// passphrase differ from format to format and do not always say so.
fn looks_encrypted(identity: &str) -> bool {
    identity.contains("ENCRYPTED")
        || PrivateKey::from_openssh(identity).is_ok_and(|key: PrivateKey| key.is_encrypted())
}
