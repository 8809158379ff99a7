//! Whether a chart of a registry is signed by someone who is trusted (SRC-CHT-10). It is asked at every run, with the digest
//! that the version stands for, before anything is pulled. Charts that a chart needs are not verified.

use super::HelmChartReconciler;
use super::build::Step;
use crate::source::{Attempt, Failure};
use crate::verification::{OciTrust, Unverified, VERIFICATION_ERROR, Verdict};
use weir_api::HelmChart;
use weir_artifact::Digest;
use weir_oci::Registry;

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
        let distrusted = |message: String| Failure::verification(VERIFICATION_ERROR, message);
        let trust = OciTrust::read(&self.secrets, attempt.key(), &spec).await.map_err(distrusted)?;
        let generation = attempt.object.metadata.generation.unwrap_or_default();
        let evidence = trust.evidence(&format!("{version}@{digest}"), generation);
        if self.verdicts.hold(attempt.key(), &evidence) && !attempt.was_refuted() {
            return Ok(());
        }
        attempt.warn_of_anyone(&trust);
        match trust.verify(registry, digest, &self.storage, attempt.run.now).await {
            Ok(Verdict::Verified) => attempt.verified(&format!("verified signature of version {version}")),
            Ok(Verdict::Ignored) => attempt.not_verified(),
            Err(Unverified::Trust(message)) => return Err(distrusted(message)),
            Err(Unverified::Signature(message)) => return Err(Step::Verification.failed(message)),
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
        if is_registry { Ok(()) } else { Err(Step::Verification.failed("not implemented")) }
    }
}
