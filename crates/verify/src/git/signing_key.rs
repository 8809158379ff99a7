//! Keys that sign commits (IU-21, IU-22, CLI-BST): OpenPGP as `gpg` writes them, and SSH.

mod openpgp;
mod ssh;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use ssh_key::PrivateKey;

/// The key of a ring that is to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// The only one; a ring with more is refused.
    Only,
    /// The first with a private part.
    First,
    /// The one with this id of 16 hexadecimal digits; `0x` may stand before them.
    Id(&'a str),
}

/// A private key, opened, that signs commits. It is not printed.
#[derive(Clone)]
pub struct SigningKey(Arc<Kind>);

enum Kind {
    OpenPgp(openpgp::Part),
    Ssh(Box<PrivateKey>),
}

/// Errors of keys that cannot sign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    /// The bytes are no key ring.
    #[error("{0}")]
    Unreadable(String),
    /// There is no key in the ring.
    #[error("empty GPG key ring")]
    Empty,
    /// One key is wanted, and there are more.
    #[error("more than one key, and nothing says which one is to sign")]
    Several,
    /// The id is none.
    #[error("invalid GPG key id '{0}': 16 hexadecimal digits are expected")]
    KeyId(String),
    /// No key has the id.
    #[error("no GPG keyring matching key id '{0}' found")]
    NoSuchKey(String),
    /// Only public parts are there.
    #[error("there is no private key, only a public one; `gpg --export-secret-keys` writes private keys")]
    Public,
    /// Neither the primary key nor a subkey may sign at this time.
    #[error(
        "no key may sign: each is expired, revoked, made for something else, or without its private part"
    )]
    NoneSigns,
    /// The key is encrypted, and no passphrase is given.
    #[error("the private key is protected by a passphrase")]
    Locked,
    /// The passphrase is another one. The text is that of Go's library, which users search for.
    #[error("openpgp: invalid data: private key checksum failure")]
    Passphrase,
    /// The passphrase would take too much time or memory to check.
    #[error("the protection of the private key costs too much to open; `gpg --passwd` writes it anew")]
    Cost,
    /// An SSH key of a kind that others do not verify.
    #[error("unsupported SSH signing key algorithm: {0}")]
    Algorithm(String),
    /// An RSA key that others find too short.
    #[error("RSA key size {bits} bits is below the minimum of {minimum}")]
    TooShort {
        /// Its length.
        bits: u32,
        /// Length from which on keys are accepted.
        minimum: u32,
    },
}

/// The library's reason for making no signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SigningError(String);

impl SigningKey {
    /// Opens the chosen key of an OpenPGP ring, armoured or not. Of a key with subkeys, the newest that may sign at
    /// `now` is used, as `gpg` does; each may be protected by the passphrase.
    ///
    /// # Errors
    /// When there is no such key, it may not sign, or the passphrase does not open it.
    pub fn openpgp(
        ring: &[u8],
        choice: Choice<'_>,
        passphrase: Option<&[u8]>,
        now: Timestamp,
    ) -> Result<Self, SigningKeyError> {
        openpgp::open(ring, choice, passphrase, now).map(Kind::OpenPgp).map(Self::of)
    }

    /// Takes an SSH key.
    ///
    /// # Errors
    /// When OpenSSH would refuse its signatures.
    pub fn ssh(key: PrivateKey) -> Result<Self, SigningKeyError> {
        ssh::check(&key)?;
        Ok(Self::of(Kind::Ssh(Box::new(key))))
    }

    fn of(kind: Kind) -> Self {
        Self(Arc::new(kind))
    }

    /// Signs the bytes of a commit and returns the armoured signature.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn sign(&self, payload: &[u8], now: Timestamp) -> Result<String, SigningError> {
        match &*self.0 {
            Kind::OpenPgp(part) => {
                part.sign(payload, now).map_err(|error| SigningError(openpgp::reason(&error)))
            }
            Kind::Ssh(key) => ssh::sign(key, payload).map_err(|error| SigningError(error.to_string())),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Kind::OpenPgp(_) => "SigningKey(openpgp)",
            Kind::Ssh(_) => "SigningKey(ssh)",
        })
    }
}
