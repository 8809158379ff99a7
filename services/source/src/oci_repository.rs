//! `OCIRepository` (SRC 5).

mod act;
mod decide;
mod observe;

use crate::secrets::Secrets;
use crate::source::{Attempt, Failure, Success, finalize, shown_suspended};
use crate::storage::Storage;
use weir_api::{Artifact, OciRepository};
use weir_auth::TokenCache;
use weir_oci::Registries;
use weir_runtime::{EventDraft, Finalized, Outcome, Reconciler, Run};

/// Keeps the artifacts of `OCIRepository` objects equal to what their references stand for.
pub(crate) struct OciReconciler {
    pub(crate) registries: Registries,
    pub(crate) logins: TokenCache,
    pub(crate) secrets: Secrets,
    pub(crate) storage: Storage,
    /// Whether objects may act with an identity of their own.
    pub(crate) workload_identity: bool,
}

impl Reconciler for OciReconciler {
    type Object = OciRepository;

    async fn reconcile(&self, run: Run<OciRepository>) -> Outcome<OciRepository> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        attempt.end(result)
    }

    fn suspended(object: &OciRepository) -> Option<OciRepository> {
        shown_suspended(object)
    }

    async fn finalize(&self, run: Run<OciRepository>) -> Finalized<OciRepository> {
        finalize(&self.storage, &*run.object).await
    }
}

impl OciReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, OciRepository>) -> Result<Success, Failure> {
        decide::refuse_unsupported(&attempt.object.spec)?;
        let mut registry = self.observe(attempt).await?;
        let wanted = decide::wanted(attempt.object.spec.reference.as_ref());
        let target = observe::resolve(&mut registry, &wanted, &attempt.object.spec).await?;
        match decide::reusable(&attempt.object, attempt.known.as_ref(), &target.revision()) {
            Some(known) => Ok(unchanged(known.clone(), &attempt.object.spec.url)),
            None => self.act(attempt, &mut registry, target).await,
        }
    }
}

/// The result when the registry has nothing new (SRC-OCI-6).
fn unchanged(artifact: Artifact, url: &str) -> Success {
    let told = format!("artifact up-to-date with remote revision: '{}'", artifact.revision);
    Success {
        message: decide::stored_event(&artifact, url),
        unchanged: Some(EventDraft::trace("ArtifactUpToDate", told)),
        artifact,
    }
}
