//! Detached OpenPGP signatures (`gpg --detach-sign --armor`), with GnuPG's rules about which keys may sign.

use jiff::Timestamp;
use pgp::composed::{Deserializable, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType, SubpacketData};
use pgp::types::{KeyDetails, Tag};

/// Keys of one ring that are looked at; whole companies have less.
const MAX_KEYS: usize = 1000;
/// Signatures in one armour: who signs twice, has two keys.
const MAX_SIGNATURES: usize = 8;
/// Subkeys and self-signatures of one key that are looked at. Each costs a signature check.
const MAX_PARTS: usize = 100;
/// First line of a key ring.
const RING: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// Faults of an OpenPGP signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// Not one entry of the Secret is a key ring.
    #[error("unable to read armored key ring: {reason}")]
    KeyRing {
        /// Fault of the first.
        reason: String,
    },
    /// None of the keys made it, or the one that did must not be used.
    #[error("unable to verify payload with any of the given key rings: no matching key")]
    NoMatch,
}

/// Checks the signature with the keys of all rings that can be read; returns the id of the primary key that made it, or
/// whose subkey did.
pub(super) fn verify(
    payload: &[u8],
    signature: &[u8],
    rings: &[Vec<u8>],
    now: Timestamp,
) -> Result<String, OpenPgpError> {
    let mut unreadable = None;
    let mut keys = Vec::new();
    for ring in rings {
        match read(ring) {
            Ok(read) => keys.extend(read),
            Err(reason) => unreadable = unreadable.or(Some(reason)),
        }
    }
    if let Some(reason) = unreadable.filter(|_| keys.is_empty()) {
        return Err(OpenPgpError::KeyRing { reason });
    }
    let signatures = DetachedSignature::from_armor_many_buf(signature.trim_ascii());
    let signatures = signatures.map_err(|_| OpenPgpError::NoMatch)?.0.flatten().take(MAX_SIGNATURES);
    let at = now.as_second();
    signatures
        .map(|detached| detached.signature)
        .filter(|signature| is_over_data(signature) && is_in_force(signature, at) && !is_weak(signature))
        .find_map(|signature| keys.iter().find(|key| made(key, &signature, payload, at)))
        .map(|key| hex(key.primary_key.legacy_key_id().as_ref()))
        .ok_or(OpenPgpError::NoMatch)
}

/// The keys of an armoured ring; several rings may stand one below the other.
fn read(ring: &[u8]) -> Result<Vec<SignedPublicKey>, String> {
    let text = std::str::from_utf8(ring).map_err(|error| error.to_string())?;
    let mut keys = Vec::new();
    for block in text.split(RING).skip(1) {
        let block = format!("{RING}{block}");
        let (read, _) =
            SignedPublicKey::from_armor_many_buf(block.as_bytes()).map_err(|error| error.to_string())?;
        for key in read.take(MAX_KEYS) {
            keys.push(key.map_err(|error| error.to_string())?);
        }
    }
    if keys.is_empty() {
        return Err("openpgp: invalid argument: no armored data found".to_owned());
    }
    Ok(keys)
}

/// Returns true when the key, or a subkey of it that may sign, made the signature and may be used now.
fn made(key: &SignedPublicKey, signature: &Signature, payload: &[u8], at: i64) -> bool {
    let primary_made = signature.verify(&key.primary_key, payload).is_ok();
    let subkey = key
        .public_subkeys
        .iter()
        .take(MAX_PARTS)
        .find(|subkey| !primary_made && signature.verify(&subkey.key, payload).is_ok());
    if !primary_made && subkey.is_none() {
        return false;
    }
    may_sign_at(key, subkey, at)
}

/// Returns true when the primary key, or else one of its subkeys, may sign at this time.
pub(super) fn may_sign_at(key: &SignedPublicKey, subkey: Option<&SignedPublicSubKey>, at: i64) -> bool {
    let Some(own) = own_signature(key) else { return false };
    let expires = own.key_expiration_time().map(|time| time.as_secs());
    let is_alive = !is_revoked(key) && !is_past(key.primary_key.created_at().as_secs(), expires, at);
    is_alive
        && match subkey {
            None => may_sign(own).unwrap_or(true),
            Some(subkey) => is_signing_subkey(key, subkey, at),
        }
}

/// Returns the key's newest signature over itself, of the primary user if one is marked.
fn own_signature(key: &SignedPublicKey) -> Option<&Signature> {
    let primary = &key.primary_key;
    let over_users = key.details.users.iter().take(MAX_PARTS).flat_map(|user| {
        let by_key = move |signature: &&Signature| {
            signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        };
        let own: Vec<&Signature> = user.signatures.iter().take(MAX_PARTS).filter(by_key).collect();
        let is_revoked = own.iter().any(|own| own.typ() == Some(SignatureType::CertRevocation));
        own.into_iter().filter(move |_| !is_revoked)
    });
    let over_key = key.details.direct_signatures.iter().take(MAX_PARTS);
    let over_key = over_key.filter(|signature| signature.verify_key(primary).is_ok());
    let newest = |signature: &&Signature| (signature.is_primary(), signature.created());
    over_users.max_by_key(newest).or_else(|| over_key.max_by_key(newest))
}

fn is_revoked(key: &SignedPublicKey) -> bool {
    let mut revocations = key.details.revocation_signatures.iter().take(MAX_PARTS);
    revocations.any(|revocation| revocation.verify_key(&key.primary_key).is_ok())
}

/// Returns true when the primary key made the subkey a signing key, the subkey agreed, and neither took it back.
fn is_signing_subkey(key: &SignedPublicKey, subkey: &SignedPublicSubKey, at: i64) -> bool {
    let bound = subkey.signatures.iter().take(MAX_PARTS);
    let bound: Vec<&Signature> =
        bound.filter(|own| own.verify_subkey_binding(&key.primary_key, &subkey.key).is_ok()).collect();
    if bound.iter().any(|own| own.typ() == Some(SignatureType::SubkeyRevocation)) {
        return false;
    }
    let Some(binding) = bound.into_iter().max_by_key(|own| own.created()) else { return false };
    let agrees = binding
        .embedded_signature()
        .is_some_and(|back| back.verify_primary_key_binding(&subkey.key, &key.primary_key).is_ok());
    let expires = binding.key_expiration_time().map(|time| time.as_secs());
    may_sign(binding) == Some(true)
        && agrees
        && is_in_force(binding, at)
        && !is_past(subkey.key.created_at().as_secs(), expires, at)
}

/// Returns true when a key may sign, if the signature over it says.
fn may_sign(own: &Signature) -> Option<bool> {
    own.config()?.hashed_subpackets().find_map(|part| match &part.data {
        SubpacketData::KeyFlags(flags) => Some(flags.sign()),
        _ => None,
    })
}

/// Returns true when it is a signature over a text, and not one over a key, whose bytes someone may have arranged.
fn is_over_data(signature: &Signature) -> bool {
    matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text))
}

/// Returns true when a signature is of the past and not expired.
fn is_in_force(signature: &Signature, at: i64) -> bool {
    signature.created().is_some_and(|created| {
        let expires = signature.signature_expiration_time().map(|time| time.as_secs());
        i64::from(created.as_secs()) <= at && !is_past(created.as_secs(), expires, at)
    })
}

/// Returns true when something made at `created` that lasts `seconds` is over. Zero means that it lasts for ever.
fn is_past(created: u32, seconds: Option<u32>, at: i64) -> bool {
    seconds.is_some_and(|seconds| seconds != 0 && i64::from(created) + i64::from(seconds) < at)
}

/// Digests for which two texts with the same digest can be made.
fn is_weak(signature: &Signature) -> bool {
    let weak = [HashAlgorithm::Md5, HashAlgorithm::Sha1, HashAlgorithm::Ripemd160];
    signature.hash_alg().is_none_or(|algorithm| weak.contains(&algorithm))
}

/// Returns bytes as GnuPG prints ids.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
