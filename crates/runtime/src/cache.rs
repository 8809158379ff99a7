//! Watch caches: one watch per kind, shared by all who need the kind, trimmed of what nobody reads.

mod index;
mod pool;
mod text;
mod unreadable;
mod watch;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio::sync::watch as signal;

pub use self::index::Index;
pub use self::pool::CachePool;
pub(crate) use self::text::Text;
pub(crate) use self::unreadable::Unreadable;
pub use self::watch::{Scope, WatchError};

/// Knowledge of a cache about its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Knowledge {
    /// The first list has not come yet.
    Nothing,
    /// All objects, as of the last answer.
    Objects,
    /// The API server does not serve the kind: its CRD is not installed. There are no objects.
    NotServed,
    /// The account may not list the kind. There may be objects.
    Forbidden,
    /// The API server cannot read the label selector, and says why. Nothing will be shown.
    Unreadable(Arc<str>),
}

/// A namespaced object's name, the key of caches and queues.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectKey {
    /// Makes a key of its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(object: &impl kube::Resource) -> Self {
        let meta = object.meta();
        Self::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A kind that a cache can hold.
pub trait Cached:
    kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug + Send + Sync + 'static
{
}
impl<K> Cached for K where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug + Send + Sync + 'static
{
}

/// A difference that a watch, or a write of our own, made.
#[derive(Debug)]
pub struct Change<K> {
    /// The object as it was known; `None` when it is new here.
    pub old: Option<Arc<K>>,
    /// The object as it is; `None` when it is gone.
    pub new: Option<Arc<K>>,
}

impl<K> Change<K> {
    /// The newest state that is known.
    pub fn latest(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

type Listener<K> = Arc<dyn Fn(&Change<K>) + Send + Sync>;

/// All objects of a kind in the scope of the process, kept current by one watch.
///
/// Bounded by what the API server holds; managed fields and kubectl's last-applied copy are dropped.
pub struct Cache<K> {
    inner: Arc<Inner<K>>,
}

struct Inner<K> {
    held: RwLock<Held<K>>,
    listeners: RwLock<Vec<Listener<K>>>,
    of_unreadable: RwLock<Vec<unreadable::Listener>>,
    knowledge: signal::Sender<Knowledge>,
}

/// The objects that are there. Each is in one of the maps.
struct Held<K> {
    objects: HashMap<ObjectKey, Arc<K>>,
    /// Those that do not fit their API type.
    unreadable: HashMap<ObjectKey, Arc<Unreadable>>,
}

impl<K: kube::Resource> Held<K> {
    fn meta(&self, key: &ObjectKey) -> Option<&ObjectMeta> {
        let of_object = self.objects.get(key).map(|object| object.meta());
        of_object.or_else(|| self.unreadable.get(key).map(|object| &object.meta))
    }
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<K: Cached> Default for Cache<K> {
    fn default() -> Self {
        Self {
            inner: Arc::new(Inner {
                held: RwLock::new(Held { objects: HashMap::new(), unreadable: HashMap::new() }),
                listeners: RwLock::default(),
                of_unreadable: RwLock::default(),
                knowledge: signal::Sender::new(Knowledge::Nothing),
            }),
        }
    }
}

impl<K: Cached> Cache<K> {
    /// The object of that name.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.inner.held.read().objects.get(key).cloned()
    }

    /// All objects, in no order.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.inner.held.read().objects.values().cloned().collect()
    }

    /// Number of objects held.
    pub fn len(&self) -> usize {
        self.inner.held.read().objects.len()
    }

    /// Returns true when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls back on every change, starting with one call for each object already known (with no old state).
    /// The callback runs in the watch's task: it must be quick and must not block.
    pub fn on_change(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let listener: Listener<K> = Arc::new(listener);
        // Registered before the replay: a change in between is sent twice rather than never.
        self.inner.listeners.write().push(listener.clone());
        for object in self.list() {
            listener(&Change { old: None, new: Some(object) });
        }
    }

    /// Takes the answer to a write of our own, so that the next run does not see the state before it. Ignored when the
    /// cache already has something newer, or when the object has meanwhile been deleted.
    pub fn insert(&self, object: K) {
        let key = ObjectKey::of(&object);
        if self.inner.held.read().objects.contains_key(&key) {
            self.apply(object);
        }
    }

    /// Waits until the first list is complete, or it is known that there is none: a kind without its CRD, or that the account
    /// may not list, holds nothing until that changes.
    pub async fn synced(&self) {
        // The sender lives in `self`, so that the wait can only end with the value.
        let _ = self.inner.knowledge.subscribe().wait_for(|known| *known != Knowledge::Nothing).await;
    }

    /// Returns the API server's words about a label selector that is none.
    fn refusal(&self) -> Option<String> {
        match &*self.inner.knowledge.borrow() {
            Knowledge::Unreadable(reason) => Some(reason.to_string()),
            _ => None,
        }
    }

    /// Returns true when an object that is not known does not exist: after the first list, and while the CRD is missing. Not
    /// while the account may not list the kind.
    pub fn is_whole(&self) -> bool {
        matches!(*self.inner.knowledge.borrow(), Knowledge::Objects | Knowledge::NotServed)
    }

    /// Returns true when an object of that name is known, also one that does not fit its API type.
    pub fn knows_of(&self, key: &ObjectKey) -> bool {
        self.inner.held.read().meta(key).is_some()
    }

    /// Returns true when an object with that UID is known, also one that does not fit its API type.
    pub fn knows_uid(&self, uid: &str) -> bool {
        let held = self.inner.held.read();
        let of_objects = held.objects.values().map(|object| object.meta());
        let mut known = of_objects.chain(held.unreadable.values().map(|object| &object.meta));
        known.any(|meta| meta.uid.as_deref() == Some(uid))
    }

    pub(crate) fn apply(&self, mut object: K) {
        trim(&mut object);
        let key = ObjectKey::of(&object);
        // A decoded list has room for four at least; a copy takes what it needs, for as long as it is held.
        let object = Arc::new(object.clone());
        let old = {
            let mut held = self.inner.held.write();
            if held.meta(&key).is_some_and(|known| !is_newer(object.meta(), known)) {
                return;
            }
            held.unreadable.remove(&key);
            held.objects.insert(key, object.clone())
        };
        self.tell(&Change { old, new: Some(object) });
    }

    /// Returns true when an object of this name and metadata says nothing that is not known.
    fn knows(&self, key: &ObjectKey, meta: &ObjectMeta) -> bool {
        self.inner.held.read().meta(key).is_some_and(|known| !is_newer(meta, known))
    }

    pub(crate) fn delete(&self, key: &ObjectKey) {
        let old = {
            let mut held = self.inner.held.write();
            held.unreadable.remove(key);
            held.objects.remove(key)
        };
        if old.is_some() {
            self.tell(&Change { old, new: None });
        }
    }

    fn retain(&self, keep: &std::collections::HashSet<ObjectKey>) {
        let gone: Vec<_> = {
            let held = self.inner.held.read();
            let known = held.objects.keys().chain(held.unreadable.keys());
            known.filter(|key| !keep.contains(*key)).cloned().collect()
        };
        gone.iter().for_each(|key| self.delete(key));
    }

    fn tell(&self, change: &Change<K>) {
        let listeners = self.inner.listeners.read().clone();
        listeners.iter().for_each(|listener| listener(change));
    }
}

fn trim<K: kube::Resource>(object: &mut K) {
    let meta = object.meta_mut();
    meta.managed_fields = None;
    if let Some(annotations) = meta.annotations.as_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

/// Resource versions of one kind are numbers that grow (guaranteed by the API since Kubernetes 1.35, true before).
fn is_newer(candidate: &ObjectMeta, known: &ObjectMeta) -> bool {
    let version =
        |meta: &ObjectMeta| meta.resource_version.as_deref().and_then(|text| text.parse::<u64>().ok());
    match (version(candidate), version(known)) {
        (Some(candidate), Some(known)) => candidate > known,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
