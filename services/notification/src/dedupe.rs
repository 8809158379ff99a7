//! One event per key and window: repeats within `--rate-limit-interval` are refused (NTF-17 … NTF-19).

mod gate;

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

pub use self::gate::{Gate, Pass};
use crate::event::{Event, metadata};

/// Most keys remembered; beyond it the oldest windows are forgotten first. About 150 bytes each, so 30 MiB at most, and far
/// above what 1 000 events a second that differ leave within the default window of 5 minutes after repeats are dropped.
pub const MAX_KEYS: usize = 200_000;

/// Returns the key of an event, the same for events that are the same one: lower hex SHA-256 of the identifying parts (NTF-17).
///
/// Severity, reason and uid take no part.
pub fn key(event: &Event) -> String {
    let object = &event.involved_object;
    let mut parts = vec![
        "event".to_owned(),
        format!("name={}", object.name),
        format!("namespace={}", object.namespace),
        format!("kind={}", object.kind),
        format!("message={}", event.message),
    ];
    for name in [metadata::ORIGIN_REVISION, metadata::REVISION, metadata::TOKEN] {
        if let Some(value) = metadata::own(event, name) {
            parts.push(format!("{name}={value}"));
        }
    }
    hex::encode(Sha256::digest(parts.join("/")))
}

/// The answer for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Returns true when it may pass.
    pub is_admitted: bool,
    /// When the next one of its kind may.
    pub reset: Timestamp,
}

#[derive(Debug)]
struct Window {
    /// First sighting of the key: all windows of the key are aligned to it.
    origin: Timestamp,
    /// Number of the window in which one has passed.
    passed: i128,
    last_seen: Timestamp,
}

/// Fixed windows per key, aligned to the first sighting of the key (NTF-18). The caller passes the time.
#[derive(Debug)]
pub struct Windows {
    interval: SignedDuration,
    keys: HashMap<String, Window>,
    swept: Timestamp,
}

impl Windows {
    /// An empty store; an interval of zero or less admits everything.
    pub fn new(interval: SignedDuration) -> Self {
        Self { interval, keys: HashMap::new(), swept: Timestamp::MIN }
    }

    /// Takes the token of the key's current window if it is still there.
    pub fn admit(&mut self, key: &str, now: Timestamp) -> Admission {
        if !self.interval.is_positive() {
            return Admission { is_admitted: true, reset: now };
        }
        self.sweep(now);
        let number = |origin: Timestamp| {
            // A clock that was set back counts as the window in which the last one passed.
            let elapsed = now.duration_since(origin).as_nanos().max(0);
            elapsed / self.interval.as_nanos().max(1)
        };
        let is_admitted = match self.keys.get_mut(key) {
            Some(window) => {
                let current = number(window.origin);
                window.last_seen = now;
                let fresh = current > window.passed;
                window.passed = window.passed.max(current);
                fresh
            }
            None => {
                self.keys.insert(key.to_owned(), Window { origin: now, passed: 0, last_seen: now });
                true
            }
        };
        Admission { is_admitted, reset: self.reset_of(key, now) }
    }

    /// Gives the token back: the event could not be accepted, so that its repetition must pass.
    pub fn release(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// Number of keys remembered.
    pub fn remembered(&self) -> usize {
        self.keys.len()
    }

    fn reset_of(&self, key: &str, now: Timestamp) -> Timestamp {
        let Some(window) = self.keys.get(key) else { return now };
        let windows = i32::try_from(window.passed.saturating_add(1)).unwrap_or(i32::MAX);
        self.interval
            .checked_mul(windows)
            .and_then(|since_origin| window.origin.checked_add(since_origin).ok())
            .unwrap_or(now)
    }

    /// Forgets keys that were idle for two intervals, once an interval; keeps the store below [`MAX_KEYS`].
    fn sweep(&mut self, now: Timestamp) {
        let is_full = self.keys.len() >= MAX_KEYS;
        if !is_full && now.duration_since(self.swept) < self.interval {
            return;
        }
        self.swept = now;
        let idle = self.interval.checked_mul(2).unwrap_or(SignedDuration::MAX);
        self.keys.retain(|_, window| now.duration_since(window.last_seen) <= idle);
        if self.keys.len() >= MAX_KEYS {
            let mut seen: Vec<Timestamp> = self.keys.values().map(|window| window.last_seen).collect();
            let (_, median, _) = seen.select_nth_unstable(MAX_KEYS / 2);
            let median = *median;
            self.keys.retain(|_, window| window.last_seen > median);
        }
    }
}

#[cfg(test)]
mod tests;
