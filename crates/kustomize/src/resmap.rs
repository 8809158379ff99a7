//! The resources of a build in order, found by id without scanning (KZ-410, KZ-413).

use std::collections::HashMap;

use crate::Error;
use crate::id::ResId;
use crate::resource::Resource;
use crate::schema::Schema;

/// Most resources of one build; each costs some kilobytes, so this bounds memory, not use.
const MAX_RESOURCES: usize = 100_000;

/// Resources in FIFO order.
#[derive(Debug, Default)]
pub(crate) struct ResMap {
    resources: Vec<Resource>,
    /// Positions by hash of every id, current and former; `None` after ids may have changed.
    positions: Option<HashMap<u64, Vec<usize>>>,
}

impl ResMap {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.resources.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn get(&self, position: usize) -> Option<&Resource> {
        self.resources.get(position)
    }

    /// Resources for changes that may touch ids: indexes are built again when they are next needed.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.positions = None;
        self.resources.iter_mut()
    }

    /// One resource for changes that may touch its ids.
    pub(crate) fn get_mut(&mut self, position: usize) -> Option<&mut Resource> {
        self.positions = None;
        self.resources.get_mut(position)
    }

    /// One resource for changes that touch neither ids nor history.
    pub(crate) fn content_mut(&mut self, position: usize) -> Option<&mut Resource> {
        self.resources.get_mut(position)
    }

    /// Resources for changes that touch neither ids nor history.
    pub(crate) fn contents_mut(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.resources.iter_mut()
    }

    pub(crate) fn into_resources(self) -> Vec<Resource> {
        self.resources
    }

    /// Appends a resource whose current id no other has.
    ///
    /// # Errors
    /// The id is taken, or there are too many resources.
    pub(crate) fn append(&mut self, resource: Resource, schema: &Schema) -> Result<(), Error> {
        let id = resource.id();
        let same_hash = self.positions(schema).get(&id.hash(schema)).cloned().unwrap_or_default();
        let has_id =
            |position: &usize| self.get(*position).is_some_and(|other| other.id().is_same(&id, schema));
        if let Some(first) = same_hash.into_iter().find(has_id) {
            return Err(Error::DuplicateId { id: id.to_string(), first });
        }
        if self.len() >= MAX_RESOURCES {
            return Err(Error::TooManyResources(MAX_RESOURCES));
        }
        let position = self.len();
        let hashes: Vec<u64> = resource.any_ids().map(|id| id.hash(schema)).collect();
        let positions = self.positions(schema);
        for hash in hashes {
            add_position(positions, hash, position);
        }
        self.resources.push(resource);
        Ok(())
    }

    /// Appends every resource of another map.
    ///
    /// # Errors
    /// As [`ResMap::append`].
    pub(crate) fn append_all(&mut self, other: Self, schema: &Schema) -> Result<(), Error> {
        if self.resources.is_empty() {
            other.check_unique(schema)?;
            *self = other;
            return Ok(());
        }
        other.resources.into_iter().try_for_each(|resource| self.append(resource, schema))
    }

    /// Positions of the resources that have or had this id, in order (KZ-505).
    pub(crate) fn find_any(&mut self, id: &ResId<'_>, schema: &Schema) -> Vec<usize> {
        let hash = id.hash(schema);
        let candidates = self.positions(schema).get(&hash).cloned().unwrap_or_default();
        let has_id = |position: &usize| {
            self.resources.get(*position).is_some_and(|resource| {
                !resource.is_empty() && resource.any_ids().any(|any| any.is_same(id, schema))
            })
        };
        candidates.into_iter().filter(has_id).collect()
    }

    /// Removes resources that patches have emptied.
    pub(crate) fn drop_empty(&mut self) {
        let before = self.len();
        self.resources.retain(|resource| !resource.is_empty());
        if self.len() != before {
            self.positions = None;
        }
    }

    /// Keeps the resources for which `keep` holds.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Resource) -> bool) {
        self.resources.retain(keep);
        self.positions = None;
    }

    /// Checks that no two resources have one current id (KZ-814).
    ///
    /// # Errors
    /// Two have.
    pub(crate) fn check_unique(&self, schema: &Schema) -> Result<(), Error> {
        let mut seen: HashMap<u64, usize> = HashMap::with_capacity(self.len());
        // Objects that a patch has deleted are still there, without an id.
        for (position, resource) in self.iter().enumerate().filter(|(_, resource)| !resource.is_empty()) {
            let id = resource.id();
            if let Some(first) = seen.insert(id.hash(schema), position)
                && self.get(first).is_some_and(|other| other.id().is_same(&id, schema))
            {
                return Err(Error::DuplicateId { id: id.to_string(), first });
            }
        }
        Ok(())
    }

    fn positions(&mut self, schema: &Schema) -> &mut HashMap<u64, Vec<usize>> {
        let resources = &self.resources;
        self.positions.get_or_insert_with(|| {
            let mut positions = HashMap::with_capacity(resources.len());
            for (position, resource) in resources.iter().enumerate() {
                for id in resource.any_ids() {
                    add_position(&mut positions, id.hash(schema), position);
                }
            }
            positions
        })
    }
}

/// A resource is listed once under each hash, in order of position.
fn add_position(positions: &mut HashMap<u64, Vec<usize>>, hash: u64, position: usize) {
    let listed = positions.entry(hash).or_default();
    if listed.last() != Some(&position) {
        listed.push(position);
    }
}
