//! The inventory as the status has it, and as the apply engine does.

use std::collections::HashSet;

use weir_api::Kustomization;
use weir_api::kustomize::{Inventory, InventoryEntry};
use weir_ssa::{Entry, Manifest};

use crate::room;

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

/// The entries as they are written to the status: as many of the first as it has room for. The write of a larger one would fail, and
/// with it all that the status tells.
pub(crate) fn to_status(entries: &[Entry]) -> Inventory {
    let entry = |entry: &Entry| InventoryEntry { id: entry.id.to_string(), version: entry.version.clone() };
    Inventory { entries: entries.iter().take(room(entries)).map(entry).collect() }
}

/// Returns how many of the entries, from the first on, a status has room for.
pub(crate) fn room(entries: &[Entry]) -> usize {
    room::for_first(entries.iter().map(|entry| (&entry.id, entry.version.as_str())))
}

/// Names what is in the cluster while old objects are left. Where a status has no room for both, the old ones come first: nothing but an
/// inventory leads to them, and the next run makes the new ones known again.
pub(crate) fn with_old(mut new: Vec<Entry>, mut old: Vec<Entry>) -> Vec<Entry> {
    let both = [new.as_slice(), old.as_slice()].concat();
    if room(&both) == both.len() {
        return both;
    }
    old.append(&mut new);
    old
}

/// Returns the entries that are in none of the manifests. A build may give a namespace to an object of cluster scope, which an
/// inventory names without one (KS-SSA-27).
pub(crate) fn unwanted(known: &[Entry], manifests: &[Manifest]) -> Vec<Entry> {
    let entry =
        |manifest: &Manifest| Entry { id: manifest.id().clone(), version: manifest.version().to_owned() };
    let mut wanted: Vec<Entry> = manifests.iter().map(entry).collect();
    let stale = weir_ssa::stale(known, &wanted);
    wanted.iter_mut().for_each(|entry| entry.id.namespace.clear());
    weir_ssa::stale(&stale, &wanted)
}

/// Both lists, without repetition: what may be in the cluster when a newer list is not yet in the status.
pub(crate) fn union(old: Vec<Entry>, newer: &[Entry]) -> Vec<Entry> {
    let known: HashSet<_> = old.iter().map(|entry| entry.id.clone()).collect();
    let more = newer.iter().filter(|entry| !known.contains(&entry.id)).cloned();
    let more: Vec<Entry> = more.collect();
    old.into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// ConfigMaps with names as long as they may be.
    fn manifests(prefix: &str, count: usize) -> Vec<Manifest> {
        let manifest = |index: usize| {
            let name = format!("{prefix}{index:0>250}");
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "apps"}});
            Manifest::try_from(object).unwrap()
        };
        (0..count).map(manifest).collect()
    }

    fn entries(prefix: &str, count: usize) -> Vec<Entry> {
        let manifests = manifests(prefix, count);
        manifests.iter().map(|it| Entry { id: it.id().clone(), version: "v1".to_owned() }).collect()
    }

    #[test]
    fn old_objects_are_named_first_where_there_is_no_room_for_all() {
        let (new, old) = (entries("b", 3), entries("a", 2));
        assert_eq!(with_old(new.clone(), old.clone()), [new, old].concat());
        let (new, old) = (entries("b", 3_000), entries("a", 3_000));
        let written = to_status(&with_old(new.clone(), old.clone())).entries;
        assert!((3_001..6_000).contains(&written.len()), "{}", written.len());
        let ids: Vec<_> = written.into_iter().map(|entry| entry.id).collect();
        let expected = old.iter().chain(&new).map(|entry| entry.id.to_string());
        assert_eq!(ids, expected.take(ids.len()).collect::<Vec<_>>());
    }

    #[test]
    fn what_no_manifest_has_is_unwanted() {
        assert_eq!(unwanted(&entries("a", 9), &manifests("a", 9)), []);
        let mut known = entries("a", 9);
        known.push(Entry { id: "_team__ConfigMap".parse().unwrap(), version: "v1".to_owned() });
        let mut new = manifests("b", 3);
        let namespaced =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "team", "namespace": "x"}});
        new.push(Manifest::try_from(namespaced).unwrap());
        assert_eq!(
            unwanted(&known, &new),
            entries("a", 9),
            "an object of cluster scope is one without a namespace"
        );
    }
}
