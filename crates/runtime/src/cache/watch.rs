//! The task that keeps one cache current.

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt};
use kube::api::Api;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::{WatchStreamExt, watcher};

use super::{Cache, Cached, ObjectKey};

/// Which objects of a kind a cache holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    /// One namespace, or all of them.
    pub namespace: Option<String>,
    /// Label selector; empty selects everything.
    pub labels: String,
}

/// Errors of setting up a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The first list did not finish; most often the CRDs are not installed, or RBAC forbids the list.
    #[error(
        "{kind}: the first list did not finish within {seconds} s; are the CRDs installed, and may this account list them?"
    )]
    NotSynced {
        /// Kind that was to be watched.
        kind: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The process was stopped before the first list was complete.
    #[error("{kind}: stopped before the first list was complete")]
    Stopped {
        /// Kind that was to be watched.
        kind: String,
    },
}

/// Follows the watch until the task is dropped. A broken watch is resumed or restarted with backoff by kube; objects that
/// cannot be decoded are logged and left out, so that one odd object never stops its kind (DEP-K8S-4).
pub(super) async fn follow<K>(client: kube::Client, scope: Scope, cache: Cache<K>)
where
    K: Cached + kube::Resource<Scope = NamespaceResourceScope>,
{
    let api: Api<DeserializeGuard<K>> = match &scope.namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let config = watcher::Config::default().labels(&scope.labels);
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut listed = HashSet::new();
    loop {
        match events.try_next().await {
            Ok(Some(event)) => take(&cache, &mut listed, event),
            Ok(None) => return,
            Err(error) => tracing::debug!(kind = %K::kind(&()), %error, "watch interrupted"),
        }
    }
}

fn take<K: Cached>(
    cache: &Cache<K>,
    listed: &mut HashSet<ObjectKey>,
    event: watcher::Event<DeserializeGuard<K>>,
) {
    match event {
        watcher::Event::Init => listed.clear(),
        watcher::Event::InitApply(guard) => {
            listed.insert(ObjectKey::of(&guard));
            apply(cache, guard);
        }
        watcher::Event::InitDone => {
            cache.retain(listed);
            listed.clear();
            cache.inner.synced.send_replace(true);
        }
        watcher::Event::Apply(guard) => apply(cache, guard),
        watcher::Event::Delete(guard) => cache.delete(&ObjectKey::of(&guard)),
    }
}

fn apply<K: Cached>(cache: &Cache<K>, guard: DeserializeGuard<K>) {
    let key = ObjectKey::of(&guard);
    match guard.0 {
        Ok(object) => cache.apply(object),
        Err(invalid) => {
            tracing::error!(kind = %K::kind(&()), namespace = key.namespace, name = key.name, error = %invalid, "object left out: it does not fit its API type");
        }
    }
}
