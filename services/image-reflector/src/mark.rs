//! Conditions that both kinds set alike (GEN-8 to GEN-10).

use jiff::Timestamp;
use weir_api::{Condition, FluxObject, condition_type, reason};
use weir_runtime::condition::{self, Status};

/// The failure of a run: the reason and message of its conditions and its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Reason of the conditions.
    pub(crate) reason: &'static str,
    /// Text of the conditions.
    pub(crate) message: String,
    /// True when only a change of the spec can help.
    pub(crate) is_terminal: bool,
}

impl Failure {
    /// A failure that is tried again.
    pub(crate) fn retry(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_terminal: false }
    }

    /// A failure that waits for a change of the spec.
    pub(crate) fn terminal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_terminal: true }
    }
}

/// Sets conditions of one object at one time.
pub(crate) struct Mark {
    generation: i64,
    observed: i64,
    now: Timestamp,
}

impl Mark {
    /// Reads generations from the object as it was found.
    pub(crate) fn of<K: FluxObject>(object: &K, now: Timestamp) -> Self {
        let generation = object.meta().generation.unwrap_or_default();
        Self { generation, observed: object.observed_generation(), now }
    }

    /// Returns the message that a run in progress has.
    pub(crate) fn progress(&self) -> String {
        if self.generation == self.observed {
            return "reconciliation in progress".to_owned();
        }
        format!("processing object: new generation {} -> {}", self.observed, self.generation)
    }

    /// All is well.
    pub(crate) fn ready(&self, conditions: &mut Vec<Condition>, message: &str) {
        condition::remove(conditions, condition_type::RECONCILING);
        condition::remove(conditions, condition_type::STALLED);
        self.set(conditions, condition_type::READY, Status::True, reason::SUCCEEDED, message);
    }

    /// Not well; `progress` is what the run was doing when it failed.
    pub(crate) fn failed(&self, conditions: &mut Vec<Condition>, failure: &Failure, progress: &str) {
        let Failure { reason, message, is_terminal } = failure;
        if *is_terminal {
            condition::remove(conditions, condition_type::RECONCILING);
            self.set(conditions, condition_type::STALLED, Status::True, reason, message);
        } else {
            condition::remove(conditions, condition_type::STALLED);
            let retrying = reason::PROGRESSING_WITH_RETRY;
            self.set(conditions, condition_type::RECONCILING, Status::True, retrying, progress);
        }
        self.set(conditions, condition_type::READY, Status::False, reason, message);
    }

    fn set(&self, conditions: &mut Vec<Condition>, type_: &str, status: Status, reason: &str, message: &str) {
        condition::set(conditions, type_, status, reason, message, self.generation, self.now);
    }
}
