//! Signatures made with the key of a certificate, in the algorithms that both kinds of envelopes have.

use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, RawPublicKeyEntity, aws_lc_rs as algorithms};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Checks a signature with the key of a certificate; `name` is that of its algorithm in JSON. By the specification the
/// length of an RSA key decides on the algorithm: here its modulus in bytes. A curve belongs to its algorithm anyway.
pub(super) fn check(
    leaf: &CertificateDer<'_>,
    name: &str,
    signed: &[u8],
    signature: &[u8],
) -> Result<(), String> {
    let (algorithm, modulus): (&dyn SignatureVerificationAlgorithm, Option<usize>) = match name {
        "PS256" => (algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY, Some(256)),
        "PS384" => (algorithms::RSA_PSS_2048_8192_SHA384_LEGACY_KEY, Some(384)),
        "PS512" => (algorithms::RSA_PSS_2048_8192_SHA512_LEGACY_KEY, Some(512)),
        "ES256" => (algorithms::ECDSA_P256_SHA256, None),
        "ES384" => (algorithms::ECDSA_P384_SHA384, None),
        "ES512" => (algorithms::ECDSA_P521_SHA512, None),
        other => return Err(format!("signature algorithm \"{other}\" is not supported")),
    };
    if modulus.is_some() && modulus != modulus_of(leaf) {
        return Err(format!(
            "signature algorithm \"{name}\" does not go with the key of the signing certificate"
        ));
    }
    let sequence = if modulus.is_none() { Some(sequence(signature)) } else { None };
    let certificate = EndEntityCert::try_from(leaf).map_err(|error| error.to_string())?;
    let bytes = sequence.as_deref().unwrap_or(signature);
    certificate.verify_signature(algorithm, signed, bytes).map_err(|_| "signature is invalid".to_owned())
}

/// Returns the bytes of the modulus of a certificate's RSA key; none when its key is of another kind.
fn modulus_of(certificate: &CertificateDer<'_>) -> Option<usize> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    match certificate.public_key().parsed().ok()? {
        PublicKey::RSA(key) => Some(key.modulus.iter().skip_while(|byte| **byte == 0).count()),
        _ => None,
    }
}

/// Returns true when a key made a signature. `key` is encoded with its kind; `algorithm` is what an algorithm's
/// identifier contains.
pub(super) fn is_by(key: &[u8], algorithm: &[u8], signed: &[u8], signature: &[u8]) -> bool {
    let key = SubjectPublicKeyInfoDer::from(key);
    let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
    let mut known =
        ALL_VERIFICATION_ALGS.iter().filter(|known| known.signature_alg_id().as_ref() == algorithm);
    known.any(|known| key.verify_signature(*known, signed, signature).is_ok())
}

/// An elliptic signature, two numbers one behind the other, as certificates' algorithms have it: a sequence of integers.
fn sequence(signature: &[u8]) -> Vec<u8> {
    let (r, s) = signature.split_at(signature.len() / 2);
    let content = [integer(r), integer(s)].concat();
    element(0x30, &content)
}

fn integer(number: &[u8]) -> Vec<u8> {
    let start = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    let mut content = number.get(start..).unwrap_or_default().to_vec();
    // A first bit that is set would make it negative.
    if content.first().is_none_or(|first| *first >= 0x80) {
        content.insert(0, 0);
    }
    element(0x02, &content)
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut all = vec![tag];
    if content.len() >= 0x80 {
        all.push(0x80 | u8::try_from(length.len()).unwrap_or_default());
    }
    all.extend(if length.is_empty() { vec![0] } else { length });
    all.extend_from_slice(content);
    all
}
