//! Signatures of SSH keys (`ssh-keygen -Y sign -n git`).

use ssh_key::{Algorithm, Error, HashAlg, LineEnding, PrivateKey, public::KeyData};

use super::SigningKeyError;
use crate::git::ssh::NAMESPACE;

/// Shortest RSA key, in bits: OpenSSH refuses shorter ones.
const MIN_RSA_BITS: u32 = 2048;

/// Refuses keys whose signatures OpenSSH does not accept or that need a device.
pub(super) fn check(key: &PrivateKey) -> Result<(), SigningKeyError> {
    match (key.algorithm(), key.public_key().key_data()) {
        (Algorithm::Ed25519 | Algorithm::Ecdsa { .. }, _) => Ok(()),
        (_, KeyData::Rsa(rsa)) if rsa.key_size() >= MIN_RSA_BITS => Ok(()),
        (_, KeyData::Rsa(rsa)) => {
            Err(SigningKeyError::TooShort { bits: rsa.key_size(), minimum: MIN_RSA_BITS })
        }
        (other, _) => Err(SigningKeyError::Algorithm(other.to_string())),
    }
}

/// Returns the armoured signature over the SHA-512 of the payload.
pub(super) fn sign(key: &PrivateKey, payload: &[u8]) -> Result<String, Error> {
    key.sign(NAMESPACE, HashAlg::Sha512, payload)?.to_pem(LineEnding::LF)
}
