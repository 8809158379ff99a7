//! Signatures of the form `<algorithm>=<hex>`: an HMAC of the body (NTF-96). Compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// Faults of a signature.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Fault {
    /// No header, or an empty one.
    #[error("missing signature")]
    Missing,
    /// No `=` in it.
    #[error("error parsing signature {0:?}")]
    Form(String),
    /// None of sha1, sha256, sha512.
    #[error("unknown hash type prefix: {0:?}")]
    Algorithm(String),
    /// The text behind `=` is not hex.
    #[error("error decoding signature {0:?}")]
    Hex(String),
    /// Another key or another body.
    #[error("payload signature check failed")]
    Mismatch,
}

/// Checks that `header` is the signature of `body` under `key`.
pub(super) fn check(header: &str, key: &[u8], body: &[u8]) -> Result<(), Fault> {
    if header.is_empty() {
        return Err(Fault::Missing);
    }
    let (algorithm, hex) = header.split_once('=').ok_or_else(|| Fault::Form(header.to_owned()))?;
    let decoded = || hex::decode(hex).map_err(|_| Fault::Hex(hex.to_owned()));
    let is_good = match algorithm {
        "sha1" => mac_matches::<Hmac<Sha1>>(key, body, &decoded()?),
        "sha256" => mac_matches::<Hmac<Sha256>>(key, body, &decoded()?),
        "sha512" => mac_matches::<Hmac<Sha512>>(key, body, &decoded()?),
        other => return Err(Fault::Algorithm(other.to_owned())),
    };
    if is_good { Ok(()) } else { Err(Fault::Mismatch) }
}

/// Checks that `mac` is the MAC of `body` under `key`.
pub(super) fn mac_matches<M: Mac + KeyInit>(key: &[u8], body: &[u8], mac: &[u8]) -> bool {
    let Ok(mut state) = <M as KeyInit>::new_from_slice(key) else { return false };
    state.update(body);
    state.verify_slice(mac).is_ok()
}
