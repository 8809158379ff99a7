//! Signatures of a registry's chart by someone who is trusted (SRC-CHT-10). They are checked at every run, with
//! the digest that the version stands for, before anything is pulled. Charts that a chart needs are not verified.

use weir_api::HelmChart;
use weir_api::source::OciRepositoryVerification;
use weir_artifact::Digest;
use weir_oci::Registry;

use super::HelmChartReconciler;
use super::build::Step;
use super::pull_error::ChartReference;
use crate::source::{Attempt, Failure};
use crate::verification::{NOTATION, Subject, Unverified, VERIFICATION_ERROR, lacks_secret, refusal};

impl HelmChartReconciler {
    /// Checks the manifest of a version. The chart that is made of it has `version`.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        registry: &mut Registry,
        reference: &ChartReference,
        version: &str,
        digest: &Digest,
    ) -> Result<(), Failure> {
        let Some(spec) = attempt.object.spec.verify.clone() else { return Ok(()) };
        check_secret(&spec, &attempt.key().name)
            .map_err(|message| Failure::verification(VERIFICATION_ERROR, message))?;
        let what = format!("version {version}");
        self.verifier.recheck(attempt.key());
        let verified = self.verifier.verify(attempt, &spec, registry, Subject { what: &what, digest }).await;
        let unsigned = |cause: &str| {
            let failure = Step::Verification.failed(format!("failed to verify {}: {cause}", reference.url()));
            failure.after(registry.asked_wait())
        };
        verified.map_err(|error| match error {
            Unverified::Trust(cause) => Failure::verification(VERIFICATION_ERROR, refusal(&spec, cause)),
            // Told by the chart's address, not by the provider.
            Unverified::Signature(cause) => unsigned(&cause),
            Unverified::Unsigned(_) => unsigned("no signatures found"),
        })
    }

    /// Refuses to verify a chart of a repository with an index: only registries have signatures (SRC-CHT-10). Without
    /// `spec.verify`, takes what an earlier spec has left about signatures out of the status.
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

/// Refuses a provider that cannot do without a Secret.
fn check_secret(spec: &OciRepositoryVerification, name: &str) -> Result<(), String> {
    if spec.provider == NOTATION && spec.secret_ref.is_none() {
        return Err(refusal(spec, lacks_secret(name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const REFUSED: &str = "failed to verify the signature using provider 'notation': verification secret cannot be empty: 'app'";

    #[rstest]
    #[case::notation("notation", None, Err(REFUSED))]
    #[case::notation_with_a_secret("notation", Some("trust"), Ok(()))]
    #[case::keyless("cosign", None, Ok(()))]
    fn secrets(#[case] provider: &str, #[case] secret: Option<&str>, #[case] expected: Result<(), &str>) {
        let secret_ref = secret.map(Into::into);
        let provider = provider.to_owned();
        let spec = OciRepositoryVerification { provider, secret_ref, ..OciRepositoryVerification::default() };
        assert_eq!(check_secret(&spec, "app"), expected.map_err(str::to_owned));
    }
}
