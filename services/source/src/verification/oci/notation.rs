//! Notation: signatures that refer to the artifact, judged by the trust policy of a Secret (SRC-OCI-26).

use std::sync::Arc;

use jiff::Timestamp;
use weir_access::Secret;
use weir_artifact::Digest;
use weir_oci::Registry;
use weir_verify::notation::{
    Answers, Certificates, Judgement, MAX_ATTEMPTS, MAX_ENVELOPE_BYTES, Outcome, SIGNATURE_TYPE,
    SignatureEnvelope, Statement, TrustPolicy,
};

use super::trust::OciTrust;
use super::{Case, OciVerifier, Unverified, Verdict, inquiry, lacks_secret};

const POLICY_KEY: &str = "trustpolicy.json";
/// Bytes of all answers about one signature: two lists of revoked certificates as large as any, or many of the usual size.
const MAX_ANSWERS: usize = 64 << 20;
/// Bytes of the reason that is told for one signature; it may quote what a stranger has signed.
const MAX_REASON: usize = 1024;

/// By what a signature is judged.
struct Judge {
    statement: Statement,
    certificates: Certificates,
    digest: String,
    now: Timestamp,
}

/// Finds the statement for the artifact and judges signatures by it.
pub(super) async fn verify(
    verifier: &OciVerifier,
    case: Case<'_>,
    now: Timestamp,
) -> Result<Verdict, Unverified> {
    let Case { trust, registry, reference, digest } = case;
    let repository = registry.repository().to_string();
    let (statement, certificates) = read(trust, &repository, reference).map_err(Unverified::Trust)?;
    if statement.skips() {
        return Ok(Verdict::Ignored);
    }
    let found = registry.referrers(digest).await.map_err(|error| Unverified::Signature(error.to_string()))?;
    let found = found.into_iter().filter(|found| found.artifact_type == SIGNATURE_TYPE);
    let found: Vec<Digest> = found.map(|found| found.digest).collect();
    if found.is_empty() {
        let error = format!(
            "no signature is associated with \"{reference}\", make sure the artifact was signed successfully"
        );
        return Err(Unverified::Signature(error));
    }
    let judge = Arc::new(Judge { statement, certificates, digest: digest.to_string(), now });
    let mut refused = "signature verification failed".to_owned();
    for manifest in found.iter().take(MAX_ATTEMPTS) {
        let examined = match envelope(registry, manifest).await.map_err(Unverified::Signature)? {
            Some(signature) => examine(verifier, &judge, signature, registry).await?,
            None => Examined::Bad("the manifest has no signature envelope".to_owned()),
        };
        let error = match examined {
            Examined::Outcome(outcome) => return Ok(verdict(reference, outcome)),
            Examined::Bad(error) => error,
        };
        tracing::info!(artifact = reference, %manifest, error, "signature is not good");
        let end = error.floor_char_boundary(MAX_REASON);
        let reason = error.get(..end).unwrap_or_default();
        refused.push_str(&format!("\nfailed to verify signature with digest {manifest}, {reason}"));
    }
    if found.len() > MAX_ATTEMPTS {
        refused = format!(
            "signature evaluation stopped. The configured limit of {MAX_ATTEMPTS} signatures to verify per artifact exceeded"
        );
    }
    Err(Unverified::Signature(refused))
}

/// The end of a signature's judgement.
enum Examined {
    /// The trust policy says what the artifact is worth.
    Outcome(Outcome),
    /// The signature is not good, for this reason.
    Bad(String),
}

/// Judges a signature once the responders named in its certificates have answered.
async fn examine(
    verifier: &OciVerifier,
    judge: &Arc<Judge>,
    signature: SignatureEnvelope,
    registry: &Registry,
) -> Result<Examined, Unverified> {
    let signature = Arc::new(signature);
    let (mut answers, mut room) = (Answers::default(), MAX_ANSWERS);
    loop {
        let (judge, signature) = (judge.clone(), signature.clone());
        let judged = verifier.storage.blocking(move || {
            let Judge { statement, certificates, digest, now } = &*judge;
            let judged = statement.verify(certificates, &signature, digest, *now, &answers);
            (judged, answers)
        });
        let judged = judged.await.map_err(|error| Unverified::Signature(error.to_string()))?;
        answers = judged.1;
        let questions = match judged.0 {
            Err(error) => return Ok(Examined::Bad(error)),
            Ok(Judgement::Decided(outcome)) => return Ok(Examined::Outcome(outcome)),
            Ok(Judgement::Lacking(questions)) => questions,
        };
        for question in questions {
            let answer = inquiry::ask(&question, room, &verifier.clients, registry).await;
            room -= answer.as_ref().map_or(0, Vec::len);
            answers.note(question, answer);
        }
    }
}

/// The statement of the trust policy for a repository, and the trusted certificates.
fn read(trust: &OciTrust, repository: &str, reference: &str) -> Result<(Statement, Certificates), String> {
    let Secret { place, data, .. } = trust.secret.as_ref().ok_or_else(|| lacks_secret(reference))?;
    let policy =
        data.get(POLICY_KEY).ok_or_else(|| format!("'{POLICY_KEY}' not found in secret '{place}'"))?;
    let policy = TrustPolicy::parse(policy).map_err(|error| error.to_string())?;
    for warning in &policy.warnings {
        tracing::warn!(secret = place, "{warning}");
    }
    let certificates = Certificates::from_secret(data)?;
    let certificates = certificates.ok_or_else(|| format!("no certificates found in secret '{place}'"))?;
    let statement = policy.statement(repository, reference).map_err(|error| error.to_string())?;
    Ok((statement.clone(), certificates))
}

/// The signature in a manifest: its only layer.
async fn envelope(registry: &mut Registry, manifest: &Digest) -> Result<Option<SignatureEnvelope>, String> {
    let layers = registry.attachments(manifest, MAX_ENVELOPE_BYTES as u64).await;
    let layer = layers.map_err(|error| error.to_string())?.into_iter().next();
    Ok(layer.map(|layer| SignatureEnvelope { media_type: layer.media_type, content: layer.content.to_vec() }))
}

fn verdict(reference: &str, outcome: Outcome) -> Verdict {
    for problem in &outcome.logged {
        tracing::info!(artifact = reference, problem, "let pass by the trust policy");
    }
    if outcome.is_authentic { Verdict::Verified } else { Verdict::Ignored }
}
