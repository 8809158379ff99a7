//! A watcher's stream: what is there, then every change that a consumer of artifacts cares about.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tonic::Status;
use weir_proto::source::v1::WatchResponse;
use weir_runtime::ObjectKey;

use crate::catalog::{Catalog, Entry};

/// Changes that a slow watcher may be behind before it has to start anew; a burst of a thousand objects fits.
const BACKLOG: usize = 4096;

/// Every change of every source. Cheap to clone.
#[derive(Clone)]
pub(super) struct News {
    changes: broadcast::Sender<Arc<Entry>>,
}

/// The objects that one watcher selected.
pub(super) struct Selection {
    pub(super) kinds: Vec<&'static str>,
    /// Empty for all.
    pub(super) namespace: String,
    /// Resource version up to which the watcher has seen everything.
    pub(super) since: u64,
}

impl Selection {
    fn wants(&self, entry: &Entry) -> bool {
        let is_there = self.namespace.is_empty() || entry.key.namespace == self.namespace;
        is_there && self.kinds.contains(&entry.kind)
    }
}

/// The state of a source that a watcher knows: digest, revision, readiness.
type Known = (String, String, bool);

impl News {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let changes = broadcast::Sender::new(BACKLOG);
        for kind in catalog.kinds() {
            let changes = changes.clone();
            // Nobody may be listening.
            kind.follow(Box::new(move |_, entry| drop(changes.send(Arc::new(entry)))));
        }
        Self { changes }
    }

    /// Every change from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.changes.subscribe()
    }

    /// Streams the present sources that the watcher has not seen, then the new ones.
    pub(super) fn stream(
        &self,
        catalog: &Catalog,
        selection: Selection,
    ) -> impl Stream<Item = Result<WatchResponse, Status>> + Send + 'static {
        // Subscribed before the list is made: a change in between is sent twice rather than never.
        let changes = BroadcastStream::new(self.changes.subscribe());
        let listed: Vec<Entry> = catalog.kinds().flat_map(|kind| kind.list()).collect();
        let mut told = Told::default();
        let mut there = Vec::new();
        for entry in listed.iter().filter(|entry| selection.wants(entry)) {
            // Entries that the watcher has seen count as known, but are not sent again.
            there.extend(told.news(entry).filter(|_| entry.version > selection.since).map(Ok));
        }
        let news = changes.filter_map(move |change| {
            let item = match change {
                Ok(entry) => selection.wants(&entry).then(|| told.news(&entry)).flatten().map(Ok),
                Err(_) => Some(Err(Status::resource_exhausted(
                    "changes were missed: watch again from the last resource version",
                ))),
            };
            std::future::ready(item)
        });
        stream::iter(there).chain(until_error(news))
    }
}

/// The state that one watcher has received.
#[derive(Default)]
struct Told(HashMap<(&'static str, ObjectKey), Known>);

impl Told {
    /// Returns the part of an entry that is new to the watcher.
    fn news(&mut self, entry: &Entry) -> Option<WatchResponse> {
        let id = (entry.kind, entry.key.clone());
        let artifact = entry.artifact.as_ref().filter(|_| !entry.deleted);
        let Some(artifact) = artifact else {
            let (digest, revision, _) = self.0.remove(&id)?;
            return Some(WatchResponse { digest, revision, deleted: true, ..base(entry) });
        };
        let known = (artifact.digest.clone(), artifact.revision.clone(), entry.ready);
        if self.0.get(&id) == Some(&known) {
            return None;
        }
        self.0.insert(id, known);
        Some(WatchResponse {
            revision: artifact.revision.clone(),
            digest: artifact.digest.clone(),
            url: artifact.url.clone(),
            size: artifact.size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
            metadata: artifact.metadata.clone().into_iter().collect(),
            ready: entry.ready,
            ..base(entry)
        })
    }
}

fn base(entry: &Entry) -> WatchResponse {
    WatchResponse {
        kind: entry.kind.to_owned(),
        namespace: entry.key.namespace.clone(),
        name: entry.key.name.clone(),
        resource_version: entry.version.to_string(),
        ..WatchResponse::default()
    }
}

/// Ends a stream after its first error: what follows would have a gap.
fn until_error<T: Send + 'static>(
    items: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
    items.scan(false, |ended, item| {
        let next = (!*ended).then_some(item);
        *ended |= matches!(next, Some(Err(_)));
        std::future::ready(next)
    })
}

#[cfg(test)]
mod tests {
    use weir_api::Artifact;

    use super::*;

    fn entry(digest: &str, ready: bool) -> Entry {
        let artifact =
            Artifact { digest: digest.into(), revision: format!("r-{digest}"), ..Artifact::default() };
        Entry {
            kind: "GitRepository",
            key: ObjectKey::new("a", "b"),
            version: 7,
            artifact: (!digest.is_empty()).then_some(artifact),
            ready,
            deleted: false,
            handled: None,
        }
    }

    #[test]
    fn only_news_is_told() {
        let mut told = Told::default();
        assert!(told.news(&entry("", false)).is_none(), "nothing to fetch yet");
        let first = told.news(&entry("1", true)).unwrap();
        assert_eq!((first.digest.as_str(), first.ready, first.resource_version.as_str()), ("1", true, "7"));
        assert!(told.news(&entry("1", true)).is_none());
        assert!(!told.news(&entry("1", false)).unwrap().ready);
        assert_eq!(told.news(&entry("2", true)).unwrap().revision, "r-2");
        let lost = told.news(&entry("", false)).unwrap();
        assert_eq!((lost.deleted, lost.digest.as_str()), (true, "2"));
        assert!(told.news(&Entry { deleted: true, ..entry("2", true) }).is_none());
    }
}
