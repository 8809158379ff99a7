//! Notation signatures of OCI artifacts (SRC-OCI-26, DEP-OCI-8): a trust policy decides which certificates count for
//! which repository, and which parts of a signature must be in order.

mod chain;
mod cose;
mod date;
mod envelope;
mod identity;
mod inquiry;
mod jws;
mod name;
mod policy;
mod revocation;
mod signature;
mod signed;
mod timestamp;

use jiff::Timestamp;

pub use self::chain::Certificates;
use self::chain::rules::{self, Purpose};
use self::envelope::{Envelope, Scheme};
use self::inquiry::Inquiry;
pub use self::inquiry::{Answers, Question};
pub use self::policy::{Action, PolicyError, Statement, TrustPolicy};

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
    /// Media type of its bytes.
    pub media_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// The value of a signature that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// True when it is known who signed. When it is not, and the policy lets that pass, nothing is verified.
    pub is_authentic: bool,
    /// Faults that were tolerated.
    pub logged: Vec<String>,
}

/// The judgement about a signature that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It is judged.
    Decided(Outcome),
    /// It cannot be judged before these servers were asked, which its certificates name.
    Lacking(Vec<Question>),
}

impl Statement {
    /// Judges a signature of the manifest with `digest` by this statement. `now` decides what is expired, `answers` what was
    /// revoked. A signature that lacks answers is judged again with them; each time fewer are lacking.
    ///
    /// # Errors
    /// When the signature is not over this artifact, or something is wrong with it that the statement enforces.
    pub fn verify(
        &self,
        certificates: &Certificates,
        signature: &SignatureEnvelope,
        digest: &str,
        now: Timestamp,
        answers: &Answers,
    ) -> Result<Judgement, String> {
        let envelope = Envelope::open(signature)?;
        envelope.is_about(digest)?;
        // Not of authenticity, which a policy may only log: a signature without such a chain is none.
        rules::check(&envelope.chain, Purpose::CodeSigning).map_err(|error| error.to_string())?;
        let actions = self.actions();
        let mut inquiry = Inquiry::new(answers);
        let authentic = self.is_authentic(certificates, &envelope);
        let mut outcome = Outcome { is_authentic: authentic.is_ok(), logged: Vec::new() };
        outcome.note("authenticity", actions.authenticity, authentic)?;
        outcome.note("expiry", actions.expiry, envelope.is_in_force(now))?;
        let timely = self.is_timely(certificates, &envelope, now, &mut inquiry);
        if inquiry.is_open() {
            return Ok(Judgement::Lacking(inquiry.into_questions()));
        }
        outcome.note("authenticTimestamp", actions.authentic_timestamp, timely)?;
        if actions.revocation != Action::Skip {
            let revocation = is_unrevoked(&envelope, outcome.is_authentic, now, &mut inquiry);
            if inquiry.is_open() {
                return Ok(Judgement::Lacking(inquiry.into_questions()));
            }
            outcome.note("revocation", actions.revocation, revocation)?;
        }
        Ok(Judgement::Decided(outcome))
    }

    /// Checks that the certificates lead to a trusted one, and that the signer is one of the trusted identities.
    fn is_authentic(&self, certificates: &Certificates, envelope: &Envelope) -> Result<(), String> {
        if !self.has_store(envelope.scheme.store()) {
            return Err("no trusted certificates are found to verify authenticity".to_owned());
        }
        certificates.lead_to(&envelope.chain, envelope.signing_time)?;
        let leaf = envelope.chain.first().ok_or("signature has no certificate")?;
        self.identities().contain(leaf, self.name())
    }

    /// Checks that the certificates were valid at the time of the signature if somebody vouches for that time, and
    /// otherwise that they are valid now.
    fn is_timely(
        &self,
        certificates: &Certificates,
        envelope: &Envelope,
        now: Timestamp,
        inquiry: &mut Inquiry<'_>,
    ) -> Result<(), String> {
        let chain = &envelope.chain;
        if envelope.scheme == Scheme::SigningAuthority {
            return chain::were_valid(chain, envelope.signing_time);
        }
        if self.needs_timestamp(chain::are_over(chain, now)) {
            return timestamp::check(envelope, certificates, now, inquiry).map_err(|error| error.to_string());
        }
        chain::are_valid(chain, now)
    }
}

/// Checks that no certificate was taken back. Those whom the certificates of a stranger name are not asked.
fn is_unrevoked(
    envelope: &Envelope,
    is_authentic: bool,
    now: Timestamp,
    inquiry: &mut Inquiry<'_>,
) -> Result<(), String> {
    if !is_authentic {
        return Err("not asked for, since nobody knows who signed".to_owned());
    }
    let vouched = envelope.scheme == Scheme::SigningAuthority;
    let signed_at = vouched.then_some(envelope.signing_time);
    revocation::check(&envelope.chain, Purpose::CodeSigning, signed_at, now, inquiry)
        .map_err(|error| error.to_string())
}

impl Outcome {
    /// Puts down what came of a check; an error is one if the check is enforced.
    fn note(&mut self, what: &str, action: Action, result: Result<(), String>) -> Result<(), String> {
        match (action, result) {
            (Action::Enforce, Err(error)) => return Err(error),
            (Action::Log, Err(error)) => self.logged.push(format!("{what}: {error}")),
            (Action::Skip, _) | (_, Ok(())) => {}
        }
        Ok(())
    }
}
