//! OpenPGP secret keys, without the program gpg (KS-SOPS-5, DEP-SOPS-3).

use std::io::Read;

use pgp::composed::{DecryptionOptions, Deserializable, Message, SignedSecretKey, TheRing};
use pgp::types::Password;
use zeroize::Zeroizing;

/// The first line of an armored block, up to its type.
const BEGIN: &str = "-----BEGIN PGP ";
/// The last line.
const END: &str = "-----END PGP ";
/// The type of a block that has public keys.
const PUBLIC: &str = "PUBLIC KEY BLOCK-----";
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
    /// Adds the secret keys of armored blocks. Public keys are passed over, as by gpg.
    ///
    /// # Errors
    /// The text has no block with a key, or one that cannot be read.
    pub fn add(&mut self, armored: &[u8]) -> Result<(), OpenPgpError> {
        // The library's messages repeat bytes of the key.
        let unreadable = |_| OpenPgpError::Key("a block of it cannot be read".to_owned());
        let text = std::str::from_utf8(armored).unwrap_or_default();
        let mut blocks = text.split(BEGIN).skip(1).peekable();
        if blocks.peek().is_none() {
            return Err(OpenPgpError::Key("it holds no armored key".to_owned()));
        }
        for block in blocks.filter(|block| !block.starts_with(PUBLIC)) {
            let (body, end) = block.split_once(END).unwrap_or((block, ""));
            let end = end.lines().next().unwrap_or_default();
            let block = Zeroizing::new(format!("{BEGIN}{body}{END}{end}\n"));
            let (keys, _) = SignedSecretKey::from_armor_many_buf(block.as_bytes()).map_err(unreadable)?;
            for key in keys {
                if self.0.len() >= MAX_KEYS {
                    return Err(OpenPgpError::TooMany);
                }
                self.0.push(key.map_err(unreadable)?);
            }
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
        let message = Message::from_armor(message.trim().as_bytes());
        // The library's message repeats bytes of the ciphertext.
        let (message, _) =
            message.map_err(|_| OpenPgpError::Message("it is no armored message".to_owned()))?;
        let none = Password::empty();
        let ring = TheRing {
            secret_keys: self.0.iter().collect(),
            key_passwords: vec![&none; self.0.len().min(1)],
            // gpg writes its own form of packet since 2.3 for keys that were made since 2.3.
            decrypt_options: DecryptionOptions::new().enable_gnupg_aead(),
            ..TheRing::default()
        };
        let (mut opened, _) = message.decrypt_the_ring(ring, true).map_err(failed)?;
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
