use std::collections::HashSet;

use crate::ObjectId;

/// One object of an inventory (KS-SSA-95).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The object.
    pub id: ObjectId,
    /// Version of its API without the group, as it was applied.
    pub version: String,
}

/// Keeps the names of objects where a crash does not reach them (docs/adr/0022).
pub trait Record: Sync {
    /// Adds objects that are about to be written; returns false when they could not be kept, so that they are not written.
    fn add(&self, objects: Vec<Entry>) -> impl Future<Output = bool> + Send;
}

/// The entries that were there and are no more, in their old order (KS-GC-1). A changed version makes none stale.
pub fn stale(old: &[Entry], new: &[Entry]) -> Vec<Entry> {
    let kept: HashSet<&ObjectId> = new.iter().map(|entry| &entry.id).collect();
    old.iter().filter(|entry| !kept.contains(&entry.id)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, version: &str) -> Entry {
        let id = ObjectId { namespace: "n".into(), name: name.into(), group: "g".into(), kind: "K".into() };
        Entry { id, version: version.into() }
    }

    #[test]
    fn version_is_no_identity() {
        assert_eq!(stale(&[entry("a", "v1"), entry("b", "v1")], &[entry("a", "v2")]), [entry("b", "v1")]);
    }

    /// Read from a status, an RBAC name with `__` has a `:` in its place.
    #[test]
    fn rbac_names_with_underscores_are_no_stale_objects() {
        let role = |name: &str| {
            let group = "rbac.authorization.k8s.io".to_owned();
            let id = ObjectId { group, name: name.into(), kind: "ClusterRole".into(), ..entry("", "").id };
            Entry { id, version: "v1".into() }
        };
        let new = role("team__read");
        let old = Entry { id: new.id.to_string().parse().unwrap(), ..new.clone() };
        assert_eq!(old.id.name, "team:read");
        assert_eq!(stale(&[old, role("other")], &[new]), [role("other")]);
        let config = |name: &str| entry(name, "v1");
        assert_eq!(
            stale(&[config("a:b")], &[config("a__b")]),
            [config("a:b")],
            "in other groups they are others"
        );
    }

    proptest! {
        #[test]
        fn stale_and_kept_make_the_old(old in prop::collection::vec("[a-e]", 0..6), new in prop::collection::vec("[a-e]", 0..6)) {
            let entries = |names: &[String]| names.iter().map(|name| entry(name, "v1")).collect::<Vec<_>>();
            let (old, new) = (entries(&old), entries(&new));
            let stale = stale(&old, &new);
            for entry in &old {
                prop_assert!(stale.contains(entry) != new.contains(entry));
            }
            prop_assert!(super::stale(&new, &new).is_empty());
        }
    }
}
