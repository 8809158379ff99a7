//! The knowledge of each object, found by its name and by its owner.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Record;
use crate::{GroupKind, ObjectId, Owner};

/// An object as an inventory writes it: one text takes less memory than the four of an [`ObjectId`].
type Key = Arc<str>;

/// Records by object. An owner finds its own without a look at those of all others. In boxes: half of a map's places are
/// empty after it has grown.
#[derive(Default)]
pub(super) struct Records {
    records: HashMap<Key, Box<Record>>,
    owned: HashMap<Arc<Owner>, HashSet<Key>>,
}

impl Records {
    pub(super) fn get(&self, id: &ObjectId) -> Option<&Record> {
        self.records.get(&*id.to_string()).map(|record| &**record)
    }

    /// The record, if it is of this owner.
    pub(super) fn get_of(&self, owner: &Owner, id: &ObjectId) -> Option<&Record> {
        self.get(id).filter(|record| *record.owner == *owner)
    }

    /// The record, to change anything of it but its owner.
    pub(super) fn get_mut(&mut self, id: &ObjectId) -> Option<&mut Record> {
        self.records.get_mut(&*id.to_string()).map(|record| &mut **record)
    }

    /// The objects of a kind.
    pub(super) fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = (ObjectId, &Record)> {
        let end = end_of(kind);
        let records = self.records.iter().filter(move |(key, _)| key.ends_with(&end));
        records.filter_map(|(key, record)| Some((key.parse().ok()?, &**record)))
    }

    /// The records of a kind, to change anything of them but their owners.
    pub(super) fn of_kind_mut(&mut self, kind: &GroupKind) -> impl Iterator<Item = &mut Record> {
        let end = end_of(kind);
        self.records.iter_mut().filter(move |(key, _)| key.ends_with(&end)).map(|(_, record)| &mut **record)
    }

    /// Puts a record in the place of the one that is there.
    pub(super) fn insert(&mut self, owner: &Owner, id: &ObjectId, record: impl FnOnce(Arc<Owner>) -> Record) {
        let doubts = self.remove(id).map_or(0, |replaced| replaced.doubts);
        let owner = match self.owned.get_key_value(owner) {
            Some((owner, _)) => Arc::clone(owner),
            None => Arc::new(owner.clone()),
        };
        let key = Key::from(id.to_string());
        self.owned.entry(Arc::clone(&owner)).or_default().insert(Arc::clone(&key));
        self.records.insert(key, Box::new(Record { doubts, ..record(owner) }));
    }

    pub(super) fn remove(&mut self, id: &ObjectId) -> Option<Record> {
        let key = id.to_string();
        let record = self.records.remove(&*key)?;
        if let Some(keys) = self.owned.get_mut(&record.owner) {
            keys.remove(&*key);
            if keys.is_empty() {
                self.owned.remove(&record.owner);
            }
        }
        Some(*record)
    }

    /// Removes all records of an owner.
    pub(super) fn remove_of(&mut self, owner: &Owner) {
        for key in self.owned.remove(owner).into_iter().flatten() {
            self.records.remove(&key);
        }
    }
}

/// The end of the keys of a kind's objects.
fn end_of(kind: &GroupKind) -> String {
    format!("_{}_{}", kind.group, kind.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(records: &mut Records, owner: &Owner, id: &ObjectId) {
        records.insert(owner, id, Record::unknown);
    }

    #[test]
    fn an_owner_loses_what_another_takes_and_takes_nothing_of_it_along() {
        let owner = |name: &str| Owner { group: "g".into(), name: name.into(), namespace: "n".into() };
        let [one, other] = ["one", "other"].map(owner);
        let [a, b]: [ObjectId; 2] = ["n_a__ConfigMap", "n_b__ConfigMap"].map(|id| id.parse().unwrap());
        let mut records = Records::default();
        put(&mut records, &one, &a);
        put(&mut records, &one, &b);
        put(&mut records, &other, &b);
        assert!(records.get_of(&one, &b).is_none());
        records.remove_of(&one);
        assert!(records.get(&a).is_none());
        assert!(records.get_of(&other, &b).is_some());
        records.remove(&b);
        assert!(records.records.is_empty() && records.owned.is_empty());
    }

    #[test]
    fn objects_of_a_kind_are_those_of_its_group() {
        let owner = Owner { group: "g".into(), name: "o".into(), namespace: "n".into() };
        let ids =
            ["n_a__Role", "n_a__b_rbac.authorization.k8s.io_Role", "_c_k8s.io_Role", "n_d_k8s.io_ARole"];
        let ids: [ObjectId; 4] = ids.map(|id| id.parse().unwrap());
        let mut records = Records::default();
        ids.iter().for_each(|id| put(&mut records, &owner, id));
        for id in &ids {
            let kind = GroupKind { group: id.group.clone(), kind: id.kind.clone() };
            let found: Vec<ObjectId> = records.of_kind(&kind).map(|(id, _)| id).collect();
            assert_eq!(found, std::slice::from_ref(id));
        }
    }
}
