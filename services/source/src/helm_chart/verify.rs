//! Signatures of a registry's chart by someone who is trusted (SRC-CHT-10). They are checked at every run, with
//! the digest that the version stands for, before anything is pulled. Charts that a chart needs are not verified.

use weir_api::HelmChart;
use weir_artifact::Digest;
use weir_oci::Registry;

use super::HelmChartReconciler;
use super::build::Step;
use crate::source::{Attempt, Failure};
use crate::verification::reason::VERIFICATION_ERROR;
use crate::verification::{Subject, Unverified};

impl HelmChartReconciler {
    /// Checks the manifest of a version.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        registry: &mut Registry,
        version: &str,
        digest: &Digest,
    ) -> Result<(), Failure> {
        let Some(spec) = attempt.object.spec.verify.clone() else { return Ok(()) };
        let what = format!("version {version}");
        self.verifier.forget(attempt.key());
        let verified = self.verifier.verify(attempt, &spec, registry, Subject { what: &what, digest }).await;
        verified.map_err(|error| match error {
            Unverified::Trust(message) => Failure::verification(VERIFICATION_ERROR, message),
            Unverified::Signature(message) => Step::Verification.failed(message),
        })
    }

    /// Says nothing of signatures that do not matter, and refuses to check those of an index, which has none
    /// (SRC-CHT-10).
    pub(super) fn check_verifiable(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        is_registry: bool,
    ) -> Result<(), Failure> {
        if attempt.object.spec.verify.is_none() {
            self.verifier.ignore(attempt);
            return Ok(());
        }
        if is_registry { Ok(()) } else { Err(Step::Verification.failed("not implemented")) }
    }
}
