//! Caches shared between the services of one process, so that each kind is watched once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ApiResource;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::watch::{self, Events};
use super::{Cache, Cached, Scope, WatchError};
use crate::metrics::Metrics;

/// Time for the first list of a kind. The API server answers 10,000 objects in seconds.
const SYNC_DEADLINE: Duration = Duration::from_secs(60);

type Known = HashMap<(TypeId, Scope), Box<dyn Any + Send>>;

/// The caches of a process, by kind and scope.
#[derive(Clone)]
pub struct CachePool {
    known: Arc<Mutex<Known>>,
    tasks: TaskTracker,
    metrics: Metrics,
}

impl CachePool {
    /// A pool without caches yet, whose kinds show in `weir_kind_absent`.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { known: Arc::default(), tasks: TaskTracker::new(), metrics }
    }

    /// Returns the cache of that kind and scope, which is started on first use. Waits until its first list is complete, or it
    /// is known that the kind cannot be listed.
    ///
    /// # Errors
    /// When the API server does not answer the first list or cannot read the label selector, or the service stops meanwhile.
    pub async fn get<K>(
        &self,
        client: &kube::Client,
        scope: Scope,
        stop: &CancellationToken,
    ) -> Result<Cache<K>, WatchError>
    where
        K: Cached + kube::Resource<Scope = NamespaceResourceScope>,
    {
        self.kept(client, scope, stop, watch::whole).await
    }

    /// As [`CachePool::get`], of the metadata alone.
    ///
    /// # Errors
    /// As [`CachePool::get`].
    pub async fn get_metadata<K>(
        &self,
        client: &kube::Client,
        scope: Scope,
        stop: &CancellationToken,
    ) -> Result<Cache<PartialObjectMeta<K>>, WatchError>
    where
        K: Cached + Default + kube::Resource<Scope = NamespaceResourceScope>,
    {
        self.kept(client, scope, stop, watch::metadata).await
    }

    async fn kept<K: Cached>(
        &self,
        client: &kube::Client,
        scope: Scope,
        stop: &CancellationToken,
        open: fn(kube::Client, &ApiResource, &Scope) -> Events,
    ) -> Result<Cache<K>, WatchError> {
        let labels = scope.labels.clone();
        let cache = {
            let mut known = self.known.lock();
            let slot = (TypeId::of::<K>(), scope.clone());
            match known.get(&slot).and_then(|any| any.downcast_ref::<Cache<K>>()) {
                Some(cache) => cache.clone(),
                None => {
                    let cache = Cache::<K>::default();
                    let (client, kind) = (client.clone(), ApiResource::erase::<K>(&()));
                    let watch = move || open(client.clone(), &kind, &scope);
                    let task = watch::follow(watch, cache.clone(), self.metrics.kind(&K::kind(&())));
                    self.tasks.spawn(stop.clone().run_until_cancelled_owned(task));
                    known.insert(slot, Box::new(cache.clone()));
                    cache
                }
            }
        };
        let kind = || K::kind(&()).into_owned();
        let synced = tokio::time::timeout(SYNC_DEADLINE, cache.synced());
        match stop.run_until_cancelled(synced).await {
            None => Err(WatchError::Stopped { kind: kind() }),
            Some(Err(_)) => Err(WatchError::NotSynced { kind: kind(), seconds: SYNC_DEADLINE.as_secs() }),
            Some(Ok(())) => match cache.refusal() {
                Some(reason) => Err(WatchError::Selector { labels, reason }),
                None => Ok(cache),
            },
        }
    }
}
