//! Signatures of the artifact by someone who is trusted (SRC-OCI-22).

use weir_api::OciRepository;
use weir_oci::Registry;

use super::OciReconciler;
use super::observe::Target;
use crate::source::{Attempt, Failure};
use crate::verification::{Subject, Unverified, VERIFICATION_ERROR, refusal};

impl OciReconciler {
    /// Checks what the reference stands for, before anything of it is pulled.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, OciRepository>,
        registry: &mut Registry,
        target: &Target,
    ) -> Result<(), Failure> {
        let Some(spec) = attempt.object.spec.verify.clone() else {
            self.verifier.ignore(attempt);
            return Ok(());
        };
        let what = format!("revision {}", target.revision());
        let subject = Subject { what: &what, digest: &target.digest };
        let verified = self.verifier.verify(attempt, &spec, registry, subject).await;
        verified.map_err(|error| match error {
            Unverified::Trust(cause) | Unverified::Signature(cause) | Unverified::Unsigned(cause) => {
                let failure = Failure::verification(VERIFICATION_ERROR, refusal(&spec, cause));
                failure.after(registry.asked_wait())
            }
        })
    }
}
