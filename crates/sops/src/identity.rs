//! age identities, and SSH keys that serve as such (KS-SOPS-5).

use std::io::Read;
use std::str::FromStr;

use age::armor::ArmoredReader;
use age::{Decryptor, Identity, ssh, x25519};
use zeroize::Zeroizing;

use crate::post_quantum;

/// Identities that are kept; each is tried with each message.
const MAX_IDENTITIES: usize = 256;
/// Bytes of a Secret's entry that is read.
const MAX_BYTES: usize = 1 << 20;
/// Bytes of an encrypted data key. A stanza has about 200.
const MAX_MESSAGE: usize = 256 << 10;
/// Bytes of a decrypted data key that are read: more is no data key.
const MAX_PLAINTEXT: u64 = 1 << 10;

/// The beginning of an identity of age. The library takes it in lower case too, age does not.
const X25519: &str = "AGE-SECRET-KEY-1";
/// The beginning of identities of every kind that is a secret key.
const SECRET: &str = "AGE-SECRET-KEY-";
const PLUGIN: &str = "AGE-PLUGIN-";
const SSH: &str = "-----BEGIN ";

/// Errors of identities and of messages for them.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A line that is no identity.
    #[error("failed to parse and add to age identities: {reason} (line {line})")]
    Line {
        /// The fault of the line. The line itself is not shown: it may be most of a key.
        reason: &'static str,
        /// Line, counted from 1.
        line: usize,
    },
    /// An identity that is known and cannot be used here.
    #[error("unsupported age identity at line {line}: {kind} are not supported")]
    Unsupported {
        /// Line, counted from 1.
        line: usize,
        /// The kind.
        kind: &'static str,
    },
    /// An SSH key that cannot be used.
    #[error("failed to parse SSH key: {0}")]
    Ssh(&'static str),
    /// More than is read.
    #[error("age identities: more than {0}")]
    TooMany(&'static str),
    /// There is none.
    #[error("failed to load age identities: no identity")]
    None,
    /// The message is broken, or for none of the identities.
    #[error("failed to create reader for decrypting sops data key with age: {0}")]
    Message(String),
}

/// Private keys of age and SSH. They are overwritten by their library when they are dropped.
#[derive(Default)]
pub struct Identities(Vec<AnyIdentity>);

type AnyIdentity = Box<dyn Identity + Send + Sync>;

impl Identities {
    /// Adds the identities of a text: one a line, `#` begins a comment; or one SSH key in PEM.
    ///
    /// # Errors
    /// The text holds something else, or kinds that are not supported.
    pub fn add(&mut self, text: &str) -> Result<(), IdentityError> {
        if text.len() > MAX_BYTES {
            return Err(IdentityError::TooMany("1 MiB"));
        }
        if text.trim_start().starts_with(SSH) {
            return self.add_ssh(text);
        }
        for (index, line) in text.lines().enumerate() {
            let (line, number) = (line.trim(), index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with(PLUGIN) {
                return Err(IdentityError::Unsupported { line: number, kind: "plugins" });
            }
            let reason =
                if line.starts_with(SECRET) { "malformed secret key" } else { "unknown identity type" };
            self.push(identity(line).ok_or(IdentityError::Line { reason, line: number })?)?;
        }
        Ok(())
    }

    fn add_ssh(&mut self, text: &str) -> Result<(), IdentityError> {
        let identity = ssh::Identity::from_buffer(text.trim_start().as_bytes(), None);
        match identity.map_err(|_| IdentityError::Ssh("it is not in a known form"))? {
            identity @ ssh::Identity::Unencrypted(_) => self.push(Box::new(identity)),
            ssh::Identity::Encrypted(_) => Err(IdentityError::Ssh("it has a passphrase")),
            ssh::Identity::Unsupported(_) => {
                Err(IdentityError::Ssh("its kind is not supported, only ed25519 and rsa are"))
            }
        }
    }

    fn push(&mut self, identity: AnyIdentity) -> Result<(), IdentityError> {
        if self.0.len() >= MAX_IDENTITIES {
            return Err(IdentityError::TooMany("256"));
        }
        self.0.push(identity);
        Ok(())
    }

    /// Returns true when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words of age for a message that is for none of the identities.
    fn unmatched(&self) -> &'static str {
        match self.0.len() {
            1 => "identity did not match any of the recipients: incorrect identity for recipient block",
            _ => "no identity matched any of the recipients",
        }
    }

    /// Decrypts an armored message with the first identity that it is for.
    pub(crate) fn decrypt(&self, message: &str) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
        if self.0.is_empty() {
            return Err(IdentityError::None);
        }
        if message.len() > MAX_MESSAGE {
            return Err(IdentityError::Message("the message is too large".to_owned()));
        }
        let failed = |error: age::DecryptError| {
            IdentityError::Message(match error {
                age::DecryptError::NoMatchingKeys => self.unmatched().to_owned(),
                other => other.to_string(),
            })
        };
        let decryptor = Decryptor::new_buffered(ArmoredReader::new(message.as_bytes())).map_err(failed)?;
        let identities = self.0.iter().map(|identity| &**identity as &dyn Identity);
        let reader = decryptor.decrypt(identities).map_err(failed)?;
        let mut plaintext = Zeroizing::new(Vec::new());
        let read = reader.take(MAX_PLAINTEXT).read_to_end(&mut plaintext);
        read.map_err(|error| IdentityError::Message(error.to_string()))?;
        Ok(plaintext)
    }
}

/// Reads a line that is an identity.
fn identity(line: &str) -> Option<AnyIdentity> {
    if line.starts_with(post_quantum::PREFIX) {
        return Some(Box::new(post_quantum::Identity::from_str(line).ok()?));
    }
    let x25519 = x25519::Identity::from_str(line).ok().filter(|_| line.starts_with(X25519));
    Some(Box::new(x25519?))
}
