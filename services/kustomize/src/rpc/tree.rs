//! The inventory of a Kustomization with those of the Kustomizations among its objects.

use std::collections::{HashMap, HashSet, VecDeque};

use weir_kstatus::Assessment;
use weir_proto::kustomize::v1::InventoryEntry;
use weir_runtime::ObjectKey;
use weir_ssa::Entry;

use crate::cluster::is_kustomization;

/// Kustomizations whose objects stand in one tree.
const MAX_KUSTOMIZATIONS: usize = 100;

/// The objects of one Kustomization, with their health if it was asked for.
pub(super) struct Branch {
    pub(super) entries: Vec<(Entry, Option<Assessment>)>,
    /// True when they lie in another cluster: a Kustomization there is none of ours.
    pub(super) is_remote: bool,
}

/// Branches by their Kustomizations.
pub(super) struct Tree {
    branches: HashMap<ObjectKey, Branch>,
    left: VecDeque<ObjectKey>,
}

impl Tree {
    /// A tree that has no branch yet.
    pub(super) fn of(root: &ObjectKey) -> Self {
        Self { branches: HashMap::new(), left: VecDeque::from([root.clone()]) }
    }

    /// The next Kustomization whose branch is to be found.
    pub(super) fn next(&mut self) -> Option<ObjectKey> {
        if self.branches.len() >= MAX_KUSTOMIZATIONS {
            return None;
        }
        std::iter::from_fn(|| self.left.pop_front()).find(|key| !self.branches.contains_key(key))
    }

    /// Takes the branch of a Kustomization, which may lead to others.
    pub(super) fn insert(&mut self, key: ObjectKey, branch: Branch) {
        self.left.extend(branch.entries.iter().filter_map(|(entry, _)| branch.nested(entry)));
        self.branches.insert(key, branch);
    }

    /// The entries of the root; each Kustomization is unfolded where it is met first.
    pub(super) fn entries(&self, root: &ObjectKey) -> Vec<InventoryEntry> {
        self.unfold(root, &mut HashSet::new())
    }

    fn unfold(&self, key: &ObjectKey, met: &mut HashSet<ObjectKey>) -> Vec<InventoryEntry> {
        let Some(branch) = self.branches.get(key).filter(|_| met.insert(key.clone())) else {
            return Vec::new();
        };
        let entries = branch.entries.iter().map(|(entry, health)| {
            let below = branch.nested(entry).map(|key| self.unfold(&key, met)).unwrap_or_default();
            let health = health.clone();
            InventoryEntry {
                id: entry.id.to_string(),
                version: entry.version.clone(),
                object: entry.id.subject(),
                status: health.as_ref().map(|health| health.status.to_string()).unwrap_or_default(),
                message: health.map(|health| health.message).unwrap_or_default(),
                entries: below,
            }
        });
        entries.collect()
    }
}

impl Branch {
    /// The Kustomization that an entry stands for.
    fn nested(&self, entry: &Entry) -> Option<ObjectKey> {
        let id = &entry.id;
        let is_nested = !self.is_remote && is_kustomization(id);
        is_nested.then(|| ObjectKey::new(id.namespace.clone(), id.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(ids: &[&str], is_remote: bool) -> Branch {
        let entry = |id: &&str| (Entry { id: id.parse().unwrap(), version: "v1".into() }, None);
        Branch { entries: ids.iter().map(entry).collect(), is_remote }
    }

    fn entries(root: &str, look: impl Fn(&str) -> Option<Branch>) -> Vec<InventoryEntry> {
        let root = ObjectKey::new("n", root);
        let mut tree = Tree::of(&root);
        while let Some(key) = tree.next() {
            if let Some(branch) = look(&key.name) {
                tree.insert(key, branch);
            }
        }
        tree.entries(&root)
    }

    const A: &str = "n_a_kustomize.toolkit.fluxcd.io_Kustomization";
    const B: &str = "n_b_kustomize.toolkit.fluxcd.io_Kustomization";

    /// Two that keep each other end nowhere, and what lies in another cluster is not looked up here.
    #[test]
    fn kustomizations_are_unfolded_once() {
        let found = entries("a", |name| match name {
            "a" => Some(branch(&[B, "n_x__ConfigMap"], false)),
            "b" => Some(branch(&[A, "n_y__ConfigMap"], false)),
            _ => None,
        });
        let names: Vec<_> = found.iter().map(|entry| entry.object.as_str()).collect();
        assert_eq!(names, ["Kustomization/n/b", "ConfigMap/n/x"]);
        let below = found[0].entries.iter().map(|entry| (entry.object.as_str(), entry.entries.len()));
        assert_eq!(below.collect::<Vec<_>>(), [("Kustomization/n/a", 0), ("ConfigMap/n/y", 0)]);
        let remote = entries("a", |name| (name == "a").then(|| branch(&[B], true)));
        assert_eq!(remote[0].entries.len(), 0);
    }
}
