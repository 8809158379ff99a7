//! Notation: signatures that refer to the artifact, judged by the trust policy of a Secret (SRC-OCI-26).

use super::{NamedSecret, OciTrust, Verdict};
use crate::storage::Storage;
use jiff::Timestamp;
use std::sync::Arc;
use weir_artifact::Digest;
use weir_oci::Registry;
use weir_verify::notation::{
    Certificates, MAX_ATTEMPTS, MAX_ENVELOPE_BYTES, Outcome, SIGNATURE_TYPE, SignatureEnvelope, TrustPolicy,
};

const POLICY_KEY: &str = "trustpolicy.json";

/// Judges the first signatures in the registry's order until one is good.
pub(super) async fn verify(
    trust: &OciTrust,
    registry: &mut Registry,
    reference: &str,
    digest: &Digest,
    storage: &Storage,
    now: Timestamp,
) -> Result<Verdict, String> {
    let NamedSecret { place, data } =
        trust.secret.as_ref().ok_or_else(|| format!("verification secret cannot be empty: '{reference}'"))?;
    let policy =
        data.get(POLICY_KEY).ok_or_else(|| format!("'{POLICY_KEY}' not found in secret '{place}'"))?;
    let policy = TrustPolicy::parse(policy).map_err(|error| error.to_string())?;
    for warning in &policy.warnings {
        tracing::warn!(secret = place, "{warning}");
    }
    let certificates = Certificates::from_secret(data)?;
    let certificates = certificates.ok_or_else(|| format!("no certificates found in secret '{place}'"))?;
    let repository = registry.repository().to_string();
    let statement = policy.statement(&repository, reference).map_err(|error| error.to_string())?.clone();
    if statement.skips() {
        return Ok(Verdict::Ignored);
    }
    let found = registry.referrers(digest).await.map_err(|error| error.to_string())?;
    let found: Vec<Digest> = found
        .into_iter()
        .filter(|found| found.artifact_type == SIGNATURE_TYPE)
        .map(|found| found.digest)
        .collect();
    if found.is_empty() {
        return Err(format!(
            "no signature is associated with \"{reference}\", make sure the artifact was signed successfully"
        ));
    }
    let judge = Arc::new((statement, certificates, digest.to_string()));
    for manifest in found.iter().take(MAX_ATTEMPTS) {
        let Some(signature) = envelope(registry, manifest).await? else { continue };
        let judge = judge.clone();
        let judged = storage.blocking(move || judge.0.verify(&judge.1, &signature, &judge.2, now)).await;
        match judged.map_err(|error| error.to_string())? {
            Ok(outcome) => return Ok(verdict(reference, outcome)),
            Err(error) => tracing::info!(artifact = reference, %manifest, error, "signature is not good"),
        }
    }
    if found.len() > MAX_ATTEMPTS {
        return Err(format!(
            "signature evaluation stopped. The configured limit of {MAX_ATTEMPTS} signatures to verify per artifact exceeded"
        ));
    }
    Err(format!("signature verification failed for all the signatures associated with {reference}"))
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
