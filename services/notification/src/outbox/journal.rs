//! The journal's records, one JSON text a line, and the state they add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Entry, Found, Target};
use crate::event::Event;

/// Longest line read back: an event of 3 MiB may grow sixfold by JSON escapes, and names its alerts.
pub(super) const MAX_LINE: u64 = 24 * 1024 * 1024;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Record {
    /// An event was accepted for these alerts.
    Accepted(Entry),
    /// The delivery for one alert has ended.
    Done { id: u64, alert: Target },
}

/// The state that all records together describe.
#[derive(Debug, Default)]
pub(super) struct State {
    entries: BTreeMap<u64, Entry>,
    greatest: u64,
}

impl State {
    /// Takes one record in.
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Accepted(entry) => {
                self.greatest = self.greatest.max(entry.id);
                self.entries.insert(entry.id, entry);
            }
            Record::Done { id, alert } => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.alerts.remove(&alert);
                }
            }
        }
    }

    /// Forgets what is delivered and older than the retention.
    pub(super) fn forget(&mut self, retention: SignedDuration, now: Timestamp) {
        self.entries
            .retain(|_, entry| !entry.alerts.is_empty() || now.duration_since(entry.accepted) < retention);
    }

    /// The records that a fresh journal needs.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.entries.values().cloned().map(Record::Accepted)
    }

    /// An id that was never used in this journal.
    pub(super) fn next_id(&self) -> u64 {
        self.greatest.saturating_add(1)
    }

    pub(super) fn found(&self) -> Found {
        let pending = self.entries.values().filter(|entry| !entry.alerts.is_empty()).cloned().collect();
        let recent = self.entries.values().map(|entry| (entry.key.clone(), entry.accepted)).collect();
        Found { pending, recent }
    }
}

pub(super) fn write_event<S: Serializer>(event: &Arc<Event>, serializer: S) -> Result<S::Ok, S::Error> {
    event.as_ref().serialize(serializer)
}

pub(super) fn read_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Event>, D::Error> {
    Event::deserialize(deserializer).map(Arc::new)
}
