//! The journal's records, one JSON text a line, and the state they add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Entry, Found, Target};
use crate::dedupe::MAX_KEYS;
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
    /// An event of which all deliveries have ended.
    Known { id: u64, key: String, accepted: Timestamp },
}

/// The state that all records together describe.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Events with deliveries to be made.
    pending: BTreeMap<u64, Entry>,
    /// Of the others, whose events may be large, only what tells their repetitions.
    known: BTreeMap<u64, (String, Timestamp)>,
    greatest: u64,
}

impl State {
    /// Takes one record in.
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            // A journal of an earlier version has finished events like this.
            Record::Accepted(entry) if entry.alerts.is_empty() => {
                self.know(entry.id, entry.key, entry.accepted);
            }
            Record::Accepted(entry) => {
                self.greatest = self.greatest.max(entry.id);
                self.pending.insert(entry.id, entry);
            }
            Record::Done { id, alert } => {
                let Some(entry) = self.pending.get_mut(&id) else { return };
                entry.alerts.remove(&alert);
                if entry.alerts.is_empty()
                    && let Some(entry) = self.pending.remove(&id)
                {
                    self.know(id, entry.key, entry.accepted);
                }
            }
            Record::Known { id, key, accepted } => self.know(id, key, accepted),
        }
    }

    fn know(&mut self, id: u64, key: String, accepted: Timestamp) {
        self.greatest = self.greatest.max(id);
        self.known.insert(id, (key, accepted));
        if self.known.len() > MAX_KEYS {
            self.known.pop_first();
        }
    }

    /// Forgets what is delivered and older than the retention.
    pub(super) fn forget(&mut self, retention: SignedDuration, now: Timestamp) {
        self.known.retain(|_, (_, accepted)| now.duration_since(*accepted) < retention);
    }

    /// The records that a fresh journal needs.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let known = self.known.iter().map(|(id, (key, accepted))| Record::Known {
            id: *id,
            key: key.clone(),
            accepted: *accepted,
        });
        known.chain(self.pending.values().cloned().map(Record::Accepted))
    }

    /// An id that was never used in this journal.
    pub(super) fn next_id(&self) -> u64 {
        self.greatest.saturating_add(1)
    }

    pub(super) fn found(&self) -> Found {
        let pending = self.pending.values().map(|entry| (entry.key.clone(), entry.accepted));
        let recent = self.known.values().cloned().chain(pending).collect();
        Found { pending: self.pending.values().cloned().collect(), recent }
    }
}

pub(super) fn write_event<S: Serializer>(event: &Arc<Event>, serializer: S) -> Result<S::Ok, S::Error> {
    event.as_ref().serialize(serializer)
}

pub(super) fn read_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Event>, D::Error> {
    Event::deserialize(deserializer).map(Arc::new)
}
