//! Receivers by their webhook path: an unknown path costs one look-up (NTF-94).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use weir_api::Receiver;
use weir_runtime::{Cache, Change, ObjectKey};

/// The index; bounded by the number of Receivers.
#[derive(Clone, Default)]
pub struct PathIndex {
    paths: Arc<RwLock<HashMap<String, ObjectKey>>>,
}

impl PathIndex {
    /// An index that follows a cache.
    pub fn over(receivers: &Cache<Receiver>) -> Self {
        let index = Self::default();
        let follower = index.clone();
        receivers.on_change(move |change| follower.apply(change));
        index
    }

    /// The Receiver of a path.
    pub fn get(&self, path: &str) -> Option<ObjectKey> {
        self.paths.read().get(path).cloned()
    }

    fn apply(&self, change: &Change<Receiver>) {
        let path =
            |receiver: &Receiver| receiver.status.as_ref().and_then(|status| status.webhook_path.clone());
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let mut paths = self.paths.write();
        if let Some((key, path)) = old.and_then(|old| Some((ObjectKey::of(old), path(old)?)))
            && paths.get(&path) == Some(&key)
        {
            paths.remove(&path);
        }
        if let Some((key, path)) = new.and_then(|new| Some((ObjectKey::of(new), path(new)?))) {
            paths.insert(path, key);
        }
    }
}
