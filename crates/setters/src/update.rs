//! The changes of a run over a tree (ST-19, ST-20).

use std::collections::{BTreeMap, BTreeSet};

use crate::{Image, PolicyName, Setters};

/// The identity of a Kubernetes object; every part may be empty. Ordered by API version, kind, name, namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// `apiVersion` as written.
    pub api_version: String,
    /// `kind` as written.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
}

/// One scalar's change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// The text before, decoded.
    pub old: String,
    /// The text after, decoded.
    pub new: String,
    /// The marker's setter: `ns:policy` or `ns:policy:part`.
    pub setter: String,
}

/// One change with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file, relative to the folder that was walked.
    pub file: String,
    /// The enclosing object.
    pub object: ObjectId,
    /// Changes made.
    pub change: Change,
}

/// All changes of one run: files by bytes, then position.
#[derive(Debug, Clone, Default)]
pub struct Update {
    entries: Vec<Entry>,
    images: BTreeMap<PolicyName, Image>,
}

impl Update {
    /// Records the changes of one file; call it in the order of files.
    pub fn record(&mut self, file: &str, changes: Vec<(ObjectId, Change)>, setters: &Setters) {
        for (object, change) in changes {
            if let Some((policy, image)) = setters.image(&change.setter) {
                self.images.insert(policy.clone(), image.clone());
            }
            self.entries.push(Entry { file: file.to_owned(), object, change });
        }
    }

    /// Returns true when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns every change in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the changes of each object of each file.
    pub fn files(&self) -> BTreeMap<&str, BTreeMap<&ObjectId, Vec<&Change>>> {
        let mut files: BTreeMap<&str, BTreeMap<&ObjectId, Vec<&Change>>> = BTreeMap::new();
        for entry in &self.entries {
            files.entry(&entry.file).or_default().entry(&entry.object).or_default().push(&entry.change);
        }
        files
    }

    /// Returns the changes of each object, merged over files.
    pub fn objects(&self) -> BTreeMap<&ObjectId, Vec<&Change>> {
        let mut objects: BTreeMap<&ObjectId, Vec<&Change>> = BTreeMap::new();
        for entry in &self.entries {
            objects.entry(&entry.object).or_default().push(&entry.change);
        }
        objects
    }

    /// Returns the distinct changes in order of their first place.
    pub fn changes(&self) -> Vec<&Change> {
        let mut seen = BTreeSet::new();
        self.entries.iter().map(|entry| &entry.change).filter(|change| seen.insert(*change)).collect()
    }

    /// Returns the policy and image behind a change.
    pub fn image(&self, change: &Change) -> Option<(&PolicyName, &Image)> {
        self.images.get_key_value(&PolicyName::of_setter(&change.setter)?)
    }
}
