//! Cosign signatures of OCI artifacts (SRC-OCI-23…25): with keys, or keyless with certificates of a Sigstore instance; as
//! simple signing (v2) and as Sigstore bundles (v3).

mod keyed;
mod keyless;
mod log;
mod simple_signing;

pub use keyed::PublicKeys;
pub use keyless::{Identity, Keyless};
pub use simple_signing::SimpleSigning;

/// The kind of artifact that a Sigstore bundle is attached as; its version follows.
pub const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// The media type of a simple signing payload.
pub const SIMPLE_SIGNING_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Bytes of one signature with all that comes with it; bundles of attestations hold bills of materials.
pub const MAX_SIGNATURE_BYTES: usize = 8 << 20;

/// A signature as it is found beside an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// A Sigstore bundle, as JSON.
    Bundle(Vec<u8>),
    /// A simple signing payload with its annotations.
    Simple(SimpleSigning),
}

/// The signers whose signatures count.
pub enum Trust {
    /// Those made with one of these keys. Nothing else is looked at: no log, no time.
    Keys(PublicKeys),
    /// Those with a certificate of one of these identities.
    Keyless(Box<Keyless>),
}

/// Errors that make keys or a trusted root unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The Secret has no key that ends in `.pub`.
    #[error("no public keys found")]
    NoKeys,
    /// None of its keys can be read.
    #[error("key '{name}' is no public key: {reason}")]
    Key {
        /// The key of the Secret.
        name: String,
        /// The fault in it.
        reason: String,
    },
    /// The trusted root is no trusted root.
    #[error("unable to parse trusted root: {reason}")]
    Root {
        /// The fault in it.
        reason: String,
    },
    /// It names no transparency log.
    #[error(
        "unable to extract Rekor URL from trusted root: no transparency log entries found in trusted root"
    )]
    NoLog,
    /// None of its logs has an address.
    #[error(
        "unable to extract Rekor URL from trusted root: no transparency log entry with a BaseURL found in trusted root"
    )]
    NoLogUrl,
    /// An identity is no regular expression.
    #[error("malformed {what} of an identity '{pattern}': {reason}")]
    Pattern {
        /// Issuer or subject.
        what: &'static str,
        /// As it is written.
        pattern: String,
        /// The fault in it.
        reason: String,
    },
}

/// Errors that leave an artifact without a good signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CosignError {
    /// There is none.
    #[error("no signatures found")]
    NoSignatures,
    /// None is good.
    #[error("no matching signatures: {}", causes.join("\n"))]
    NoMatch {
        /// Fault of each, every reason once.
        causes: Vec<String>,
    },
}

impl Trust {
    /// Checks that one of the signatures is good for the artifact with a digest: `<algorithm>:<hex>`.
    ///
    /// # Errors
    /// When there is none, or none is good; then what is wrong with each.
    pub fn verify(&self, digest: &str, signatures: &[Signature]) -> Result<(), CosignError> {
        if signatures.is_empty() {
            return Err(CosignError::NoSignatures);
        }
        let mut causes = Vec::new();
        for signature in signatures {
            let judged = match self {
                Self::Keys(keys) => keys.verify(digest, signature),
                Self::Keyless(keyless) => keyless.verify(digest, signature),
            };
            match judged {
                Ok(()) => return Ok(()),
                Err(cause) if causes.contains(&cause) => {}
                Err(cause) => causes.push(cause),
            }
        }
        Err(CosignError::NoMatch { causes })
    }
}

/// The text of a bundle, capped.
fn bundle(json: &[u8]) -> Result<sigstore_verify::types::Bundle, String> {
    if json.len() > MAX_SIGNATURE_BYTES {
        return Err(format!("bundle is larger than {MAX_SIGNATURE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(json).map_err(|error| error.to_string())?;
    sigstore_verify::types::Bundle::from_json(text).map_err(|error| error.to_string())
}
