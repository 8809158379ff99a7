//! `OCIRepository` (SRC 5).

mod act;
mod decide;
mod observe;
mod verify;

use crate::secrets::Secrets;
use crate::source::{Attempt, DEFAULT_TIMEOUT, Failure, Source, StatusParts, Success, finalize, suspended};
use crate::storage::Storage;
use crate::verification::Verdicts;
use weir_api::{Artifact, Duration, FluxObject, OciRepository};
use weir_auth::Logins;
use weir_oci::Registries;
use weir_runtime::{EventDraft, Finalized, ObjectKey, Outcome, Reconciler, Run};

/// Keeps the artifacts of `OCIRepository` objects equal to what their references stand for.
pub(crate) struct OciReconciler {
    pub(crate) registries: Registries,
    pub(crate) logins: Logins,
    pub(crate) secrets: Secrets,
    pub(crate) storage: Storage,
    pub(crate) verdicts: Verdicts,
}

impl Source for OciRepository {
    fn status_mut(&mut self) -> StatusParts<'_> {
        let status = self.status.get_or_insert_default();
        StatusParts {
            conditions: &mut status.conditions,
            artifact: &mut status.artifact,
            observed_generation: &mut status.observed_generation,
            url: Some(&mut status.url),
        }
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact for digest '{}'", success.artifact.revision)
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}

impl Reconciler for OciReconciler {
    type Object = OciRepository;

    async fn reconcile(&self, run: Run<OciRepository>) -> Outcome<OciRepository> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        attempt.end(result)
    }

    async fn suspended(&self, object: &OciRepository) -> Option<OciRepository> {
        suspended(&self.storage, object).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.verdicts.forget(key);
        self.logins.forget(OciRepository::KIND, &key.namespace, &key.name);
    }

    async fn finalize(&self, run: Run<OciRepository>) -> Finalized<OciRepository> {
        finalize(&self.storage, &*run.object).await
    }
}

impl OciReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, OciRepository>) -> Result<Success, Failure> {
        let mut registry = self.observe(attempt).await?;
        let wanted = decide::wanted(attempt.object.spec.reference.as_ref());
        let target = observe::resolve(&mut registry, &wanted, &attempt.object.spec).await?;
        self.verify(attempt, &mut registry, &target).await?;
        match decide::reusable(&attempt.object, attempt.known.as_ref(), &target.revision()) {
            Some(known) => Ok(unchanged(known.clone(), &attempt.object.spec.url)),
            None => self.act(attempt, &mut registry, target).await,
        }
    }
}

/// The result when the registry has nothing new (SRC-OCI-6).
fn unchanged(artifact: Artifact, url: &str) -> Success {
    let told = format!("artifact up-to-date with remote revision: '{}'", artifact.revision);
    let message = decide::stored_event(&artifact, url);
    Success {
        unchanged: Some(EventDraft::trace("ArtifactUpToDate", told)),
        ..Success::new(artifact, message)
    }
}
