//! OpenPGP secret keys, without the program gpg (KS-SOPS-5, DEP-SOPS-3).

use std::io::Read;

use pgp::composed::{Deserializable, Message, SignedSecretKey};
use pgp::types::Password;
use zeroize::Zeroizing;

/// Keys that are kept; each is tried with each message.
const MAX_KEYS: usize = 256;
/// Bytes of an encrypted data key. A message for one recipient has about a thousand.
const MAX_MESSAGE: usize = 256 << 10;
/// Bytes of a decrypted data key that are read: more is no data key.
const MAX_PLAINTEXT: u64 = 1 << 10;

/// Errors of keys and messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// No armored secret key.
    #[error("failed to import armored PGP key: {0}")]
    Key(String),
    /// More than are kept.
    #[error("more than 256 PGP keys")]
    TooMany,
    /// No key at hand decrypts the message.
    #[error("could not decrypt sops data key with PGP key: {0}")]
    Message(String),
}

/// Secret keys without passphrase.
#[derive(Default)]
pub struct SecretKeys(Vec<SignedSecretKey>);

impl SecretKeys {
    /// Adds the keys of an armored block.
    ///
    /// # Errors
    /// The text is none.
    pub fn add(&mut self, armored: &[u8]) -> Result<(), OpenPgpError> {
        let unreadable = |error: pgp::errors::Error| OpenPgpError::Key(first_line(&error));
        let (keys, _) = SignedSecretKey::from_armor_many_buf(armored.trim_ascii()).map_err(unreadable)?;
        let before = self.0.len();
        for key in keys {
            if self.0.len() >= MAX_KEYS {
                return Err(OpenPgpError::TooMany);
            }
            self.0.push(key.map_err(unreadable)?);
        }
        if self.0.len() == before {
            return Err(OpenPgpError::Key("it holds no secret key".to_owned()));
        }
        Ok(())
    }

    /// Returns true when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decrypts an armored message. Keys that have expired still decrypt, as with gpg.
    pub(crate) fn decrypt(&self, message: &str) -> Result<Zeroizing<Vec<u8>>, OpenPgpError> {
        if message.len() > MAX_MESSAGE {
            return Err(OpenPgpError::Message("the message is too large".to_owned()));
        }
        let failed = |error: pgp::errors::Error| OpenPgpError::Message(first_line(&error));
        let (message, _) = Message::from_armor(message.trim().as_bytes()).map_err(failed)?;
        let none = Password::empty();
        let passwords = vec![&none; self.0.len().min(1)];
        let mut opened = message.decrypt_with_keys(passwords, self.0.iter().collect()).map_err(failed)?;
        if opened.is_compressed() {
            opened = opened.decompress().map_err(failed)?;
        }
        let mut plaintext = Zeroizing::new(Vec::new());
        let read = opened.take(MAX_PLAINTEXT).read_to_end(&mut plaintext);
        read.map_err(|error| OpenPgpError::Message(error.kind().to_string()))?;
        Ok(plaintext)
    }
}

fn first_line(error: &pgp::errors::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
