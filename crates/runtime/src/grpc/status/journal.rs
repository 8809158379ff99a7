//! The order in which objects have changed. It has one entry an object: a reader who is behind finds the newest state of each,
//! and the journal is no longer than the list of objects and remembered deletions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weir_proto::Message;
use weir_proto::status::v1::ObjectStatus;

use crate::cache::ObjectKey;

/// Time for which a deletion is sent to a client that resumes: longer than a client is away that restarts or moves.
pub(super) const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// Most bytes of remembered deletions; tens of thousands of objects. Beyond it the oldest is forgotten before its time.
pub(super) const MAX_REMEMBERED_BYTES: usize = 32 * 1024 * 1024;

/// An object, whatever has become of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    pub kind: &'static str,
    pub key: ObjectKey,
}

/// The newest thing that happened to an object.
#[derive(Debug, Clone)]
pub(super) enum Happened {
    /// It is there, as the cache has it.
    Applied(Subject),
    /// It is gone; as it was last.
    Deleted(Arc<ObjectStatus>),
}

#[derive(Debug)]
struct Entry {
    subject: Subject,
    deletion: Option<Deletion>,
}

#[derive(Debug)]
struct Deletion {
    object: Arc<ObjectStatus>,
    at: Instant,
}

/// The place that a reader has come to: everything up to here has been sent to it.
#[derive(Debug)]
pub(super) struct Bookmark(Arc<AtomicU64>);

impl Bookmark {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn move_to(&self, position: u64) {
        self.0.store(position, Ordering::Relaxed);
    }
}

/// The journal of all kinds of a process. Positions grow by one with every change.
#[derive(Debug, Default)]
pub(super) struct Journal {
    entries: BTreeMap<u64, Entry>,
    positions: BTreeMap<Subject, u64>,
    /// Positions of deletions.
    deletions: BTreeSet<u64>,
    deletion_bytes: usize,
    head: u64,
    /// Position of the newest deletion that is no longer known.
    forgotten: u64,
    readers: Vec<Weak<AtomicU64>>,
}

impl Journal {
    /// Position of the newest change.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// Records that an object is there, or has changed.
    pub(super) fn applied(&mut self, subject: Subject) {
        self.record(subject, None);
    }

    /// Records that an object is gone. One that was never seen is nothing to anybody.
    pub(super) fn deleted(&mut self, subject: Subject, last: ObjectStatus, now: Instant) {
        let known = self.positions.get(&subject).and_then(|position| self.entries.get(position));
        if known.is_some_and(|entry| entry.deletion.is_none()) {
            self.deletion_bytes += last.encoded_len();
            self.record(subject, Some(Deletion { object: Arc::new(last), at: now }));
        }
        self.forget(now);
    }

    fn record(&mut self, subject: Subject, deletion: Option<Deletion>) {
        if let Some(position) = self.positions.get(&subject).copied() {
            self.remove(position);
        }
        self.head += 1;
        if deletion.is_some() {
            self.deletions.insert(self.head);
        }
        self.positions.insert(subject.clone(), self.head);
        self.entries.insert(self.head, Entry { subject, deletion });
    }

    fn remove(&mut self, position: u64) {
        let Some(entry) = self.entries.remove(&position) else { return };
        self.positions.remove(&entry.subject);
        if let Some(deletion) = entry.deletion {
            self.deletions.remove(&position);
            self.deletion_bytes = self.deletion_bytes.saturating_sub(deletion.object.encoded_len());
        }
    }

    /// Drops old deletions that no reader still has to receive, and the oldest of too many.
    fn forget(&mut self, now: Instant) {
        let told = self.slowest_reader();
        while let Some(position) = self.deletions.first().copied() {
            let deletion = self.entries.get(&position).and_then(|entry| entry.deletion.as_ref());
            let is_old = deletion.is_none_or(|deletion| now >= deletion.at + REMEMBERED);
            if !(is_old && position <= told) && self.deletion_bytes <= MAX_REMEMBERED_BYTES {
                return;
            }
            self.remove(position);
            self.forgotten = position;
        }
    }

    fn slowest_reader(&mut self) -> u64 {
        self.readers.retain(|reader| reader.strong_count() > 0);
        let positions = self.readers.iter().filter_map(Weak::upgrade);
        positions.map(|reader| reader.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX)
    }

    /// Lets a reader begin behind `position`; none when it would miss a deletion, or when there was no such position.
    pub(super) fn reader(&mut self, position: u64, now: Instant) -> Option<Bookmark> {
        self.forget(now);
        self.knows(position).then(|| {
            let reader = Arc::new(AtomicU64::new(position));
            self.readers.push(Arc::downgrade(&reader));
            Bookmark(reader)
        })
    }

    /// Returns true when all that was deleted after `position` is still known.
    pub(super) fn knows(&self, position: u64) -> bool {
        (self.forgotten..=self.head).contains(&position)
    }

    /// The first change after `position` that `wants` takes, with its position; without one, the position of the newest.
    pub(super) fn next(&self, position: u64, wants: impl Fn(&Subject) -> bool) -> (u64, Option<Happened>) {
        let later = (Bound::Excluded(position), Bound::Unbounded);
        let found = self.entries.range(later).find(|(_, entry)| wants(&entry.subject));
        let Some((position, entry)) = found else { return (self.head, None) };
        let happened = match &entry.deletion {
            Some(deletion) => Happened::Deleted(deletion.object.clone()),
            None => Happened::Applied(entry.subject.clone()),
        };
        (*position, Some(happened))
    }

    /// The objects of a kind that are there, in the order of namespace and name, from behind `after` on; those of one
    /// namespace, or of all where it is empty.
    pub(super) fn there<'j>(
        &'j self,
        kind: &'static str,
        namespace: &'j str,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &'j ObjectKey> {
        let subject = |key| Subject { kind, key };
        let first = Bound::Included(subject(ObjectKey::new(namespace, "")));
        let start = after.map_or(first, |after| Bound::Excluded(subject(after.clone())));
        let subjects = self.positions.range((start, Bound::Unbounded));
        subjects
            .take_while(move |(subject, _)| {
                subject.kind == kind && (namespace.is_empty() || subject.key.namespace == namespace)
            })
            .filter(|(_, position)| !self.deletions.contains(position))
            .map(|(subject, _)| &subject.key)
    }
}

#[cfg(test)]
mod tests;
