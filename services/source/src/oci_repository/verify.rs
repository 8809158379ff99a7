//! Whether the artifact is signed by someone who is trusted (SRC-OCI-22).

use super::OciReconciler;
use super::observe::Target;
use crate::source::{Attempt, Failure};
use crate::verification::{OciTrust, VERIFICATION_ERROR, Verdict};
use weir_api::OciRepository;
use weir_oci::Registry;

impl OciReconciler {
    /// Checks what the reference stands for, before anything of it is pulled, if it was not checked with the same keys
    /// before. Nothing is said of signatures that do not matter.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, OciRepository>,
        registry: &mut Registry,
        target: &Target,
    ) -> Result<(), Failure> {
        let Some(spec) = attempt.object.spec.verify.clone() else {
            attempt.not_verified();
            self.verdicts.forget(attempt.key());
            return Ok(());
        };
        let failed = |message: String| Failure::verification(VERIFICATION_ERROR, message);
        let trust = OciTrust::read(&self.secrets, attempt.key(), &spec).await.map_err(failed)?;
        let revision = target.revision();
        let generation = attempt.object.metadata.generation.unwrap_or_default();
        let evidence = trust.evidence(&revision, generation);
        if self.verdicts.hold(attempt.key(), &evidence) && !attempt.was_refuted() {
            return Ok(());
        }
        attempt.warn_of_anyone(&trust);
        let now = attempt.run.now;
        let verdict = trust.verify(registry, &target.digest, &self.storage, now).await;
        let verdict = verdict.map_err(|error| failed(error.into_message()))?;
        match verdict {
            Verdict::Verified => attempt.verified(&format!("verified signature of revision {revision}")),
            Verdict::Ignored => attempt.not_verified(),
        }
        self.verdicts.note(attempt.key(), evidence);
        Ok(())
    }
}
