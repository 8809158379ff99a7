//! The MAC over all values of a document (KS-SOPS-7).

use sha2::{Digest, Sha512};

use crate::tree::Value;

/// SHA-256 of `sops`: with it begins the MAC of documents that count only encrypted values, so that no other has it.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b,
    0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// The MAC of values, in upper-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac(pub(crate) String);

impl Mac {
    /// Returns the text of the MAC.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A MAC in the making.
pub(crate) struct Counter {
    hash: Sha512,
    is_encrypted_only: bool,
}

impl Counter {
    pub(crate) fn new(is_encrypted_only: bool) -> Self {
        let mut hash = Sha512::new();
        if is_encrypted_only {
            hash.update(ONLY_ENCRYPTED);
        }
        Self { hash, is_encrypted_only }
    }

    /// Counts a plaintext value.
    pub(crate) fn add(&mut self, value: &Value, is_encrypted: bool) {
        if is_encrypted || !self.is_encrypted_only {
            self.hash.update(value.bytes().unwrap_or_default().as_slice());
        }
    }

    pub(crate) fn finish(self) -> Mac {
        Mac(hex::encode_upper(self.hash.finalize()))
    }
}
