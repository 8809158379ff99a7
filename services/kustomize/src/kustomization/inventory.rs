//! The inventory as the status has it, and as the apply engine does.

use std::collections::HashSet;

use weir_api::Kustomization;
use weir_api::kustomize::{Inventory, InventoryEntry};
use weir_ssa::Entry;

use crate::build::fit_into_status;

/// The entries of the status. An id that cannot be read stays in the cluster: it is left out and logged.
pub(crate) fn entries(kustomization: &Kustomization) -> Vec<Entry> {
    let inventory = kustomization.status.as_ref().and_then(|status| status.inventory.as_ref());
    let entries = inventory.map(|inventory| inventory.entries.as_slice()).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| match entry.id.parse() {
            Ok(id) => Some(Entry { id, version: entry.version.clone() }),
            Err(error) => {
                tracing::error!(%error, "inventory entry is not usable");
                None
            }
        })
        .collect()
}

/// The inventory as the last apply has left it: that of a run that waits is newer than that of the status.
pub(crate) fn current(kustomization: &Kustomization, unwritten: Option<&[Entry]>) -> Vec<Entry> {
    unwritten.map_or_else(|| entries(kustomization), <[Entry]>::to_vec)
}

/// The entries as they are written to the status.
pub(crate) fn to_status(entries: &[Entry]) -> Inventory {
    let entry = |entry: &Entry| InventoryEntry { id: entry.id.to_string(), version: entry.version.clone() };
    Inventory { entries: entries.iter().map(entry).collect() }
}

/// Returns true when a status has room for all entries.
pub(crate) fn fits(entries: &[Entry]) -> bool {
    fit_into_status(entries.iter().map(|entry| (&entry.id, entry.version.as_str())))
}

/// Both lists, without repetition: what may be in the cluster when a newer list is not yet in the status.
pub(crate) fn union(old: Vec<Entry>, newer: &[Entry]) -> Vec<Entry> {
    let known: HashSet<_> = old.iter().map(|entry| entry.id.clone()).collect();
    let more = newer.iter().filter(|entry| !known.contains(&entry.id)).cloned();
    let more: Vec<Entry> = more.collect();
    old.into_iter().chain(more).collect()
}
