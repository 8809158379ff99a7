//! The inventory names objects before they are made (docs/adr/0022).

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
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
    /// Counts the times that there was no room for all names.
    unnamed: &'a Counter,
}

impl<'a> Record<'a> {
    /// Nothing is recorded yet.
    pub(super) fn new(
        run: &'a Run<Kustomization>,
        revision: &'a str,
        known: Vec<Entry>,
        unnamed: &'a Counter,
    ) -> Self {
        Self { run, revision, known, newest: Mutex::new(Arc::clone(&run.object)), unnamed }
    }

    /// The status as it is now, if something was recorded.
    pub(super) fn status(self) -> Option<KustomizationStatus> {
        let newest = self.newest.into_inner();
        if Arc::ptr_eq(&newest, &self.run.object) { None } else { newest.status.clone() }
    }
}

impl weir_ssa::Record for Record<'_> {
    /// Adds objects that are about to be written to the inventory of the status, as far as it has room for them. Returns false when the status
    /// could not be written.
    async fn add(&self, written: Vec<Entry>) -> bool {
        let newest = Arc::clone(&self.newest.lock());
        let named = inventory::entries(&newest);
        let Some(entries) = recorded(named, &self.known, &written, self.unnamed) else { return true };
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

/// Returns the inventory that names objects before they are written; nothing where `named` has all of them for which there is room. Where
/// a large Kustomization renames its objects, the names of the last ones come with the end of the run, as in Flux.
fn recorded(named: Vec<Entry>, known: &[Entry], written: &[Entry], unnamed: &Counter) -> Option<Vec<Entry>> {
    if weir_ssa::stale(written, &named).is_empty() {
        return None;
    }
    let before = named.len();
    let mut entries = inventory::union(inventory::union(named, known), written);
    let (all, room) = (entries.len(), inventory::room(&entries));
    if room < all {
        unnamed.inc();
        tracing::info!(left_out = all - room, "the inventory names some objects only once they are written");
        entries.truncate(room);
    }
    (room > before).then_some(entries)
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
        let unnamed = Counter::default();
        assert_eq!(recorded(few.clone(), &[], &few, &unnamed), None);
        let both = recorded(few.clone(), &[], &more, &unnamed).unwrap();
        assert_eq!(both, [few, more].concat());
        assert_eq!(unnamed.get(), 0);
        let (old, new) = (entries("a", 3_000), entries("b", 3_000));
        let named = recorded(old.clone(), &[], &new, &unnamed).unwrap();
        assert_eq!(unnamed.get(), 1);
        let all = [old, new.clone()].concat();
        assert!(named.len() > 3_000 && named.len() < all.len() && all.starts_with(&named));
        assert_eq!(recorded(named, &[], &new, &unnamed), None, "there is no more room");
        assert_eq!(unnamed.get(), 2);
    }
}
