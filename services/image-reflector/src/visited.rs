//! The repositories that this life of the service has visited: of the others the tags may be lost, and about to be listed again.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::RwLock;
use weir_runtime::ObjectKey;

/// Keys of visited repositories, bounded by the number of objects; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visited(Arc<RwLock<HashSet<ObjectKey>>>);

impl Visited {
    /// Records a visit that has come to its end, well or not.
    pub(crate) fn add(&self, repository: &ObjectKey) {
        if !self.has(repository) {
            self.0.write().insert(repository.clone());
        }
    }

    /// Forgets a repository that is gone.
    pub(crate) fn remove(&self, repository: &ObjectKey) {
        self.0.write().remove(repository);
    }

    /// Returns true when a visit has come to its end.
    pub(crate) fn has(&self, repository: &ObjectKey) -> bool {
        self.0.read().contains(repository)
    }
}

#[cfg(test)]
mod tests {
    use super::{ObjectKey, Visited};

    #[test]
    fn a_repository_that_comes_back_was_not_visited() {
        let (visited, key) = (Visited::default(), ObjectKey::new("ns", "app"));
        let seen = visited.clone();
        visited.add(&key);
        visited.add(&key);
        assert!(seen.has(&key) && !seen.has(&ObjectKey::new("ns", "other")));
        visited.remove(&key);
        assert!(!seen.has(&key));
    }
}
