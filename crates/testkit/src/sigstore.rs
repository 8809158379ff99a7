//! Cosign's signatures, made here from the documented formats: with keys, and with the certificates and the log of a
//! Sigstore instance of our own.

mod certificate;
mod log;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData, RsaKeySize, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::certificate::Authority;
use self::log::Log;
use crate::Error;

/// Type of the statements that cosign signs.
const IN_TOTO: &str = "application/vnd.in-toto+json";

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CosignAlgorithm {
    /// Key that `cosign generate-key-pair` makes.
    P256,
    /// A larger curve; signed with SHA-384.
    P384,
    /// The largest curve; signed with SHA-512.
    P521,
    /// Ed25519, which hashes by itself.
    Ed25519,
    /// RSA with 2048 bits.
    Rsa,
}

/// A key of cosign.
#[derive(Debug)]
pub struct CosignKey {
    key: KeyPair,
}

/// A payload and the annotations of the layer that holds it.
#[derive(Debug, Clone)]
pub struct CosignSignature {
    /// The signed payload.
    pub payload: Vec<u8>,
    /// Signature, certificate, log entry.
    pub annotations: BTreeMap<String, String>,
}

/// A certificate authority, a certificate log and a signature log that trust each other.
#[derive(Debug)]
pub struct Sigstore {
    authority: Authority,
    log: Log,
}

impl CosignKey {
    /// Makes a key.
    ///
    /// # Errors
    /// When the algorithm is not there.
    pub fn generate(algorithm: CosignAlgorithm) -> Result<Self, Error> {
        let key = match algorithm {
            CosignAlgorithm::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            CosignAlgorithm::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            CosignAlgorithm::P521 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512),
            CosignAlgorithm::Ed25519 => KeyPair::generate_for(&rcgen::PKCS_ED25519),
            CosignAlgorithm::Rsa => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
        };
        Ok(Self { key: key.map_err(Error::Certificate)? })
    }

    /// The public key, as `cosign.pub` has it.
    #[must_use]
    pub fn public_pem(&self) -> String {
        self.key.public_key_pem()
    }

    /// A signature of the layout before cosign 3.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, digest: &str) -> Result<CosignSignature, Error> {
        let payload = payload(digest);
        let signature = sign(&self.key, &payload)?;
        let annotations = BTreeMap::from([("dev.cosignproject.cosign/signature".to_owned(), signature)]);
        Ok(CosignSignature { payload, annotations })
    }

    /// A bundle as cosign 3 makes it.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn bundle(&self, digest: &str) -> Result<String, Error> {
        let material =
            json!({"publicKey": {"hint": "test"}, "tlogEntries": [], "timestampVerificationData": {}});
        Ok(bundle(material, &envelope(&self.key, digest)?.json).to_string())
    }
}

impl Sigstore {
    /// Makes an instance whose certificates are valid for years.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn create() -> Result<Self, Error> {
        Ok(Self { authority: Authority::create(2040)?, log: Log::create()? })
    }

    /// Makes an instance whose certificates were over before anything was signed.
    ///
    /// # Errors
    /// When keys cannot be made.
    pub fn create_expired() -> Result<Self, Error> {
        Ok(Self { authority: Authority::create(2021)?, log: Log::create()? })
    }

    /// Returns the keys that verifiers need, as `trusted_root.json`.
    #[must_use]
    pub fn trusted_root(&self) -> Value {
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.log.trusted("https://rekor.test")],
            "certificateAuthorities": [self.authority.trusted()],
            "ctlogs": [self.authority.trusted_log()],
            "timestampAuthorities": [],
        })
    }

    /// A keyless signature of the layout before cosign 3. `subject` is an e-mail address or a URI.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub fn sign(&self, digest: &str, subject: &str, issuer: &str) -> Result<CosignSignature, Error> {
        let (key, certificate) = self.authority.issue(subject, issuer)?;
        let payload = payload(digest);
        let signature = sign(&key, &payload)?;
        let body = json!({
            "apiVersion": "0.0.1", "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": hex::encode(Sha256::digest(&payload))}},
                "signature": {"content": signature, "publicKey": {"content": STANDARD.encode(certificate.pem())}},
            },
        });
        let annotations = BTreeMap::from([
            ("dev.cosignproject.cosign/signature".to_owned(), signature),
            ("dev.sigstore.cosign/certificate".to_owned(), certificate.pem()),
            ("dev.sigstore.cosign/chain".to_owned(), self.authority.pem()),
            ("dev.sigstore.cosign/bundle".to_owned(), self.log.promise(&body.to_string())?.to_string()),
        ]);
        Ok(CosignSignature { payload, annotations })
    }

    /// A keyless bundle as cosign 3 makes it.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub fn bundle(&self, digest: &str, subject: &str, issuer: &str) -> Result<Value, Error> {
        let (key, certificate) = self.authority.issue(subject, issuer)?;
        let Envelope { json: envelope, payload, signature } = envelope(&key, digest)?;
        let body = json!({
            "apiVersion": "0.0.1", "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": hex::encode(Sha256::digest(envelope.to_string()))},
                "payloadHash": {"algorithm": "sha256", "value": hex::encode(Sha256::digest(&payload))},
                "signatures": [{
                    "signature": signature,
                    "verifier": STANDARD.encode(certificate.pem()),
                }],
            },
        });
        let material = json!({
            "certificate": {"rawBytes": STANDARD.encode(certificate.der())},
            "tlogEntries": [self.log.entry("dsse", &body.to_string())?],
            "timestampVerificationData": {},
        });
        Ok(bundle(material, &envelope))
    }
}

/// Returns the payload that cosign signs for an image.
fn payload(digest: &str) -> Vec<u8> {
    json!({
        "critical": {
            "identity": {"docker-reference": ""},
            "image": {"docker-manifest-digest": digest},
            "type": "cosign container image signature",
        },
        "optional": null,
    })
    .to_string()
    .into_bytes()
}

/// A signed statement about an image.
struct Envelope {
    json: Value,
    payload: Vec<u8>,
    signature: String,
}

fn envelope(key: &KeyPair, digest: &str) -> Result<Envelope, Error> {
    let (algorithm, hex) = digest.split_once(':').unwrap_or_default();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {algorithm: hex}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    });
    let payload = statement.to_string().into_bytes();
    let mut signed = format!("DSSEv1 {} {IN_TOTO} {} ", IN_TOTO.len(), payload.len()).into_bytes();
    signed.extend_from_slice(&payload);
    let signature = sign(key, &signed)?;
    let json = json!({
        "payload": STANDARD.encode(&payload), "payloadType": IN_TOTO, "signatures": [{"sig": signature}],
    });
    Ok(Envelope { json, payload, signature })
}

fn bundle(material: Value, envelope: &Value) -> Value {
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": material,
        "dsseEnvelope": envelope,
    })
}

fn sign(key: &KeyPair, message: &[u8]) -> Result<String, Error> {
    Ok(STANDARD.encode(key.sign(message).map_err(Error::Certificate)?))
}

/// A public key as trusted roots have it, with its id.
fn trusted_key(key: &KeyPair) -> (Value, Vec<u8>) {
    let spki = key.subject_public_key_info();
    let id = Sha256::digest(&spki).to_vec();
    let public = json!({
        "rawBytes": STANDARD.encode(spki),
        "keyDetails": "PKIX_ECDSA_P256_SHA_256",
        "validFor": {"start": "2020-01-01T00:00:00Z"},
    });
    (public, id)
}
