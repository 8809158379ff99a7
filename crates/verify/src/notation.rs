//! Notation signatures of OCI artifacts (SRC-OCI-26, DEP-OCI-8): a trust policy says which certificates count for which
//! repository, and what of a signature must be in order.

mod chain;
mod cose;
mod envelope;
mod identity;
mod jws;
mod policy;
mod signature;

pub use chain::Certificates;
pub use policy::{Action, PolicyError, Statement, TrustPolicy};

use envelope::Envelope;
use jiff::Timestamp;

/// The kind of artifact that notation's signatures are attached as.
pub const SIGNATURE_TYPE: &str = "application/vnd.cncf.notary.signature";
/// The media type of an envelope of JSON.
pub const JWS_TYPE: &str = "application/jose+json";
/// The media type of an envelope of CBOR.
pub const COSE_TYPE: &str = "application/cose";
/// Signatures of one artifact that are looked at, as Flux has it.
pub const MAX_ATTEMPTS: usize = 3;
/// Bytes of a signature with its certificates.
pub const MAX_ENVELOPE_BYTES: usize = 1 << 20;

/// A signature as it is found beside an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureEnvelope {
    /// What its bytes are.
    pub media_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// What a signature is worth that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it is known who signed. When it is not, and the policy lets that pass, nothing is verified.
    pub is_authentic: bool,
    /// What is wrong and was let pass.
    pub logged: Vec<String>,
}

impl Statement {
    /// Judges a signature of the manifest with `digest` by this statement. `now` decides what is expired.
    ///
    /// # Errors
    /// When the signature is not over this artifact, or something is wrong with it that the statement enforces.
    pub fn verify(
        &self,
        certificates: &Certificates,
        signature: &SignatureEnvelope,
        digest: &str,
        now: Timestamp,
    ) -> Result<Outcome, String> {
        let envelope = Envelope::open(signature)?;
        envelope.is_about(digest)?;
        let mut outcome = Outcome { is_authentic: true, logged: Vec::new() };
        let authentic = self.is_authentic(certificates, &envelope);
        outcome.is_authentic = authentic.is_ok();
        let checks = [
            ("authenticity", self.actions().authenticity, authentic),
            ("expiry", self.actions().expiry, envelope.is_in_force(now)),
            ("authenticTimestamp", self.actions().authentic_timestamp, envelope.certificates_are_valid(now)),
            ("revocation", self.actions().revocation, chain::is_revocable(&envelope.chain)),
        ];
        for (what, action, result) in checks {
            match (action, result) {
                (Action::Enforce, Err(error)) => return Err(error),
                (Action::Log, Err(error)) => outcome.logged.push(format!("{what}: {error}")),
                (Action::Skip, _) | (_, Ok(())) => {}
            }
        }
        Ok(outcome)
    }

    /// Whether the certificates lead to a trusted one, and the signer is one of the trusted identities.
    fn is_authentic(&self, certificates: &Certificates, envelope: &Envelope) -> Result<(), String> {
        if !self.has_store(envelope.scheme.store()) {
            return Err("no trusted certificates are found to verify authenticity".to_owned());
        }
        certificates.lead_to(&envelope.chain, envelope.signing_time)?;
        let leaf = envelope.chain.first().ok_or("signature has no certificate")?;
        identity::is_trusted(self.identities(), leaf)
    }
}
