//! The knowledge of each object, found by its name and by its owner.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Record;
use crate::{ObjectId, Owner};

/// Records by object. An owner finds its own without a look at those of all others. In boxes: half of a map's places are
/// empty after it has grown.
#[derive(Default)]
pub(super) struct Records {
    records: HashMap<Arc<ObjectId>, Box<Record>>,
    owned: HashMap<Arc<Owner>, HashSet<Arc<ObjectId>>>,
}

impl Records {
    pub(super) fn get(&self, id: &ObjectId) -> Option<&Record> {
        self.records.get(id).map(|record| &**record)
    }

    /// The record, if it is of this owner.
    pub(super) fn get_of(&self, owner: &Owner, id: &ObjectId) -> Option<&Record> {
        self.get(id).filter(|record| *record.owner == *owner)
    }

    /// The record, to change anything of it but its owner.
    pub(super) fn get_mut(&mut self, id: &ObjectId) -> Option<&mut Record> {
        self.records.get_mut(id).map(|record| &mut **record)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectId, &Record)> {
        self.records.iter().map(|(id, record)| (&**id, &**record))
    }

    /// Puts a record in the place of the one that is there.
    pub(super) fn insert(&mut self, owner: &Owner, id: &ObjectId, record: impl FnOnce(Arc<Owner>) -> Record) {
        self.remove(id);
        let owner = match self.owned.get_key_value(owner) {
            Some((owner, _)) => Arc::clone(owner),
            None => Arc::new(owner.clone()),
        };
        let id = Arc::new(id.clone());
        self.owned.entry(Arc::clone(&owner)).or_default().insert(Arc::clone(&id));
        self.records.insert(id, Box::new(record(owner)));
    }

    pub(super) fn remove(&mut self, id: &ObjectId) -> Option<Record> {
        let record = self.records.remove(id)?;
        if let Some(ids) = self.owned.get_mut(&record.owner) {
            ids.remove(id);
            if ids.is_empty() {
                self.owned.remove(&record.owner);
            }
        }
        Some(*record)
    }

    /// Removes all records of an owner.
    pub(super) fn remove_of(&mut self, owner: &Owner) {
        for id in self.owned.remove(owner).into_iter().flatten() {
            self.records.remove(&id);
        }
    }
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
}
