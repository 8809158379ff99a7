//! The envelope: who signed what, when, and how, all under one signature.

use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::{COSE_TYPE, JWS_TYPE, MAX_ENVELOPE_BYTES, SignatureEnvelope, cose, date, jws, signature};

/// Media type of the signed payload.
const PAYLOAD_TYPE: &str = "application/vnd.cncf.notary.payload.v1+json";
/// Certificates of a signature.
const MAX_CHAIN: usize = 10;
/// Headers that a signature must mark as critical where it has them; no other critical ones are understood here.
const SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";
const VOUCHED_TIME: &str = "io.cncf.notary.authenticSigningTime";

/// The authority for the time of signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Scheme {
    /// Nobody, or a timestamping authority with a countersignature.
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
    pub(super) signature: Vec<u8>,
    /// Token of a timestamping authority about the time of the signature, not yet verified.
    pub(super) timestamp: Option<Vec<u8>>,
    expiry: Option<Timestamp>,
    digest: String,
}

/// An envelope of either format, taken apart and not yet believed.
pub(super) struct Sealed {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) protected: Protected,
    /// Bytes that are signed: protected headers and payload.
    pub(super) signed: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) payload: Vec<u8>,
    /// Countersignature of a timestamping authority over the signature.
    pub(super) timestamp: Option<Vec<u8>>,
}

/// The headers under the signature. Those of COSE have names like these.
#[derive(Deserialize)]
pub(super) struct Protected {
    pub(super) alg: String,
    pub(super) cty: String,
    #[serde(default)]
    pub(super) crit: Vec<String>,
    #[serde(rename = "io.cncf.notary.signingScheme")]
    pub(super) scheme: Scheme,
    #[serde(rename = "io.cncf.notary.signingTime")]
    pub(super) signing_time: Option<Timestamp>,
    #[serde(rename = "io.cncf.notary.authenticSigningTime")]
    pub(super) authentic_signing_time: Option<Timestamp>,
    #[serde(rename = "io.cncf.notary.expiry")]
    pub(super) expiry: Option<Timestamp>,
    /// True when the signer wants a plugin to verify the signature.
    #[serde(default, rename = "io.cncf.notary.verificationPlugin", deserialize_with = "is_there")]
    pub(super) has_plugin: bool,
}

/// Returns true for a header that is there, whatever its value.
fn is_there<'de, D: Deserializer<'de>>(header: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(header).map(|_| true)
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
    pub(super) fn open(signature: &SignatureEnvelope) -> Result<Self, String> {
        if signature.content.len() > MAX_ENVELOPE_BYTES {
            return Err(format!("signature envelope is larger than {MAX_ENVELOPE_BYTES} bytes"));
        }
        let malformed = |error: String| format!("signature envelope is malformed: {error}");
        let sealed = match signature.media_type.as_str() {
            JWS_TYPE => jws::read(&signature.content),
            COSE_TYPE => cose::read(&signature.content),
            other => {
                return Err(format!(
                    "signature envelope format with media type \"{other}\" is not supported"
                ));
            }
        };
        let Sealed { chain, protected, signed, signature, payload, timestamp } = sealed.map_err(malformed)?;
        if chain.len() > MAX_CHAIN {
            return Err(format!("signature envelope has more than {MAX_CHAIN} certificates"));
        }
        let leaf = chain.first().ok_or("signature envelope has no certificate")?;
        signature::check(leaf, &protected.alg, &signed, &signature)?;
        let payload: Payload =
            serde_json::from_slice(&payload).map_err(|error| malformed(error.to_string()))?;
        let (scheme, signing_time) = protected.signing()?;
        let (expiry, digest) = (protected.expiry, payload.target_artifact.digest);
        Ok(Self { scheme, chain, signing_time, signature, timestamp, expiry, digest })
    }

    /// Checks that the artifact with the digest is the signed one.
    ///
    /// # Errors
    /// Fails when the signature is about another artifact.
    pub(super) fn is_about(&self, digest: &str) -> Result<(), String> {
        if self.digest == digest { Ok(()) } else { Err("content descriptor mismatch".to_owned()) }
    }

    /// Checks that the signature has not expired.
    ///
    /// # Errors
    /// Fails when it has.
    pub(super) fn is_in_force(&self, now: Timestamp) -> Result<(), String> {
        match self.expiry {
            Some(expiry) if expiry <= now => {
                Err(format!("digital signature has expired on \"{}\"", date::written(expiry)))
            }
            _ => Ok(()),
        }
    }
}

impl Protected {
    /// Scheme and time of the signature, if all that must be understood is.
    fn signing(&self) -> Result<(Scheme, Timestamp), String> {
        if self.cty != PAYLOAD_TYPE {
            return Err(format!("payload of content type \"{}\" is not supported", self.cty));
        }
        self.check_critical()?;
        if self.has_plugin {
            return Err("verification by a plugin is not supported".to_owned());
        }
        let (time, other) = match self.scheme {
            Scheme::Certificate => (self.signing_time, self.authentic_signing_time),
            Scheme::SigningAuthority => (self.authentic_signing_time, self.signing_time),
        };
        if other.is_some() {
            return Err("signature has a signing time of another signing scheme".to_owned());
        }
        let time = time.ok_or("signature has no signing time")?;
        // The specification forbids it, whatever a policy says about signatures that have expired.
        if self.expiry.is_some_and(|expiry| expiry <= time) {
            return Err("expiry cannot be equal or before the signing time".to_owned());
        }
        Ok((self.scheme, time))
    }

    /// Checks that the headers marked as critical are exactly those that must be.
    ///
    /// # Errors
    /// Fails when one is marked that is absent or unknown, or when a mark is missing.
    fn check_critical(&self) -> Result<(), String> {
        let known = [
            (SCHEME, true),
            (EXPIRY, self.expiry.is_some()),
            (VOUCHED_TIME, self.authentic_signing_time.is_some()),
        ];
        let is_unknown = |marked: &&String| known.iter().all(|(name, _)| name != marked);
        if let Some(unknown) = self.crit.iter().find(is_unknown) {
            return Err(format!("critical attribute \"{unknown}\" of the signature is not supported"));
        }
        for (name, is_there) in known {
            match (is_there, self.crit.iter().any(|marked| marked == name)) {
                (true, false) => return Err(format!("required header \"{name}\" is not marked as critical")),
                (false, true) => return Err(format!("header \"{name}\" is marked critical but not present")),
                (true, true) | (false, false) => {}
            }
        }
        Ok(())
    }
}

impl Scheme {
    /// The scheme with a name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// The kind of trust store that counts.
    pub(super) fn store(self) -> &'static str {
        match self {
            Self::Certificate => "ca",
            Self::SigningAuthority => "signingAuthority",
        }
    }
}
