//! The envelope: who signed what, when, and how, all under one signature. JSON Web Signatures.

use super::{JWS_TYPE, MAX_ENVELOPE_BYTES, SignatureEnvelope, chain};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use serde::Deserialize;
use webpki::{EndEntityCert, aws_lc_rs as algorithms};

/// What is signed.
const PAYLOAD_TYPE: &str = "application/vnd.cncf.notary.payload.v1+json";
/// Certificates of a signature.
const MAX_CHAIN: usize = 10;
/// What a signature may insist on that is understood here.
const UNDERSTOOD: [&str; 3] =
    ["io.cncf.notary.signingScheme", "io.cncf.notary.expiry", "io.cncf.notary.authenticSigningTime"];

/// Who vouches for the time of signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Scheme {
    /// Nobody, so that the certificates must be valid now.
    #[serde(rename = "notary.x509")]
    Certificate,
    /// The authority that signs.
    #[serde(rename = "notary.x509.signingAuthority")]
    SigningAuthority,
}

/// An envelope whose signature is that of its first certificate over all that is read from it.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) scheme: Scheme,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) signing_time: Timestamp,
    expiry: Option<Timestamp>,
    digest: String,
}

#[derive(Deserialize)]
struct Jws {
    payload: String,
    protected: String,
    header: Unprotected,
    signature: String,
}

#[derive(Deserialize)]
struct Unprotected {
    x5c: Vec<String>,
}

#[derive(Deserialize)]
struct Protected {
    alg: String,
    cty: String,
    #[serde(default)]
    crit: Vec<String>,
    #[serde(rename = "io.cncf.notary.signingScheme")]
    scheme: Scheme,
    #[serde(rename = "io.cncf.notary.signingTime")]
    signing_time: Option<Timestamp>,
    #[serde(rename = "io.cncf.notary.authenticSigningTime")]
    authentic_signing_time: Option<Timestamp>,
    #[serde(rename = "io.cncf.notary.expiry")]
    expiry: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    target_artifact: Target,
}

#[derive(Deserialize)]
struct Target {
    digest: String,
}

impl Envelope {
    /// Opens an envelope and checks its signature.
    pub(super) fn open(signature: &SignatureEnvelope) -> Result<Envelope, String> {
        if signature.content.len() > MAX_ENVELOPE_BYTES {
            return Err(format!("signature envelope is larger than {MAX_ENVELOPE_BYTES} bytes"));
        }
        if signature.media_type != JWS_TYPE {
            return Err(format!(
                "signature envelope format with media type \"{}\" is not supported",
                signature.media_type
            ));
        }
        let malformed = |error: &dyn std::fmt::Display| format!("signature envelope is malformed: {error}");
        let jws: Jws = serde_json::from_slice(&signature.content).map_err(|error| malformed(&error))?;
        let chain = certificates(&jws.header.x5c)?;
        let protected = URL_SAFE_NO_PAD.decode(&jws.protected).map_err(|error| malformed(&error))?;
        let protected: Protected = serde_json::from_slice(&protected).map_err(|error| malformed(&error))?;
        let bytes = URL_SAFE_NO_PAD.decode(&jws.signature).map_err(|error| malformed(&error))?;
        let signed = format!("{}.{}", jws.protected, jws.payload);
        let leaf = chain.first().ok_or("signature envelope has no certificate")?;
        check(leaf, &protected.alg, signed.as_bytes(), &bytes)?;
        let payload = URL_SAFE_NO_PAD.decode(&jws.payload).map_err(|error| malformed(&error))?;
        let payload: Payload = serde_json::from_slice(&payload).map_err(|error| malformed(&error))?;
        protected.into_envelope(chain, payload.target_artifact.digest)
    }

    /// Whether the artifact with the digest is what is signed.
    pub(super) fn is_about(&self, digest: &str) -> Result<(), String> {
        if self.digest == digest {
            return Ok(());
        }
        Err(format!("payload in the signature envelope is for '{}', not for '{digest}'", self.digest))
    }

    /// Whether the signature has not expired.
    pub(super) fn is_in_force(&self, now: Timestamp) -> Result<(), String> {
        match self.expiry {
            Some(expiry) if expiry <= now => Err(format!("digital signature has expired on \"{expiry}\"")),
            _ => Ok(()),
        }
    }

    /// Whether the certificates were valid when it was signed, if somebody vouches for when that was, or else are now.
    pub(super) fn certificates_are_valid(&self, now: Timestamp) -> Result<(), String> {
        let at = if self.scheme == Scheme::SigningAuthority { self.signing_time } else { now };
        chain::are_valid(&self.chain, at)
    }
}

impl Protected {
    fn into_envelope(self, chain: Vec<CertificateDer<'static>>, digest: String) -> Result<Envelope, String> {
        if self.cty != PAYLOAD_TYPE {
            return Err(format!("payload of content type \"{}\" is not supported", self.cty));
        }
        if let Some(unknown) = self.crit.iter().find(|name| !UNDERSTOOD.contains(&name.as_str())) {
            return Err(format!("critical attribute \"{unknown}\" of the signature is not supported"));
        }
        let (time, other) = match self.scheme {
            Scheme::Certificate => (self.signing_time, self.authentic_signing_time),
            Scheme::SigningAuthority => (self.authentic_signing_time, self.signing_time),
        };
        if other.is_some() {
            return Err("signature has a signing time of another signing scheme".to_owned());
        }
        let signing_time = time.ok_or("signature has no signing time")?;
        Ok(Envelope { scheme: self.scheme, chain, signing_time, expiry: self.expiry, digest })
    }
}

impl Scheme {
    /// The kind of trust store that counts.
    pub(super) fn store(self) -> &'static str {
        match self {
            Scheme::Certificate => "ca",
            Scheme::SigningAuthority => "signingAuthority",
        }
    }
}

fn certificates(x5c: &[String]) -> Result<Vec<CertificateDer<'static>>, String> {
    if x5c.len() > MAX_CHAIN {
        return Err(format!("signature envelope has more than {MAX_CHAIN} certificates"));
    }
    let decode = |text: &String| STANDARD.decode(text).map(CertificateDer::from);
    x5c.iter()
        .map(|text| decode(text).map_err(|error| format!("certificate is malformed: {error}")))
        .collect()
}

/// Checks a signature with the key of a certificate.
fn check(leaf: &CertificateDer<'_>, name: &str, signed: &[u8], signature: &[u8]) -> Result<(), String> {
    let (algorithm, is_elliptic): (&dyn SignatureVerificationAlgorithm, bool) = match name {
        "PS256" => (algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY, false),
        "PS384" => (algorithms::RSA_PSS_2048_8192_SHA384_LEGACY_KEY, false),
        "PS512" => (algorithms::RSA_PSS_2048_8192_SHA512_LEGACY_KEY, false),
        "ES256" => (algorithms::ECDSA_P256_SHA256, true),
        "ES384" => (algorithms::ECDSA_P384_SHA384, true),
        "ES512" => (algorithms::ECDSA_P521_SHA512, true),
        other => return Err(format!("signature algorithm \"{other}\" is not supported")),
    };
    let sequence = if is_elliptic { Some(sequence(signature)) } else { None };
    let certificate = EndEntityCert::try_from(leaf).map_err(|error| error.to_string())?;
    let bytes = sequence.as_deref().unwrap_or(signature);
    certificate.verify_signature(algorithm, signed, bytes).map_err(|_| "signature is invalid".to_owned())
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
