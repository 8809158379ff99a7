//! The inventory names objects before they are made (docs/adr/0022).

use std::sync::Arc;

use parking_lot::Mutex;
use weir_api::Kustomization;
use weir_api::kustomize::KustomizationStatus;
use weir_runtime::Run;
use weir_ssa::Entry;

use crate::kustomization::inventory;
use crate::kustomization::report::status_of;

/// The inventory that the status of a Kustomization has while its objects are made.
pub(super) struct Record<'a> {
    run: &'a Run<Kustomization>,
    /// The revision that the run applies (KS-REC-51).
    revision: &'a str,
    /// Objects that may be in the cluster already.
    known: Vec<Entry>,
    newest: Mutex<Arc<Kustomization>>,
}

impl<'a> Record<'a> {
    /// Nothing is recorded yet.
    pub(super) fn new(run: &'a Run<Kustomization>, revision: &'a str, known: Vec<Entry>) -> Self {
        Self { run, revision, known, newest: Mutex::new(Arc::clone(&run.object)) }
    }

    /// The status as it is now, if something was recorded.
    pub(super) fn status(self) -> Option<KustomizationStatus> {
        let newest = self.newest.into_inner();
        if Arc::ptr_eq(&newest, &self.run.object) { None } else { newest.status.clone() }
    }
}

impl weir_ssa::Record for Record<'_> {
    /// Adds objects that are about to be written to the inventory of the status, if it does not name all of them; returns
    /// true when it names them then.
    async fn add(&self, written: Vec<Entry>) -> bool {
        let newest = Arc::clone(&self.newest.lock());
        let named = inventory::entries(&newest);
        if weir_ssa::stale(&written, &named).is_empty() {
            return true;
        }
        let entries = inventory::union(inventory::union(named, &self.known), &written);
        let status = KustomizationStatus {
            inventory: Some(inventory::to_status(&entries)),
            last_attempted_revision: Some(self.revision.to_owned()),
            ..status_of(&newest)
        };
        let object = Kustomization { status: Some(status), ..Kustomization::clone(&self.run.object) };
        let Some(recorded) = self.run.record(object).await else { return false };
        *self.newest.lock() = recorded;
        true
    }
}
