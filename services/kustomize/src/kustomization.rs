//! The kind Kustomization: observe → decide → act → report.
//!
//! ```text
//!            ┌ source, dependencies, variables, memory, ledger
//! observe ───┘
//!    └► decide ─► Plan: why nothing is done, or the work to do
//!         └► act ─► Done: how far the run has come
//!              └► report ─► status, events, next run
//! ```
//!
//! A run that waits for health returns; the ledger wakes it when an object's status changes.

mod act;
mod attempt;
mod change_log;
mod circle;
mod conflict;
mod decide;
mod expression;
mod extent;
mod failure;
mod finalize;
#[cfg(test)]
pub(crate) mod fixtures;
mod health;
mod inventory;
mod keys;
mod memory;
mod observe;
mod prune_limit;
mod report;
mod successor;
mod wake;

use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use prometheus_client::metrics::counter::Counter;
use weir_api::Kustomization;
use weir_runtime::{Cache, Finalized, ObjectKey, Outcome, Reconciler, Run};
use weir_ssa::GroupKind;

pub(crate) use self::failure::Failure;
pub use self::finalize::deletes;
pub(crate) use self::inventory::entries;
pub(crate) use self::keys::Keys;
pub(crate) use self::memory::Memory;
pub(crate) use self::observe::dependencies_of;
pub(crate) use self::prune_limit::PruneLimit;
pub use self::prune_limit::prune_refusal;
pub use self::wake::in_order;
pub(crate) use self::wake::{
    SECRET, configs_of, wake_by_child, wake_by_config, wake_by_confirmation, wake_by_dependency,
    wake_by_source,
};
use crate::builds::Builds;
use crate::cluster::{Clusters, owner_of};
use crate::fetch::Artifacts;
use crate::source::Sources;

/// Settings of all Kustomizations, from the flags.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) requeue_dependency: weir_api::Duration,
    /// The only namespace whose Kustomizations are watched; nothing where all are.
    pub(crate) watched: Option<String>,
    pub(crate) no_cross_namespace_refs: bool,
    pub(crate) has_external_artifacts: bool,
    pub(crate) workload_identity: bool,
    /// True when a `readyExpr` comes on top of the built-in checks instead of in their place (KS-DEP-4).
    pub(crate) adds_ready_expr: bool,
    pub(crate) is_strict: bool,
    pub(crate) fails_fast: bool,
    pub(crate) concurrent_ssa: usize,
    pub(crate) overridden_managers: Vec<String>,
    pub(crate) custom_stage: Vec<GroupKind>,
    pub(crate) overtaken: Overtaken,
    /// True when managers of other versions of an object's API are migrated (KS-SSA-22).
    pub(crate) migrates_versions: bool,
    /// True when the log groups objects by what was done to them (KS-SSA-92).
    pub(crate) groups_change_log: bool,
    pub(crate) prune_limit: PruneLimit,
}

/// The end of a health check that a new revision or a changed Secret or ConfigMap overtakes (KS-HC-30 to KS-HC-32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overtaken {
    /// It gives way at once.
    GivesWay,
    /// It gives way, and condition and event say so (the gate is on).
    Cancels,
    /// It goes on to its end; the newer run follows then (an operator has turned the gate off).
    GoesOn,
}

/// Brings clusters in line with Kustomizations. Clones share everything.
#[derive(Clone)]
pub(crate) struct KustomizationReconciler {
    pub(crate) settings: Settings,
    /// The service's own client, for what is not done on behalf of anyone (KS-IMP-2).
    pub(crate) client: Client,
    pub(crate) kustomizations: Cache<Kustomization>,
    pub(crate) sources: Sources,
    pub(crate) artifacts: Artifacts,
    pub(crate) clusters: Clusters,
    pub(crate) memory: Arc<Memory>,
    pub(crate) announcements: Arc<health::Announcements>,
    pub(crate) builds: Builds,
    pub(crate) keys: Keys,
    /// Counts the stages of applies whose objects an inventory had no room to name before they were made.
    pub(crate) unnamed: Counter,
}

impl Reconciler for KustomizationReconciler {
    type Object = Kustomization;

    /// Applied objects belong to `kustomize-controller`; statuses have a manager of their own (KS-REC-33).
    const FIELD_MANAGER: Option<&'static str> = Some("gotk-kustomize-controller");

    async fn suspended(&self, object: &Kustomization) -> Option<Kustomization> {
        tracing::info!("Reconciliation is suspended for this object");
        report::left(object)
    }

    /// A health check ends by its result: else the status would say for good that it goes on.
    fn outlasts_suspension(&self, key: &ObjectKey) -> bool {
        self.memory.waits(key)
    }

    async fn reconcile(&self, run: Run<Kustomization>) -> Outcome<Kustomization> {
        self.memory.begin(&run.key, run.object.metadata.uid.as_deref());
        let source = self.look(&run.object).await;
        let observed = self.observe(&run.object, source, &run.causes).await;
        let plan = decide::decide(&observed, &self.settings);
        self.memory.decided(&run.key, plan.awaits_dependencies());
        let done = self.act(&run, &observed, plan).await;
        self.remember(&run, &observed, &done);
        let now = report::Moment { time: run.now, instant: Instant::now() };
        report::report(&run.object, now, &self.settings, done)
    }

    async fn finalize(&self, run: Run<Kustomization>) -> Finalized<Kustomization> {
        self.memory.begin(&run.key, run.object.metadata.uid.as_deref());
        self.delete_applied(&run).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.memory.forget(key);
        self.clusters.forget(key);
    }
}

impl KustomizationReconciler {
    fn owner(&self, kustomization: &Kustomization) -> weir_ssa::Owner {
        owner_of(ObjectKey::of(kustomization))
    }
}
