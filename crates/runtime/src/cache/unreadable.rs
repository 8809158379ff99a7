//! Objects that do not fit their API type: little more than their metadata is known.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use weir_api::Condition;

use super::{Cache, Cached, Change, ObjectKey, is_newer};

pub(super) type Listener = Arc<dyn Fn(&ObjectKey) + Send + Sync>;

/// An object that is there and does not fit its API type.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    /// The part of its metadata that counts.
    pub(crate) meta: ObjectMeta,
    /// Its conditions; nothing where they cannot be read, and so not be written without losing some.
    pub(crate) conditions: Option<Vec<Condition>>,
    /// The reason why it does not fit. It is the same for as long as the same field is wrong.
    pub(crate) reason: String,
}

impl<K: Cached> Cache<K> {
    /// Returns an object that is there and does not fit its API type.
    pub(crate) fn unreadable(&self, key: &ObjectKey) -> Option<Arc<Unreadable>> {
        self.inner.held.read().unreadable.get(key).cloned()
    }

    /// Calls back with every object that does not fit its API type, beginning with those that are there.
    pub(crate) fn on_unreadable(&self, listener: impl Fn(&ObjectKey) + Send + Sync + 'static) {
        let listener: Listener = Arc::new(listener);
        self.inner.of_unreadable.write().push(listener.clone());
        let known: Vec<_> = self.inner.held.read().unreadable.keys().cloned().collect();
        known.iter().for_each(|key| listener(key));
    }

    /// Takes note of an object that does not fit its API type. Its state before is not worked on any more.
    pub(super) fn set_aside(&self, key: ObjectKey, object: Unreadable) {
        let old = {
            let mut held = self.inner.held.write();
            if held.meta(&key).is_some_and(|known| !is_newer(&object.meta, known)) {
                return;
            }
            held.unreadable.insert(key.clone(), Arc::new(object));
            held.objects.remove(&key)
        };
        if old.is_some() {
            self.tell(&Change { old, new: None });
        }
        let listeners = self.inner.of_unreadable.read().clone();
        listeners.iter().for_each(|listener| listener(&key));
    }
}
