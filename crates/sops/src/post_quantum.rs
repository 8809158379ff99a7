//! Post-quantum identities of age: the stanza `mlkem768x25519`, which the age crate does not know yet (DEP-SOPS-4, KS-SOPS-5). The
//! format is that of <https://c2sp.org/age>; the cryptography is HPKE's.

use std::str::FromStr;

use age::DecryptError;
use age_core::format::{FILE_KEY_BYTES, FileKey, Stanza};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bech32::{FromBase32, Variant};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::XWing;
use hpke::{Deserializable, Kem, OpModeR, single_shot_open};
use zeroize::Zeroizing;

/// The beginning of each identity of the kind.
pub(crate) const PREFIX: &str = "AGE-SECRET-KEY-PQ-1";
/// The part of it before Bech32's separator.
const HUMAN_READABLE: &str = "age-secret-key-pq-";
/// First word of the stanza.
const TAG: &str = "mlkem768x25519";
/// Binds a wrapped key to its use.
const INFO: &[u8] = b"age-encryption.org/mlkem768x25519";
/// Bytes of a wrapped file key: the key and its tag.
const WRAPPED: usize = FILE_KEY_BYTES + 16;

/// A private key of ML-KEM-768 and X25519 together. Its library overwrites it when it is dropped.
pub(crate) struct Identity(<XWing as Kem>::PrivateKey);

/// The text is no identity of the kind.
#[derive(Debug)]
pub(crate) struct NoIdentity;

impl FromStr for Identity {
    type Err = NoIdentity;

    fn from_str(text: &str) -> Result<Self, NoIdentity> {
        let (human_readable, digits, variant) = bech32::decode(text).map_err(|_| NoIdentity)?;
        if human_readable != HUMAN_READABLE || variant != Variant::Bech32 {
            return Err(NoIdentity);
        }
        let seed = Zeroizing::new(Vec::from_base32(&digits).map_err(|_| NoIdentity)?);
        Deserializable::from_bytes(&seed).map(Self).map_err(|_| NoIdentity)
    }
}

impl age::Identity for Identity {
    /// Nothing if the stanza is of another kind or for another key, which cannot be told apart before it is opened.
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        if stanza.tag != TAG {
            return None;
        }
        let Some(shared) = encapsulated(stanza) else {
            return Some(Err(DecryptError::InvalidHeader));
        };
        let opened = single_shot_open::<ChaCha20Poly1305, HkdfSha256, XWing>(
            &OpModeR::Base,
            &self.0,
            &shared,
            INFO,
            &stanza.body,
            &[],
        );
        let key = Zeroizing::new(opened.ok()?);
        Some(FileKey::try_init_with_mut(|file_key| {
            let key = key.get(..FILE_KEY_BYTES).ok_or(DecryptError::InvalidHeader)?;
            file_key.copy_from_slice(key);
            Ok(())
        }))
    }
}

/// Reads the one argument of a stanza of the kind, whose lengths are fixed.
fn encapsulated(stanza: &Stanza) -> Option<<XWing as Kem>::EncappedKey> {
    let [argument] = stanza.args.as_slice() else { return None };
    if stanza.body.len() != WRAPPED {
        return None;
    }
    Deserializable::from_bytes(&STANDARD_NO_PAD.decode(argument).ok()?).ok()
}
