//! `weir.status.v1`: get, list and watch over every kind that the process owns, fed from its watch caches.
//!
//! ```text
//!   caches ──change──▶ Journal: the newest change of each object, deletions for ten minutes
//!                         │ List: pages in the order of names      │ Watch: what is there, SYNCED, then by position
//! ```

mod convert;
mod feed;
mod journal;
mod service;
mod version;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_api::FluxObject;
use weir_proto::status::v1::ObjectStatus;
use weir_proto::status::v1::status_server::StatusServer;

use self::journal::{Journal, Subject};
pub use self::version::PageToken;
use self::version::Version;
use super::{Authorizer, MAX_MESSAGE_BYTES, rights};
use crate::cache::{Cache, Change, ObjectKey};

/// One kind, with its Rust type forgotten.
trait Source: Send + Sync {
    fn group(&self) -> &'static str;
    fn plural(&self) -> &'static str;
    fn get(&self, key: &ObjectKey) -> Option<ObjectStatus>;
    fn has(&self, key: &ObjectKey) -> bool;
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
        Self::get(self, key).map(|object| convert::status(&*object))
    }

    fn has(&self, key: &ObjectKey) -> bool {
        Self::get(self, key).is_some()
    }
}

/// The kinds of a process and their changes; clones share them.
#[derive(Clone)]
pub struct StatusRegistry {
    sources: Arc<RwLock<BTreeMap<&'static str, Arc<dyn Source>>>>,
    journal: Arc<Mutex<Journal>>,
    /// Position of the newest change, for those who wait for it.
    head: watch::Sender<u64>,
    /// Tells this process from others, see [`Version`].
    epoch: u64,
    rights_checked: Duration,
}

impl Default for StatusRegistry {
    fn default() -> Self {
        Self {
            sources: Arc::default(),
            journal: Arc::default(),
            head: watch::Sender::new(0),
            epoch: rand::random(),
            rights_checked: rights::CHECKED,
        }
    }
}

impl StatusRegistry {
    /// Looks at the rights of running watches that often instead of every 30 s.
    #[must_use]
    pub fn with_rights_checked(self, every: Duration) -> Self {
        Self { rights_checked: every, ..self }
    }

    /// Adds a kind. Adding it twice (two services of one process show it) keeps the first.
    pub fn add<K>(&self, cache: Cache<K>)
    where
        K: FluxObject + kube::Resource<DynamicType = ()>,
    {
        let source: Arc<dyn Source> = Arc::new(cache.clone());
        {
            let mut sources = self.sources.write();
            if sources.contains_key(K::KIND) {
                return;
            }
            sources.insert(K::KIND, source.clone());
        }
        // Weak: the cache holds its listeners, and would otherwise hold itself.
        let (source, journal, head) = (Arc::downgrade(&source), self.journal.clone(), self.head.clone());
        cache.on_change(move |change: &Change<K>| {
            if let (Some(source), Some(object)) = (Weak::upgrade(&source), change.latest()) {
                let key = ObjectKey::of(&**object);
                let mut journal = journal.lock();
                let subject = Subject { kind: K::KIND, key };
                // Changes come from the watch and from writes of our own: the object that the cache has now counts.
                if source.has(&subject.key) {
                    journal.applied(subject);
                } else {
                    journal.deleted(subject, convert::status(&**object), Instant::now());
                }
                head.send_replace(journal.head());
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
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    fn source(&self, kind: &str) -> Option<Arc<dyn Source>> {
        self.sources.read().get(kind).cloned()
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.sources.read().keys().copied().collect()
    }

    fn version(&self, position: u64) -> Version {
        Version { epoch: self.epoch, position }
    }
}
