//! Signatures made with a key that the verifier knows.

use super::{Signature, Subject, TrustError, bundle};
use serde_json::Value;
use sigstore_verify::crypto::{KeyAlgorithm, SigningScheme, verify_signature};
use sigstore_verify::types::{DerPublicKey, DsseEnvelope, SignatureBytes, SignatureContent};
use std::collections::BTreeMap;

/// How keys of a Secret end that hold public keys.
const SUFFIX: &str = ".pub";
/// What an attestation says that it is.
const IN_TOTO: &str = "application/vnd.in-toto+json";
const NO_MATCH: &str = "invalid signature when validating ASN.1 encoded signature";

/// The public keys of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKeys {
    keys: Vec<(DerPublicKey, &'static [SigningScheme])>,
}

impl PublicKeys {
    /// Reads all keys that end in `.pub`: PEM, of ECDSA, RSA or Ed25519. What is none is passed over as long as one is.
    ///
    /// # Errors
    /// When there are none, or none can be read.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<PublicKeys, TrustError> {
        let mut unreadable = TrustError::NoKeys;
        let mut keys = Vec::new();
        for (name, value) in data.iter().filter(|(name, _)| name.ends_with(SUFFIX)) {
            match read(value) {
                Ok(key) => keys.push(key),
                Err(reason) => unreadable = TrustError::Key { name: name.clone(), reason },
            }
        }
        if keys.is_empty() { Err(unreadable) } else { Ok(PublicKeys { keys }) }
    }

    /// Whether one of the keys made the signature, for this artifact.
    pub(super) fn verify(&self, subject: Subject<'_>, signature: &Signature) -> Result<(), String> {
        match signature {
            Signature::Simple(simple) => {
                let bytes = simple.signature_for(subject)?;
                self.made(&simple.payload, &bytes)
            }
            Signature::Bundle(json) => match bundle(json)?.content {
                SignatureContent::DsseEnvelope(envelope) => {
                    is_about(&envelope, subject)?;
                    self.made(&envelope.pae(), &envelope.signature.sig)
                }
                _ => Err("bundle is no attestation of an image".to_owned()),
            },
        }
    }

    fn made(&self, message: &[u8], signature: &SignatureBytes) -> Result<(), String> {
        let mut ways = self.keys.iter().flat_map(|(key, schemes)| schemes.iter().map(move |way| (key, *way)));
        let is_made = ways.any(|(key, scheme)| verify_signature(key, message, signature, scheme).is_ok());
        if is_made { Ok(()) } else { Err(NO_MATCH.to_owned()) }
    }
}

fn read(pem: &[u8]) -> Result<(DerPublicKey, &'static [SigningScheme]), String> {
    let text = std::str::from_utf8(pem).map_err(|error| error.to_string())?;
    let key = DerPublicKey::from_pem(text.trim()).map_err(|error| error.to_string())?;
    let algorithm = KeyAlgorithm::from_spki(&key).map_err(|error| error.to_string())?;
    Ok((key, schemes(algorithm)))
}

/// The ways in which a key of an algorithm may have signed. Cosign takes SHA-256 whatever the curve.
fn schemes(algorithm: KeyAlgorithm) -> &'static [SigningScheme] {
    match algorithm {
        KeyAlgorithm::EcdsaP256 => &[SigningScheme::EcdsaP256Sha256],
        KeyAlgorithm::EcdsaP384 => &[SigningScheme::EcdsaP384Sha256, SigningScheme::EcdsaP384Sha384],
        KeyAlgorithm::Ed25519 => &[SigningScheme::Ed25519],
        KeyAlgorithm::Rsa => &[SigningScheme::RsaPkcs1Sha256],
        _ => &[],
    }
}

/// Whether an attestation names the artifact as a subject.
fn is_about(envelope: &DsseEnvelope, subject: Subject<'_>) -> Result<(), String> {
    if envelope.payload_type != IN_TOTO {
        return Err(format!("bundle holds '{}', not '{IN_TOTO}'", envelope.payload_type));
    }
    let statement: Value = serde_json::from_slice(envelope.payload.as_bytes())
        .map_err(|error| format!("statement of bundle is malformed: {error}"))?;
    let (algorithm, hex) = subject.digest.split_once(':').unwrap_or_default();
    let subjects = statement.get("subject").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names =
        |found: &Value| found.pointer(&format!("/digest/{algorithm}")).and_then(Value::as_str) == Some(hex);
    if !hex.is_empty() && subjects.iter().any(names) {
        return Ok(());
    }
    Err(format!("bundle is not about '{}'", subject.digest))
}
