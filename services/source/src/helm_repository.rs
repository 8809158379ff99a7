//! `HelmRepository` (SRC 7). Those of the type `oci` are static: charts refer to them, nothing is fetched for them.

mod act;
mod connect;
mod decide;

use crate::source::{Attempt, DEFAULT_TIMEOUT, Failure, Source, StatusParts, Success, finalize, suspended};
use crate::storage::Storage;
use weir_api::{Duration, HelmRepository};
use weir_helm::Limits;
use weir_runtime::{Finalized, Outcome, Reconciler, Run};

pub(crate) use connect::Connector;
pub(crate) use decide::is_oci;

/// Keeps the indexes of `HelmRepository` objects equal to what their servers have.
pub(crate) struct HelmRepositoryReconciler {
    pub(crate) connector: Connector,
    pub(crate) storage: Storage,
    pub(crate) limits: Limits,
}

impl Source for HelmRepository {
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
        format!("stored artifact: revision '{}'", success.artifact.revision)
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}

impl Reconciler for HelmRepositoryReconciler {
    type Object = HelmRepository;

    fn is_static(object: &HelmRepository) -> bool {
        is_oci(object)
    }

    async fn reconcile(&self, run: Run<HelmRepository>) -> Outcome<HelmRepository> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        decide::with_interval(attempt.end(result))
    }

    async fn suspended(&self, object: &HelmRepository) -> Option<HelmRepository> {
        suspended(&self.storage, object).await
    }

    async fn finalize(&self, run: Run<HelmRepository>) -> Finalized<HelmRepository> {
        finalize(&self.storage, &*run.object).await
    }
}

impl HelmRepositoryReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, HelmRepository>) -> Result<Success, Failure> {
        let repository = self.connector.open(attempt.key(), &attempt.object).await?;
        let fetched =
            repository.index(self.limits.index).await.map_err(|error| decide::fetch_failure(&error))?;
        let revision = format!("sha256:{}", fetched.sha256());
        match attempt.known.clone().filter(|known| known.revision == revision) {
            Some(known) => Ok(decide::unchanged(known, &attempt.object.spec.url)),
            None => self.act(attempt, fetched, revision).await,
        }
    }
}
