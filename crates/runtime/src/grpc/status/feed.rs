//! One watcher's stream: what is there, a mark, then changes. Every item is looked up when the watcher is ready for it, so
//! that a slow one gets the newest state of each object and costs nobody anything.

use futures::{Stream, stream};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;
use weir_proto::status::v1::{ChangeType, ObjectStatus, WatchResponse};

use super::StatusRegistry;
use super::journal::{Bookmark, Happened, Subject};
use super::version::{Version, out_of_range};
use crate::cache::ObjectKey;

/// The objects that one watcher selected.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub kinds: Vec<&'static str>,
    pub namespace: String,
    pub name: String,
}

impl Selection {
    fn wants(&self, subject: &Subject) -> bool {
        self.kinds.contains(&subject.kind) && self.wants_key(&subject.key)
    }

    fn wants_key(&self, key: &ObjectKey) -> bool {
        (self.namespace.is_empty() || self.namespace == key.namespace)
            && (self.name.is_empty() || self.name == key.name)
    }
}

/// A watcher that is served.
pub(super) struct Feed {
    registry: StatusRegistry,
    selection: Selection,
    bookmark: Bookmark,
    heads: watch::Receiver<u64>,
    stage: Stage,
}

/// The part of the stream that the watcher is at.
enum Stage {
    /// Existing objects: the kinds still to come, the first of them from behind an object on.
    There { kinds: Vec<&'static str>, after: Option<ObjectKey> },
    /// Changes up to the position at which the watcher came.
    Missed { until: u64 },
    /// Changes as they happen.
    Live,
}

impl Feed {
    /// Begins with what is there, or behind what the watcher has seen.
    ///
    /// # Errors
    ///
    /// `OUT_OF_RANGE` when it is not known what has been deleted since.
    pub(super) fn new(
        registry: StatusRegistry,
        selection: Selection,
        since: Option<Version>,
    ) -> Result<Self, Status> {
        let heads = registry.head.subscribe();
        let mut journal = registry.journal.lock();
        let head = journal.head();
        let (position, stage) = match since {
            None => {
                let kinds = selection.kinds.iter().rev().copied().collect();
                (head, Stage::There { kinds, after: None })
            }
            Some(version) if version.epoch == registry.epoch => {
                (version.position, Stage::Missed { until: head })
            }
            Some(_) => return Err(out_of_range()),
        };
        let bookmark = journal.reader(position, Instant::now()).ok_or_else(out_of_range)?;
        drop(journal);
        Ok(Self { registry, selection, bookmark, heads, stage })
    }

    /// The stream. An error is its last item.
    pub(super) fn stream(self) -> impl Stream<Item = Result<WatchResponse, Status>> + Send + 'static {
        stream::unfold(Some(self), |state| async {
            let mut feed = state?;
            let item = feed.next().await;
            let state = item.is_ok().then_some(feed);
            Some((item, state))
        })
    }

    async fn next(&mut self) -> Result<WatchResponse, Status> {
        loop {
            // Looked at before the journal is, so that no change falls between.
            self.heads.mark_unchanged();
            let item = match &self.stage {
                Stage::There { .. } => self.next_there(),
                Stage::Missed { .. } | Stage::Live => self.next_change()?,
            };
            if let Some(item) = item {
                return Ok(item);
            }
            if self.heads.changed().await.is_err() {
                return Err(Status::unavailable("the service stops"));
            }
        }
    }

    /// The next object that is there, and at their end the mark.
    fn next_there(&mut self) -> Option<WatchResponse> {
        let Stage::There { kinds, after } = &mut self.stage else { return None };
        while let Some(kind) = kinds.last().copied() {
            let key = {
                let journal = self.registry.journal.lock();
                let mut there = journal.there(kind, &self.selection.namespace, after.as_ref());
                there.find(|key| self.selection.wants_key(key)).cloned()
            };
            let Some(key) = key else {
                kinds.pop();
                *after = None;
                continue;
            };
            let object = self.registry.source(kind).and_then(|source| source.get(&key));
            *after = Some(key);
            // One that has gone meanwhile was never shown.
            if let Some(object) = object {
                return Some(WatchResponse {
                    r#type: ChangeType::Applied.into(),
                    object: Some(object),
                    resource_version: String::new(),
                });
            }
        }
        self.stage = Stage::Live;
        Some(self.response(ChangeType::Synced, None))
    }

    /// The next change; none while there is none.
    fn next_change(&mut self) -> Result<Option<WatchResponse>, Status> {
        loop {
            let (position, happened) = {
                let journal = self.registry.journal.lock();
                if !journal.knows(self.bookmark.get()) {
                    return Err(out_of_range());
                }
                journal.next(self.bookmark.get(), |subject| self.selection.wants(subject))
            };
            if let Stage::Missed { until } = self.stage
                && (happened.is_none() || position > until)
            {
                self.stage = Stage::Live;
                return Ok(Some(self.response(ChangeType::Synced, None)));
            }
            self.bookmark.move_to(position);
            match happened {
                None => return Ok(None),
                Some(Happened::Deleted(object)) => {
                    let object = ObjectStatus::clone(&object);
                    return Ok(Some(self.response(ChangeType::Deleted, Some(object))));
                }
                Some(Happened::Applied(Subject { kind, key })) => {
                    let source = self.registry.source(kind);
                    // One that has gone meanwhile comes again, as a deletion.
                    if let Some(object) = source.and_then(|source| source.get(&key)) {
                        return Ok(Some(self.response(ChangeType::Applied, Some(object))));
                    }
                }
            }
        }
    }

    fn response(&self, type_: ChangeType, object: Option<ObjectStatus>) -> WatchResponse {
        let resource_version = self.registry.version(self.bookmark.get()).to_string();
        WatchResponse { r#type: type_.into(), object, resource_version }
    }
}

#[cfg(test)]
mod tests;
