//! Signatures made with a key that the verifier knows.

use std::collections::BTreeMap;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use serde_json::Value;
use sigstore_verify::types::{DsseEnvelope, SignatureContent};
use webpki::aws_lc_rs::{
    ECDSA_P256_SHA256, ECDSA_P384_SHA256, ECDSA_P384_SHA384, ECDSA_P521_SHA256, ECDSA_P521_SHA512, ED25519,
    RSA_PKCS1_2048_8192_SHA256,
};
use webpki::{Error, RawPublicKeyEntity};

use super::{Signature, TrustError, bundle};

/// End of the keys of a Secret that hold public keys.
const SUFFIX: &str = ".pub";
/// Type that an attestation declares.
const IN_TOTO: &str = "application/vnd.in-toto+json";
const NO_MATCH: &str = "invalid signature when validating ASN.1 encoded signature";
/// The algorithms with which keys may have signed: cosign before its third version takes SHA-256 whatever the curve.
const ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 7] = [
    ECDSA_P256_SHA256,
    ECDSA_P384_SHA256,
    ECDSA_P384_SHA384,
    ECDSA_P521_SHA256,
    ECDSA_P521_SHA512,
    ED25519,
    RSA_PKCS1_2048_8192_SHA256,
];

/// The public keys of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKeys {
    keys: Vec<SubjectPublicKeyInfoDer<'static>>,
}

impl PublicKeys {
    /// Reads all keys that end in `.pub`: PEM, of ECDSA, RSA or Ed25519. Other values are passed over as long as one
    /// is a key.
    ///
    /// # Errors
    /// When there are none, or none can be read.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, TrustError> {
        let mut unreadable = TrustError::NoKeys;
        let mut keys = Vec::new();
        for (name, value) in data.iter().filter(|(name, _)| name.ends_with(SUFFIX)) {
            match read(value) {
                Ok(key) => keys.push(key),
                Err(reason) => unreadable = TrustError::Key { name: name.clone(), reason },
            }
        }
        if keys.is_empty() { Err(unreadable) } else { Ok(Self { keys }) }
    }

    /// Checks that one of the keys made the signature, for this artifact.
    pub(super) fn verify(&self, digest: &str, signature: &Signature) -> Result<(), String> {
        match signature {
            Signature::Simple(simple) => {
                let bytes = simple.signature_for(digest)?;
                self.made(&simple.payload, bytes.as_bytes())
            }
            Signature::Bundle(json) => match bundle(json)?.content {
                SignatureContent::DsseEnvelope(envelope) => {
                    is_about(&envelope, digest)?;
                    self.made(&envelope.pae(), envelope.signature.sig.as_bytes())
                }
                _ => Err("bundle is no attestation of an image".to_owned()),
            },
        }
    }

    fn made(&self, message: &[u8], signature: &[u8]) -> Result<(), String> {
        let is_made =
            |key| ALGORITHMS.iter().any(|algorithm| check(key, *algorithm, message, signature).is_ok());
        if self.keys.iter().any(is_made) { Ok(()) } else { Err(NO_MATCH.to_owned()) }
    }
}

fn read(pem: &[u8]) -> Result<SubjectPublicKeyInfoDer<'static>, String> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|error| error.to_string())?;
    // The refusals of the checks are the only sign that a key is of an algorithm they know.
    let mut refusals = ALGORITHMS.iter().map(|algorithm| check(&key, *algorithm, &[], &[]));
    if refusals.any(|refusal| refusal == Err(Error::InvalidSignatureForPublicKey)) {
        Ok(key)
    } else {
        Err("it is malformed or of an unsupported algorithm".to_owned())
    }
}

fn check(
    key: &SubjectPublicKeyInfoDer<'_>,
    algorithm: &dyn SignatureVerificationAlgorithm,
    message: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    RawPublicKeyEntity::try_from(key)?.verify_signature(algorithm, message, signature)
}

/// Checks that an attestation names the artifact as a subject.
fn is_about(envelope: &DsseEnvelope, digest: &str) -> Result<(), String> {
    if envelope.payload_type != IN_TOTO {
        return Err(format!("bundle holds '{}', not '{IN_TOTO}'", envelope.payload_type));
    }
    let statement: Value = serde_json::from_slice(envelope.payload.as_bytes())
        .map_err(|error| format!("statement of bundle is malformed: {error}"))?;
    let (algorithm, hex) = digest.split_once(':').unwrap_or_default();
    let subjects = statement.get("subject").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names =
        |found: &Value| found.pointer(&format!("/digest/{algorithm}")).and_then(Value::as_str) == Some(hex);
    if !hex.is_empty() && subjects.iter().any(names) {
        return Ok(());
    }
    Err(format!("bundle is not about '{digest}'"))
}
