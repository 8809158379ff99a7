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
mod index_cache;
mod indexed;
mod observe;
mod pull_error;
mod registry;
mod tree;
mod values;
mod verify;
mod wake;

use weir_api::{HelmChart, HelmRepository};
use weir_helm::Limits;
use weir_oci::Registries;
use weir_runtime::{Cache, ObjectKey};

use self::index_cache::IndexCache;
use self::observe::Origin;
use crate::catalog::Catalog;
use crate::helm_repository::Connector;
use crate::source::{Attempt, Failure, SourceReconciler, Success, Wiring};
use crate::storage::Storage;
use crate::verification::OciVerifier;

/// Keeps the packages of `HelmChart` objects equal to what their references stand for.
struct HelmChartReconciler {
    connector: Connector,
    verifier: OciVerifier,
    registries: Registries,
    storage: Storage,
    limits: Limits,
    /// All kinds of sources.
    catalog: Catalog,
    repositories: Cache<HelmRepository>,
    indexes: IndexCache,
}

/// Adds the loop of HelmCharts. The catalog is complete: charts come from several kinds.
pub(crate) fn start(
    wiring: &Wiring<'_>,
    (charts, repositories): (Cache<HelmChart>, Cache<HelmRepository>),
    catalog: &Catalog,
    connector: Connector,
    registries: Registries,
) {
    let args = wiring.args;
    let indexes = IndexCache::new(args.helm_cache_max_size, args.helm_cache_ttl.to_std());
    wiring.service.metrics().register(|registry| indexes.register(registry));
    indexes.purge(wiring.service, args.helm_cache_purge_interval.to_std());
    let counted = indexes.clone();
    repositories.on_change(move |change| {
        if let (Some(repository), None) = (&change.old, &change.new) {
            counted.forget(&ObjectKey::of(&**repository));
        }
    });
    let reconciler = HelmChartReconciler {
        connector,
        verifier: OciVerifier::new(wiring),
        registries,
        storage: wiring.storage.clone(),
        limits: args.helm_limits(),
        catalog: catalog.clone(),
        repositories,
        indexes,
    };
    let queue = wiring.control(charts.clone(), reconciler);
    wake::wake_by_sources(catalog, &charts, &queue);
}

impl SourceReconciler for HelmChartReconciler {
    type Object = HelmChart;

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, HelmChart>) -> Result<Success, Failure> {
        let origin = self.observe(attempt).await?;
        self.check_verifiable(attempt, matches!(origin, Origin::Registry { .. }))?;
        let order = decide::order(&attempt.object, attempt.known.as_ref(), origin.revision());
        let build = self.build(attempt, &origin, &order).await?;
        self.act(attempt, build).await
    }

    fn stored_message(success: &Success) -> String {
        success.message.clone()
    }

    fn forget(&self, key: &ObjectKey) {
        self.verifier.forget(key);
        self.indexes.forget(key);
    }
}
