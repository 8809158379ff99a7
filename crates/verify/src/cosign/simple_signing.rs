//! Signatures of cosign before its third version: a payload that names a digest, with everything else in annotations.

use std::collections::BTreeMap;

use serde::Deserialize;
use sigstore_verify::types::bundle::{
    MessageSignature, VerificationMaterial, VerificationMaterialContent, X509Certificate,
};
use sigstore_verify::types::{Bundle, DerCertificate, MediaType, SignatureBytes, SignatureContent};

use super::{MAX_SIGNATURE_BYTES, log};

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const CHAIN: &str = "dev.sigstore.cosign/chain";
const LOG: &str = "dev.sigstore.cosign/bundle";
/// First line of a certificate.
const PEM: &str = "-----BEGIN CERTIFICATE-----";
/// Certificates of a chain. Sigstore's have three.
const MAX_CHAIN: usize = 10;

/// A layer of a signature image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleSigning {
    /// The layer's bytes: the JSON that is signed.
    pub payload: Vec<u8>,
    /// The layer's annotations: signature, certificate, log entry.
    pub annotations: BTreeMap<String, String>,
}

/// The signed payload: an image with its digest is somebody's.
#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

impl SimpleSigning {
    /// Returns the question to a log that may have the signature, as the body of `POST api/v1/log/entries/retrieve`;
    /// none when the signature brings the promise of a log along, or was not made with a certificate.
    #[must_use]
    pub fn log_query(&self) -> Option<Vec<u8>> {
        let annotation = |name| self.annotations.get(name);
        if annotation(LOG).is_some() {
            return None;
        }
        Some(log::query(&self.payload, annotation(SIGNATURE)?, annotation(CERTIFICATE)?))
    }

    /// The signature with what the log answered.
    ///
    /// # Errors
    /// When the log does not have it, or its answer is malformed.
    pub fn with_log_answer(mut self, json: &[u8]) -> Result<Self, String> {
        self.annotations.insert(LOG.to_owned(), log::annotation(json)?);
        Ok(self)
    }

    /// The signature, if the payload is about the artifact; a good signature over another digest proves nothing.
    pub(super) fn signature_for(&self, digest: &str) -> Result<SignatureBytes, String> {
        if self.payload.len() > MAX_SIGNATURE_BYTES {
            return Err(format!("payload is larger than {MAX_SIGNATURE_BYTES} bytes"));
        }
        let payload: Payload = serde_json::from_slice(&self.payload)
            .map_err(|error| format!("payload is no simple signing: {error}"))?;
        let found = payload.critical.image.digest;
        if found != digest {
            return Err(format!("signature is for '{found}', not for '{digest}'"));
        }
        let text = self.annotations.get(SIGNATURE).ok_or("signature annotation is missing")?;
        SignatureBytes::from_base64(text).map_err(|error| format!("signature is malformed: {error}"))
    }

    /// The same signature as a bundle of today, so that one verifier judges both. The time of signing is the log's: a
    /// timestamp beside it is left out, as with Flux, since it would stand in for a promise that nobody made.
    pub(super) fn to_bundle(&self, signature: SignatureBytes) -> Result<Bundle, String> {
        let mut certificates = certificates(self.annotations.get(CERTIFICATE).map_or("", String::as_str))?;
        if certificates.is_empty() {
            return Err("signature has no certificate".to_owned());
        }
        certificates.extend(certificates_of_chain(self.annotations.get(CHAIN).map_or("", String::as_str))?);
        let material = VerificationMaterialContent::X509CertificateChain { certificates };
        let mut material = VerificationMaterial::new(material);
        if let Some(log) = self.annotations.get(LOG) {
            material = material.with_tlog_entries(vec![log::entry(log)?]);
        }
        let content = SignatureContent::MessageSignature(MessageSignature::new(signature));
        Ok(Bundle::new(MediaType::Bundle0_1, material, content))
    }
}

/// The certificates of a PEM text, in their order.
fn certificates(pem: &str) -> Result<Vec<X509Certificate>, String> {
    let blocks = pem.split(PEM).skip(1).take(MAX_CHAIN);
    let parse = |block: &str| DerCertificate::from_pem(&format!("{PEM}{block}")).map(X509Certificate::new);
    blocks.map(|block| parse(block).map_err(|error| error.to_string())).collect()
}

/// The certificates between the signer's and the root, which is trusted or not whatever a signature brings along.
fn certificates_of_chain(pem: &str) -> Result<Vec<X509Certificate>, String> {
    let mut chain = certificates(pem)?;
    chain.pop();
    Ok(chain)
}
