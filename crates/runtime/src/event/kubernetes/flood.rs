//! Limits on the Events about one object, those of client-go: similar ones become one, and of too many some are left out
//! (CMP-18). An object that keeps failing, each time in other words, fills neither etcd nor the terminal of a person.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use moka::sync::Cache;

use super::{REMEMBERED, REPEAT_WINDOW};
use crate::event::{Event, Severity};

/// Messages of one object, type and reason from which on they are one Event.
const SIMILAR: usize = 10;
/// Beginning of the message of such an Event.
const COMBINED: &str = "(combined from similar events): ";
/// Events about one object of one type at once.
const BURST: f64 = 25.0;
/// Seconds until another one may be written.
const REFILL: f64 = 300.0;

/// The messages that were alike, by their hash, and when the last one came.
#[derive(Clone)]
struct Group {
    messages: Vec<u64>,
    last: Instant,
}

/// The Events that may still be written, and when that was true.
#[derive(Clone, Copy)]
struct Allowance {
    events: f64,
    since: Instant,
}

/// Counts Events by object. The events of one object come one after the other. Clones share it.
#[derive(Clone)]
pub(super) struct Flood {
    hasher: RandomState,
    groups: Cache<u64, Group>,
    allowances: Cache<u64, Allowance>,
}

impl Flood {
    pub(super) fn new() -> Self {
        Self {
            // Seeded at random, so that nobody can choose two Events with the same hash.
            hasher: RandomState::new(),
            groups: Cache::builder().max_capacity(REMEMBERED).time_to_idle(REPEAT_WINDOW).build(),
            allowances: Cache::builder().max_capacity(REMEMBERED).build(),
        }
    }

    /// Makes an event the one that stands for all similar ones, if there are many; returns true for such a one.
    pub(super) fn combine(&self, event: &mut Event, now: Instant) -> bool {
        let key = self.hasher.hash_one((object(event), &event.reason));
        let known = self.groups.get(&key);
        let known = known.filter(|group| now.saturating_duration_since(group.last) <= REPEAT_WINDOW);
        let mut messages = known.map(|group| group.messages).unwrap_or_default();
        let message = self.hasher.hash_one(&event.message);
        if !messages.contains(&message) {
            messages.push(message);
        }
        let is_one_of_many = messages.len() >= SIMILAR;
        if is_one_of_many {
            messages.remove(0);
            event.message.insert_str(0, COMBINED);
            event.metadata.clear();
        }
        self.groups.insert(key, Group { messages, last: now });
        is_one_of_many
    }

    /// Returns false for an event that is one too many.
    pub(super) fn admits(&self, event: &Event, now: Instant) -> bool {
        let key = self.hasher.hash_one(object(event));
        let events = self.allowances.get(&key).map_or(BURST, |Allowance { events, since }| {
            let waited: Duration = now.saturating_duration_since(since);
            (events + waited.as_secs_f64() / REFILL).min(BURST)
        });
        let is_admitted = events >= 1.0;
        let events = if is_admitted { events - 1.0 } else { events };
        self.allowances.insert(key, Allowance { events, since: now });
        is_admitted
    }
}

/// The object of an event, and its type.
fn object(event: &Event) -> (&str, &str, &str, &str, bool) {
    let involved = &event.involved_object;
    let is_warning = event.severity == Severity::Error;
    (&involved.kind, &involved.namespace, &involved.name, &involved.uid, is_warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::kubernetes::tests::event;

    #[test]
    fn the_tenth_similar_event_stands_for_all_that_follow() {
        let (flood, now) = (Flood::new(), Instant::now());
        let told = |reason: &str, message: &str, at| {
            let mut event = event("1", reason, message);
            let is_combined = flood.combine(&mut event, at);
            assert_eq!(is_combined, event.message == format!("(combined from similar events): {message}"));
            is_combined
        };
        for number in 0..9 {
            assert!(!told("Failed", &format!("no {number}"), now));
            assert!(!told("Failed", "no 0", now), "the same message is no other one");
        }
        assert!(told("Failed", "no 9", now) && told("Failed", "no 10", now));
        assert!(!told("Done", "no 11", now), "another reason");
        assert!(!told("Failed", "no 12", now + REPEAT_WINDOW + Duration::from_secs(1)), "it was long ago");
    }

    #[test]
    fn one_object_has_so_many_events_and_another_one_after_a_while() {
        let (flood, now) = (Flood::new(), Instant::now());
        let admitted = |uid: &str, at| flood.admits(&event(uid, "Failed", "no"), at);
        assert_eq!((0..40).filter(|_| admitted("1", now)).count(), 25);
        assert!(admitted("2", now), "another object");
        let later = now + Duration::from_secs(301);
        assert!(admitted("1", later) && !admitted("1", later));
    }
}
