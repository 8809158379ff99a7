//! Objects by what they name, so that a change of one object costs the same however many others there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{Cache, Cached, ObjectKey};

/// The objects of a cache by what each of them names: a source, a dependency, a Secret. Bounded by the cache.
pub struct Index<K, T> {
    objects: Cache<K>,
    named: Arc<RwLock<BTreeSet<(T, ObjectKey)>>>,
}

impl<K, T> Clone for Index<K, T> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), named: self.named.clone() }
    }
}

impl<K: Cached, T: Ord + Clone> Index<K, T> {
    /// Returns the objects that name the target, by namespace and name.
    pub fn naming(&self, target: &T) -> Vec<Arc<K>> {
        let first = (target.clone(), ObjectKey::new("", ""));
        let named = self.named.read();
        let keys = named.range(first..).take_while(|(named, _)| named == target);
        keys.filter_map(|(_, key)| self.objects.get(key)).collect()
    }
}

impl<K: Cached> Cache<K> {
    /// Keeps an index of the objects by what `names` returns for each. Listeners that are added later find it up to date.
    pub fn index<T, I>(&self, names: impl Fn(&K) -> I + Send + Sync + 'static) -> Index<K, T>
    where
        T: Ord + Clone + Send + Sync + 'static,
        I: IntoIterator<Item = T>,
    {
        let index = Index { objects: self.clone(), named: Arc::default() };
        let kept = index.clone();
        self.on_change(move |change| {
            let Some(key) = change.latest().map(|object| ObjectKey::of(&**object)) else { return };
            let targets = |state: Option<&Arc<K>>| -> Vec<T> {
                state.into_iter().flat_map(|object| names(object)).collect()
            };
            let mut named = kept.named.write();
            // Not the new state of this change: changes of one object can be told in another order than they were made.
            let (old, new) = (targets(change.old.as_ref()), targets(kept.objects.get(&key).as_ref()));
            // Most changes are those of a status. The change by which the object came to name these is told too, if it was not yet.
            if old == new {
                return;
            }
            for target in old {
                named.remove(&(target, key.clone()));
            }
            named.extend(new.into_iter().map(|target| (target, key.clone())));
        });
        index
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    /// A ConfigMap that names others in its data.
    fn naming(name: &str, version: u32, others: &[&str]) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("apps".into());
        object.metadata.name = Some(name.into());
        object.metadata.resource_version = Some(version.to_string());
        object.data = Some(others.iter().map(|other| ((*other).to_owned(), String::new())).collect());
        object
    }

    fn names_of(object: &ConfigMap) -> Vec<String> {
        object.data.iter().flat_map(|data| data.keys().cloned()).collect()
    }

    fn found(index: &Index<ConfigMap, String>, target: &str) -> Vec<String> {
        let found = index.naming(&target.to_owned());
        found.iter().filter_map(|object| object.metadata.name.clone()).collect()
    }

    #[test]
    fn an_index_follows_its_cache() {
        let cache = Cache::default();
        cache.apply(naming("a", 1, &["x", "y"]));
        let index = cache.index(names_of);
        cache.apply(naming("b", 2, &["y"]));
        assert_eq!(
            (found(&index, "x"), found(&index, "y")),
            (vec!["a".into()], vec!["a".into(), "b".into()])
        );
        cache.apply(naming("a", 3, &["z"]));
        assert_eq!((found(&index, "x"), found(&index, "y")), (vec![], vec!["b".to_owned()]));
        cache.delete(&ObjectKey::new("apps", "b"));
        assert_eq!((found(&index, "y"), found(&index, "z")), (vec![], vec!["a".to_owned()]));
        assert_eq!(index.named.read().len(), 1);
    }

    #[test]
    fn a_later_listener_finds_the_change_that_it_hears_of() {
        let cache = Cache::default();
        let index = cache.index(names_of);
        let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let (heard, at) = (seen.clone(), index.clone());
        cache.on_change(move |_| heard.lock().push(found(&at, "x").len()));
        cache.apply(naming("a", 1, &["x"]));
        cache.apply(naming("a", 2, &[]));
        assert_eq!(*seen.lock(), [1, 0]);
    }

    #[test]
    fn changes_told_in_another_order_leave_nothing_behind() {
        let cache = Cache::default();
        let index = cache.index(names_of);
        let [first, second] = [naming("a", 1, &["x"]), naming("a", 2, &["y"])].map(Arc::new);
        cache.apply(ConfigMap::clone(&first));
        cache.apply(ConfigMap::clone(&second));
        cache.tell(&super::super::Change { old: None, new: Some(first) });
        assert_eq!((found(&index, "x"), found(&index, "y")), (vec![], vec!["a".to_owned()]));
        assert_eq!(index.named.read().len(), 1);
    }

    /// A change to the same names, as of a status, may be told before the one that began to name them.
    #[test]
    fn changes_that_keep_the_names_leave_them_whatever_their_order() {
        let cache = Cache::default();
        let states = [naming("a", 1, &["y"]), naming("a", 2, &["x"]), naming("a", 3, &["x"])].map(Arc::new);
        for state in &states {
            cache.apply(ConfigMap::clone(state));
        }
        let [first, second, third] = states;
        let index = cache.index(names_of);
        index.named.write().clear();
        for (old, new) in [(Some(&second), &third), (Some(&first), &second), (None, &first)] {
            cache.tell(&super::super::Change { old: old.cloned(), new: Some(Arc::clone(new)) });
        }
        assert_eq!((found(&index, "x"), found(&index, "y")), (vec!["a".to_owned()], vec![]));
        assert_eq!(index.named.read().len(), 1);
    }
}
