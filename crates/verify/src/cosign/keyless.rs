//! Signatures with certificates that are valid for minutes: checks who got the certificate, from whom, and
//! that a log has recorded it.

use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Artifact, Sha256Hash};
use sigstore_verify::{VerificationPolicy, VerificationResult, Verifier};
use weir_policy::go_regex;

use super::{Signature, TrustError, bundle};

/// An identity that may sign: its certificate's subject and the issuer of its token. Go's regular expressions, not
/// anchored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Issuer of the identity.
    pub issuer: String,
    /// Name of the identity.
    pub subject: String,
}

/// A Sigstore instance and the identities that may sign.
pub struct Keyless {
    verifier: Verifier,
    matchers: Vec<Matcher>,
    log_url: String,
}

struct Matcher {
    issuer: regex::Regex,
    subject: regex::Regex,
}

impl Keyless {
    /// Trusts a Sigstore instance, the public one unless `root` is its `trusted_root.json`, and of its signers those
    /// with one of the identities; any when there are none.
    ///
    /// # Errors
    /// When root or identities cannot be read.
    pub fn new(root: Option<&[u8]>, identities: &[Identity]) -> Result<Self, TrustError> {
        let malformed = |error: &dyn std::fmt::Display| TrustError::Root { reason: error.to_string() };
        let root = match root {
            Some(json) => std::str::from_utf8(json).map_err(|error| malformed(&error))?,
            None => SIGSTORE_PRODUCTION_TRUSTED_ROOT,
        };
        let root = TrustedRoot::from_json(root).map_err(|error| malformed(&error))?;
        if root.tlogs.is_empty() {
            return Err(TrustError::NoLog);
        }
        let log = root.tlogs.iter().find(|log| !log.base_url.is_empty()).ok_or(TrustError::NoLogUrl)?;
        let log_url = log.base_url.clone();
        let verifier = Verifier::new(&root).map_err(|error| malformed(&error))?;
        let matchers = identities.iter().map(Matcher::new).collect::<Result<_, _>>()?;
        Ok(Self { verifier, matchers, log_url })
    }

    /// Returns the transparency log in which signatures without its proof are looked up.
    #[must_use]
    pub fn log_url(&self) -> &str {
        &self.log_url
    }

    /// Checks that one of the identities made the signature, for this artifact, while its certificate was
    /// valid.
    pub(super) fn verify(&self, digest: &str, signature: &Signature) -> Result<(), String> {
        let anyone = VerificationPolicy::any_identity();
        let verified = match signature {
            Signature::Bundle(json) => {
                let hash = digest.strip_prefix("sha256:").and_then(|hex| Sha256Hash::from_hex(hex).ok());
                let hash = hash.ok_or_else(|| format!("digest '{digest}' is not of SHA-256"))?;
                self.verifier.verify(Artifact::from_digest(hash), &bundle(json)?, &anyone)
            }
            Signature::Simple(simple) => {
                let bundle = simple.to_bundle(simple.signature_for(digest)?)?;
                // The log's promise stands for a proof of inclusion, which signatures of this kind do not have. The
                // promise itself is verified: `to_bundle` leaves no other source for the time of signing.
                self.verifier.verify(simple.payload.as_slice(), &bundle, &anyone.skip_tlog_unsafe())
            }
        };
        self.is_wanted(&verified.map_err(|error| error.to_string())?)
    }

    fn is_wanted(&self, verified: &VerificationResult) -> Result<(), String> {
        let subject = verified.identity().map(ToString::to_string).unwrap_or_default();
        let issuer = verified.issuer().unwrap_or_default();
        let mut matchers = self.matchers.iter();
        let fits = |matcher: &Matcher| matcher.issuer.is_match(issuer) && matcher.subject.is_match(&subject);
        if self.matchers.is_empty() || matchers.any(fits) {
            return Ok(());
        }
        Err(format!(
            "none of the expected identities matched what was in the certificate, got subjects [{subject}] with issuer {issuer}"
        ))
    }
}

impl Matcher {
    fn new(identity: &Identity) -> Result<Self, TrustError> {
        let compile = |what, pattern: &String| {
            go_regex::compile(pattern).map_err(|error| TrustError::Pattern {
                what,
                pattern: pattern.clone(),
                reason: error.to_string(),
            })
        };
        let (issuer, subject) =
            (compile("issuer", &identity.issuer)?, compile("subject", &identity.subject)?);
        Ok(Self { issuer, subject })
    }
}
