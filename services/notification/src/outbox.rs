//! The durable outbox: events that were accepted and not yet delivered survive a kill at any instruction.
//!
//! ```text
//!  accept ──► journal (append, fsync) ──► 202 to the sender ──► deliveries ──► done (append) ──► compaction
//! ```
//!
//! # Invariants
//!
//! - [`Outbox::accept`] returns only after the event is on disk together with the alerts it goes to.
//! - Pending events are bounded by [`MAX_PENDING_KIB`]; when that is used up events are refused, never dropped.
//! - After a start every delivery that was not recorded as done is made again: at least once. An event that was accepted
//!   within the duplicate window is known by its key also after a restart, so a sender's own retry is not a second event.

mod journal;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_runtime::ObjectKey;

use self::journal::Record;
use self::writer::{Command, Writer};
use crate::event::Event;

/// KiB of events that may wait for their deliveries: 64 MiB, a fraction of the Pod's memory limit in Flux's manifests.
pub const MAX_PENDING_KIB: u32 = 64 * 1024;
/// Size that the smallest event counts as, in KiB, so that the number of small ones is bounded too (16 384).
const MIN_EVENT_KIB: u32 = 4;
/// Commands that may wait for the disk; senders wait when it is full.
const COMMANDS: usize = 1024;

/// Errors that make the outbox unusable.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// A file operation failed.
    #[error("outbox {path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Another process works with the same folder.
    #[error("outbox {0} is in use by another process")]
    Locked(PathBuf),
    /// The writer has ended, since the service stops or the disk failed.
    #[error("outbox is closed")]
    Closed,
}

/// An event with the alerts it still has to be delivered for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Unique within the journal, growing.
    pub id: u64,
    /// Key that equal events share.
    pub key: String,
    /// When the event was accepted.
    pub accepted: Timestamp,
    /// The event as received, cleaned, without its token.
    #[serde(serialize_with = "journal::write_event", deserialize_with = "journal::read_event")]
    pub event: Arc<Event>,
    /// Alerts whose delivery is not done.
    pub alerts: BTreeSet<Target>,
}

/// An Alert by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Namespace of the Alert.
    pub namespace: String,
    /// Name of the Alert.
    pub name: String,
}

impl From<&Target> for ObjectKey {
    fn from(target: &Target) -> Self {
        Self::new(target.namespace.clone(), target.name.clone())
    }
}

/// Room for one event; given back when dropped.
pub struct Room(#[allow(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// The records that a start finds on disk.
#[derive(Default)]
pub struct Found {
    /// Events with deliveries to be made.
    pub pending: Vec<Entry>,
    /// Keys of the events accepted within the retention, and when.
    pub recent: Vec<(String, Timestamp)>,
}

/// Handle of the outbox.
#[derive(Clone)]
pub struct Outbox {
    commands: mpsc::Sender<Command>,
    room: Arc<Semaphore>,
    next_id: Arc<AtomicU64>,
}

impl Outbox {
    /// Opens the folder, reads what is there, and starts the writer; it ends when the last handle is gone.
    ///
    /// Delivered events are remembered for `retention`, so that their duplicates are recognised after a restart.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub async fn open(
        folder: &Path,
        retention: SignedDuration,
        now: Timestamp,
    ) -> Result<(Self, Found, JoinHandle<()>), OutboxError> {
        let folder = folder.to_owned();
        let opened = tokio::task::spawn_blocking(move || Writer::open(&folder, retention, now)).await;
        let writer = opened.map_err(|_| OutboxError::Closed)??;
        let found = writer.found();
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let outbox = Self {
            commands,
            room: Arc::new(Semaphore::new(MAX_PENDING_KIB as usize)),
            next_id: Arc::new(AtomicU64::new(writer.next_id())),
        };
        let task = tokio::task::spawn_blocking(move || writer.run(inbox));
        Ok((outbox, found, task))
    }

    /// Room for an event of so many bytes; `None` when too much is pending already.
    pub fn room_for(&self, bytes: usize) -> Option<Room> {
        self.room.clone().try_acquire_many_owned(kib(bytes)).ok().map(Room)
    }

    /// As [`Self::room_for`], but waits until there is room.
    pub async fn wait_for_room(&self, bytes: usize) -> Option<Room> {
        self.room.clone().acquire_many_owned(kib(bytes)).await.ok().map(Room)
    }

    /// Puts an event on disk; returns its id once it is there.
    ///
    /// # Errors
    /// When the event cannot be written.
    pub async fn accept(
        &self,
        key: String,
        event: Arc<Event>,
        alerts: BTreeSet<Target>,
        now: Timestamp,
    ) -> Result<Entry, OutboxError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let entry = Entry { id, key, accepted: now, event, alerts };
        let (written, answer) = oneshot::channel();
        let command = Command { record: Record::Accepted(entry.clone()), now, written: Some(written) };
        self.commands.send(command).await.map_err(|_| OutboxError::Closed)?;
        answer.await.map_err(|_| OutboxError::Closed)??;
        Ok(entry)
    }

    /// Notes that the delivery of an event for an alert has ended, well or not.
    ///
    /// Not synced: if the note is lost in a crash of the machine, the delivery is made once more.
    pub async fn done(&self, id: u64, alert: Target, now: Timestamp) {
        let command = Command { record: Record::Done { id, alert }, now, written: None };
        // A closed outbox means that the service ends; the delivery is then made again after the start.
        let _ = self.commands.send(command).await;
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes / 1024).unwrap_or(u32::MAX).clamp(MIN_EVENT_KIB, MAX_PENDING_KIB)
}

#[cfg(test)]
mod tests;
