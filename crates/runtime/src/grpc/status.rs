//! `weir.status.v1`: get, list and watch over every kind that the process owns, fed from its watch caches.

mod convert;
mod feed;
mod service;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use weir_api::FluxObject;
use weir_proto::status::v1::ObjectStatus;
use weir_proto::status::v1::status_server::StatusServer;

use super::{Authorizer, MAX_MESSAGE_BYTES};
use crate::cache::{Cache, Change, ObjectKey};

/// Changes a watcher may lag behind before its stream ends; a burst of a thousand objects fits.
const LAG: usize = 4096;

/// One change, converted once for all watchers.
#[derive(Debug, Clone)]
struct Update {
    deleted: bool,
    object: Arc<ObjectStatus>,
}

/// One kind, with its Rust type forgotten.
trait Source: Send + Sync {
    fn group(&self) -> &'static str;
    fn plural(&self) -> &'static str;
    fn get(&self, key: &ObjectKey) -> Option<ObjectStatus>;
    /// The objects of one namespace, or of all where it is empty, ordered by namespace and name.
    fn list(&self, namespace: &str) -> Vec<ObjectStatus>;
}

impl<K> Source for Cache<K>
where
    K: FluxObject + kube::Resource<DynamicType = ()>,
{
    fn group(&self) -> &'static str {
        K::GROUP
    }

    fn plural(&self) -> &'static str {
        K::PLURAL
    }

    fn get(&self, key: &ObjectKey) -> Option<ObjectStatus> {
        Cache::get(self, key).map(|object| convert::status(&*object))
    }

    fn list(&self, namespace: &str) -> Vec<ObjectStatus> {
        let listed = Cache::list(self).into_iter();
        let listed = listed
            .filter(|object| namespace.is_empty() || object.meta().namespace.as_deref() == Some(namespace));
        let mut listed: Vec<_> = listed.map(|object| convert::status(&*object)).collect();
        listed.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        listed
    }
}

/// The kinds of a process and their changes; clones share them.
#[derive(Clone)]
pub struct StatusRegistry {
    sources: Arc<RwLock<BTreeMap<&'static str, Arc<dyn Source>>>>,
    updates: broadcast::Sender<Update>,
}

impl Default for StatusRegistry {
    fn default() -> Self {
        Self { sources: Arc::default(), updates: broadcast::Sender::new(LAG) }
    }
}

impl StatusRegistry {
    /// Adds a kind. Adding it twice (two services of one process show it) keeps the first.
    pub fn add<K>(&self, cache: Cache<K>)
    where
        K: FluxObject + kube::Resource<DynamicType = ()>,
    {
        {
            let mut sources = self.sources.write();
            if sources.contains_key(K::KIND) {
                return;
            }
            sources.insert(K::KIND, Arc::new(cache.clone()));
        }
        let updates = self.updates.clone();
        cache.on_change(move |change: &Change<K>| {
            // Converting costs; nobody may be watching.
            if updates.receiver_count() > 0
                && let Some(object) = change.latest()
            {
                let object = Arc::new(convert::status(&**object));
                let _ = updates.send(Update { deleted: change.new.is_none(), object });
            }
        });
    }

    /// The gRPC service over these kinds; its streams end at `stop`.
    pub fn into_service(
        self,
        authorizer: Authorizer,
        stop: CancellationToken,
    ) -> StatusServer<impl weir_proto::status::v1::status_server::Status> {
        StatusServer::new(service::StatusService { registry: self, authorizer, stop })
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(usize::MAX)
    }

    fn source(&self, kind: &str) -> Option<Arc<dyn Source>> {
        self.sources.read().get(kind).cloned()
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.sources.read().keys().copied().collect()
    }
}
