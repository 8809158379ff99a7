//! `HelmChart` (SRC 8): a chart of a repository, a registry, or a tree of files, as one package.
//!
//! ```text
//!  HelmRepository ─► index ─► version ─► package ──────────────┐
//!  HelmRepository (oci) ─► tags ─► version ─► digest ─► layer ─┼─► values files ─► package ─► store
//!  GitRepository, Bucket ─► tree ─► directory ─► dependencies ─┘
//! ```

mod act;
mod build;
mod decide;
mod dependencies;
mod indexed;
mod observe;
mod registry;
mod tree;
mod verify;
mod wake;

use crate::catalog::Catalog;
use crate::helm_repository::Connector;
use crate::secrets::Secrets;
use crate::source::{Attempt, DEFAULT_TIMEOUT, Failure, Source, StatusParts, Success, finalize, suspended};
use crate::storage::Storage;
use crate::verification::Verdicts;
use std::time::Duration;
use weir_api::{HelmChart, HelmRepository};
use weir_helm::Limits;
use weir_oci::Registries;
use weir_runtime::{Cache, Finalized, ObjectKey, Outcome, Reconciler, Run};

use observe::Origin;

pub(crate) use indexed::IndexCache;
pub(crate) use wake::wake;

/// Keeps the packages of `HelmChart` objects equal to what their references stand for.
pub(crate) struct HelmChartReconciler {
    pub(crate) connector: Connector,
    pub(crate) secrets: Secrets,
    pub(crate) verdicts: Verdicts,
    pub(crate) registries: Registries,
    pub(crate) storage: Storage,
    pub(crate) limits: Limits,
    /// All kinds of sources.
    pub(crate) catalog: Catalog,
    pub(crate) repositories: Cache<HelmRepository>,
    pub(crate) indexes: IndexCache,
    /// Time between looks at a source that has no artifact; its watch is faster.
    pub(crate) requeue: Duration,
}

impl Source for HelmChart {
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
        success.message.clone()
    }

    /// Charts have no timeout of their own: that of their repository counts (SRC 8.1).
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }
}

impl Reconciler for HelmChartReconciler {
    type Object = HelmChart;

    async fn reconcile(&self, run: Run<HelmChart>) -> Outcome<HelmChart> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        attempt.end(result)
    }

    async fn suspended(&self, object: &HelmChart) -> Option<HelmChart> {
        suspended(&self.storage, object).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.verdicts.forget(key);
    }

    async fn finalize(&self, run: Run<HelmChart>) -> Finalized<HelmChart> {
        finalize(&self.storage, &*run.object).await
    }
}

impl HelmChartReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, HelmChart>) -> Result<Success, Failure> {
        let origin = self.observe(attempt).await?;
        self.check_verifiable(attempt, matches!(origin, Origin::Registry { .. }))?;
        let order = decide::order(&attempt.object, attempt.known.as_ref(), origin.revision());
        let build = self.build(attempt, &origin, &order).await?;
        self.act(attempt, build).await
    }
}
