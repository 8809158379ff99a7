//! Whether a chart of a registry is signed by someone who is trusted (SRC-CHT-10). It is asked at every run, with the digest
//! that the version stands for, before anything is pulled. Charts that a chart needs are not verified.

use super::HelmChartReconciler;
use crate::source::{Attempt, Failure};
use crate::verification::{OciTrust, VERIFICATION_ERROR, Verdict};
use weir_api::HelmChart;
use weir_api::condition_type::SOURCE_VERIFIED;
use weir_artifact::Digest;
use weir_oci::Registry;
use weir_runtime::{EventDraft, condition};

/// Signatures of anyone are taken.
const ANYONE: &str = "AnyIdentityTrusted";

/// A chart that must be signed and is not, or cannot be checked.
fn failure(why: &str) -> Failure {
    Failure::verification(VERIFICATION_ERROR, format!("chart verification error: {why}"))
}

impl HelmChartReconciler {
    /// Checks the manifest of a version, if it was not checked with the same keys before.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        registry: &mut Registry,
        version: &str,
        digest: &Digest,
    ) -> Result<(), Failure> {
        let Some(spec) = attempt.object.spec.verify.clone() else { return Ok(()) };
        let trust = OciTrust::read(&self.secrets, attempt.key(), &spec).await.map_err(|why| failure(&why))?;
        let generation = attempt.object.metadata.generation.unwrap_or_default();
        let evidence = trust.evidence(&format!("{version}@{digest}"), generation);
        if self.verdicts.hold(attempt.key(), &evidence) && !has_failed(&attempt.object) {
            return Ok(());
        }
        if trust.takes_anyone() {
            let message =
                "spec.verify names no key and no matchOIDCIdentity: a signature of any identity is accepted";
            attempt.remark(EventDraft::error(ANYONE, message));
        }
        let now = attempt.run.now;
        let verdict =
            trust.verify(registry, digest, &self.storage, now).await.map_err(|why| failure(&why))?;
        match verdict {
            Verdict::Verified => attempt.verified(&format!("verified signature of version {version}")),
            Verdict::Ignored => attempt.not_verified(),
        }
        self.verdicts.note(attempt.key(), evidence);
        Ok(())
    }

    /// Says nothing of signatures that do not matter, and refuses to check those of an index, which has none
    /// (SRC-CHT-10).
    pub(super) fn check_verifiable(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        is_registry: bool,
    ) -> Result<(), Failure> {
        if attempt.object.spec.verify.is_none() {
            attempt.not_verified();
            self.verdicts.forget(attempt.key());
            return Ok(());
        }
        if is_registry { Ok(()) } else { Err(failure("not implemented")) }
    }
}

/// Whether the last verification failed: it is done again although nothing changed, for the signature may be there now.
fn has_failed(object: &HelmChart) -> bool {
    let conditions = object.status.as_ref().map_or(&[][..], |status| status.conditions.as_slice());
    condition::find(conditions, SOURCE_VERIFIED).is_some_and(|found| found.status == "False")
}
