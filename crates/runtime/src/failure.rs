//! A failed run: the conditions, the event, the log line and the next run that follow from it.

use std::time::Duration;

use weir_api::{FluxObject, reason};

use crate::condition::Writer;
use crate::controller::{Next, Outcome};
use crate::event::{EventDraft, Severity};
use crate::gate;

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Reason of the Ready condition.
    pub reason: &'static str,
    /// Reason of the Stalled condition and of the event.
    pub event_reason: &'static str,
    /// Text of the conditions, the event and the log line.
    pub message: String,
    /// Severity of the event; the log line has the level `info` unless it is an error.
    pub severity: Severity,
    /// The next run. [`Next::Stop`] makes the object Stalled.
    pub next: Next,
}

impl Failure {
    /// Makes a failure that is tried again, later each time.
    pub fn retried(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            event_reason: reason,
            message: message.into(),
            severity: Severity::Error,
            next: Next::Backoff,
        }
    }

    /// Makes a failure that a person has to end: nothing is tried until the object changes.
    pub fn stalled(reason: &'static str, message: impl Into<String>) -> Self {
        Self::retried(reason, message).then(Next::Stop)
    }

    /// Makes the failure of an object that names a ServiceAccount while the gate for that is off. `usage` completes "to use
    /// … authentication".
    pub fn workload_identity(usage: &str) -> Self {
        Self::stalled(reason::FEATURE_GATE_DISABLED, gate::workload_identity_needed(usage))
    }

    /// Returns the same failure with another next run.
    #[must_use]
    pub fn then(self, next: Next) -> Self {
        Self { next, ..self }
    }

    /// Returns the same failure of a request to a server, which gets the time that it has asked for, if any.
    #[must_use]
    pub fn after(self, asked: Option<Duration>) -> Self {
        match asked {
            Some(wait) => self.then(Next::BackoffFrom(wait)),
            None => self,
        }
    }

    /// Returns the same failure with another reason for its event.
    #[must_use]
    pub fn reported_as(self, event_reason: &'static str) -> Self {
        Self { event_reason, ..self }
    }

    /// True when nothing is tried until the object changes.
    pub fn is_stalled(&self) -> bool {
        self.next == Next::Stop
    }

    /// Reports the failure: `object` gets its conditions, and counts as observed if it is Stalled. `progress` is what the run
    /// was doing.
    pub fn outcome<K: FluxObject>(self, mut object: K, writer: &Writer, progress: &str) -> Outcome<K> {
        if let Some(conditions) = object.conditions_mut() {
            writer.failed(conditions, &self, progress);
        }
        if self.is_stalled() {
            object.set_observed_generation(writer.generation());
        }
        let event = EventDraft::new(self.severity, self.event_reason, &self.message);
        let outcome = Outcome::new(object, self.next).event(event);
        if self.severity == Severity::Error {
            outcome.error(self.message)
        } else {
            outcome.info(self.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::json;
    use weir_api::{Condition, Receiver};

    use super::*;

    fn failure() -> Failure {
        Failure::retried("Bad", "no")
    }

    const PATIENCE: Duration = Duration::from_secs(20);
    const PAUSE: Next = Next::After(Duration::from_secs(5));

    #[rstest]
    #[case(failure(), "Reconciling=ProgressingWithRetry Ready=Bad", 1, "Error Bad ERROR", Next::Backoff)]
    #[case(failure().after(Some(PATIENCE)), "Reconciling=ProgressingWithRetry Ready=Bad", 1, "Error Bad ERROR",
        Next::BackoffFrom(PATIENCE))]
    #[case(failure().after(None), "Reconciling=ProgressingWithRetry Ready=Bad", 1, "Error Bad ERROR", Next::Backoff)]
    #[case(failure().then(PAUSE), "Reconciling=ProgressingWithRetry Ready=Bad", 1, "Error Bad ERROR", PAUSE)]
    #[case(Failure { severity: Severity::Trace, ..failure() }, "Reconciling=ProgressingWithRetry Ready=Bad", 1,
        "Trace Bad INFO", Next::Backoff)]
    #[case(failure().reported_as("Why"), "Reconciling=ProgressingWithRetry Ready=Bad", 1, "Error Why ERROR", Next::Backoff)]
    #[case(Failure::stalled("Bad", "no"), "Stalled=Bad Ready=Bad", 2, "Error Bad ERROR", Next::Stop)]
    #[case(Failure::stalled("Bad", "no").reported_as("Why"), "Stalled=Why Ready=Bad", 2, "Error Why ERROR", Next::Stop)]
    fn outcomes(
        #[case] failure: Failure,
        #[case] conditions: &str,
        #[case] observed: i64,
        #[case] event: &str,
        #[case] next: Next,
    ) {
        let object: Receiver = serde_json::from_value(json!({
            "metadata": { "name": "a", "generation": 2 },
            "spec": { "type": "generic", "resources": [] },
            "status": { "observedGeneration": 1 },
        }))
        .unwrap();
        let writer = Writer::of(&object, Timestamp::UNIX_EPOCH);
        let outcome = failure.outcome(object, &writer, "at work");
        let reason = |condition: &Condition| format!("{}={}", condition.type_, condition.reason);
        let status = outcome.object.status.as_ref().unwrap();
        assert_eq!(status.conditions.iter().map(reason).collect::<Vec<_>>().join(" "), conditions);
        assert_eq!((status.observed_generation, outcome.next), (observed, next));
        let (level, line) = outcome.log.unwrap();
        let line = match outcome.cause {
            Some(cause) => {
                assert_eq!(line, "Reconciler error");
                cause
            }
            None => line,
        };
        let sent = &outcome.events[0];
        assert_eq!(format!("{:?} {} {level}", sent.severity, sent.reason), event);
        assert_eq!((sent.message.as_str(), line.as_str()), ("no", "no"));
    }
}
