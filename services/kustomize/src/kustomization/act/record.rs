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
    /// Adds objects that are about to be written to the inventory of the status, if it does not name all of them and has room for
    /// them; returns true unless it could not be written.
    async fn add(&self, written: Vec<Entry>) -> bool {
        let newest = Arc::clone(&self.newest.lock());
        let Some(entries) = recorded(inventory::entries(&newest), &self.known, &written) else { return true };
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

/// Returns the inventory that names objects before they are written; nothing where `named` has them all. Where a large Kustomization
/// renames its objects there is no room for both names of each: nothing is named before then, as in Flux.
fn recorded(named: Vec<Entry>, known: &[Entry], written: &[Entry]) -> Option<Vec<Entry>> {
    if weir_ssa::stale(written, &named).is_empty() {
        return None;
    }
    let entries = inventory::union(inventory::union(named, known), written);
    let fits = inventory::fits(&entries);
    if !fits {
        tracing::info!(
            objects = entries.len(),
            "the inventory names objects only once they are written: it has no room for old and new ones"
        );
    }
    fits.then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects with names as long as they may be.
    fn entries(prefix: &str, count: usize) -> Vec<Entry> {
        let entry = |index: usize| Entry {
            id: format!("apps_{prefix}{index:0>250}__ConfigMap").parse().unwrap(),
            version: "v1".to_owned(),
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn names_are_recorded_where_they_are_new_and_find_room() {
        let (few, more) = (entries("a", 2), entries("b", 2));
        assert_eq!(recorded(few.clone(), &[], &few), None);
        let both = recorded(few.clone(), &[], &more).unwrap();
        assert_eq!(both, [few, more].concat());
        let (old, new) = (entries("a", 3_000), entries("b", 3_000));
        assert!(recorded(Vec::new(), &[], &old).is_some(), "each of them fits");
        assert_eq!(recorded(old, &[], &new), None);
    }
}
