//! Algorithms of timestamp tokens by their identifiers.

use der::asn1::ObjectIdentifier;
use der::oid::db::rfc5912;
use rustls_pki_types::{AlgorithmIdentifier, alg_id};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::token::TokenError;

/// The hash of something, by one of the algorithms that Flux knows.
pub(super) fn digest(algorithm: ObjectIdentifier, bytes: &[u8]) -> Result<Vec<u8>, TokenError> {
    match algorithm {
        rfc5912::ID_SHA_256 => Ok(Sha256::digest(bytes).to_vec()),
        rfc5912::ID_SHA_384 => Ok(Sha384::digest(bytes).to_vec()),
        rfc5912::ID_SHA_512 => Ok(Sha512::digest(bytes).to_vec()),
        other => Err(TokenError::Hash(other)),
    }
}

/// The whole name of an algorithm, of which some tokens have only the half.
pub(super) fn algorithm(
    digest: ObjectIdentifier,
    signature: ObjectIdentifier,
) -> Option<AlgorithmIdentifier> {
    let by_digest = |all: [AlgorithmIdentifier; 3]| {
        let [sha256, sha384, sha512] = all;
        match digest {
            rfc5912::ID_SHA_256 => Some(sha256),
            rfc5912::ID_SHA_384 => Some(sha384),
            rfc5912::ID_SHA_512 => Some(sha512),
            _ => None,
        }
    };
    match signature {
        rfc5912::RSA_ENCRYPTION => {
            by_digest([alg_id::RSA_PKCS1_SHA256, alg_id::RSA_PKCS1_SHA384, alg_id::RSA_PKCS1_SHA512])
        }
        rfc5912::ID_RSASSA_PSS => {
            by_digest([alg_id::RSA_PSS_SHA256, alg_id::RSA_PSS_SHA384, alg_id::RSA_PSS_SHA512])
        }
        rfc5912::SHA_256_WITH_RSA_ENCRYPTION => Some(alg_id::RSA_PKCS1_SHA256),
        rfc5912::SHA_384_WITH_RSA_ENCRYPTION => Some(alg_id::RSA_PKCS1_SHA384),
        rfc5912::SHA_512_WITH_RSA_ENCRYPTION => Some(alg_id::RSA_PKCS1_SHA512),
        rfc5912::ECDSA_WITH_SHA_256 => Some(alg_id::ECDSA_SHA256),
        rfc5912::ECDSA_WITH_SHA_384 => Some(alg_id::ECDSA_SHA384),
        rfc5912::ECDSA_WITH_SHA_512 => Some(alg_id::ECDSA_SHA512),
        _ => None,
    }
}
