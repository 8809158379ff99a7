//! Signatures of a registry's chart by someone who is trusted (SRC-CHT-10). They are checked at every run, with
//! the digest that the version stands for, before anything is pulled. Charts that a chart needs are not verified.

use weir_api::HelmChart;
use weir_artifact::Digest;
use weir_oci::Registry;

use super::HelmChartReconciler;
use super::build::Step;
use super::pull_error::ChartReference;
use crate::source::{Attempt, Failure};
use crate::verification::reason::VERIFICATION_ERROR;
use crate::verification::{Subject, Unverified};

const NOTATION: &str = "notation";
/// Start of a message of the verifier, up to the provider's name.
const FAILED: &str = "failed to verify the signature using provider '";

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
        if spec.provider == NOTATION && spec.secret_ref.is_none() {
            let name = &attempt.key().name;
            let message = format!("{FAILED}{NOTATION}': verification secret cannot be empty: '{name}'");
            return Err(Failure::verification(VERIFICATION_ERROR, message));
        }
        let what = format!("version {version}");
        self.verifier.recheck(attempt.key());
        let verified = self.verifier.verify(attempt, &spec, registry, Subject { what: &what, digest }).await;
        let unsigned =
            |cause: &str| Step::Verification.failed(format!("failed to verify {}: {cause}", reference.url()));
        verified.map_err(|error| match error {
            Unverified::Trust(message) => Failure::verification(VERIFICATION_ERROR, message),
            Unverified::Signature(message) => unsigned(cause(&message)),
            Unverified::Unsigned(_) => unsigned("no signatures found"),
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

/// Returns the cause in a message of the verifier, which names its provider first. Charts are told by their address instead.
fn cause(message: &str) -> &str {
    let named = message.strip_prefix(FAILED);
    named.and_then(|rest| rest.split_once("': ")).map_or(message, |(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("failed to verify the signature using provider 'cosign keyless': no: 'x': y", "no: 'x': y")]
    #[case("no signatures found", "no signatures found")]
    fn causes(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(cause(message), expected);
    }
}
