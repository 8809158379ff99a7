//! The inputs and the result of a reconciler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use weir_api::FluxObject;

use super::progress::{Phase, Phases};
use super::requested_at;
use crate::cache::ObjectKey;
use crate::event::EventDraft;
use crate::queue::{Cause, Ticket};

/// The line of a failure in the log, as controller-runtime has it.
const FAILED: &str = "Reconciler error";

/// One run over one object.
pub struct Run<K> {
    /// The object as it is known, with its finalizer.
    pub object: Arc<K>,
    /// Its name.
    pub key: ObjectKey,
    /// Causes of the run, most urgent first.
    pub causes: Vec<Cause>,
    /// When the run started.
    pub started: Instant,
    /// The time to decide by.
    pub now: Timestamp,
    /// Cancelled when something newer made this run obsolete, or the service stops: return soon, at a safe point.
    pub cancel: CancellationToken,
    phases: Phases<K>,
}

impl<K: FluxObject> Run<K> {
    pub(super) fn new(object: Arc<K>, ticket: Ticket, phases: Phases<K>, now: Timestamp) -> Self {
        let Ticket { key, causes, cancel, .. } = ticket;
        Self { object, key, causes, started: Instant::now(), now, cancel, phases }
    }

    /// Records the step of a run that has something new to do. It is written to the status (Reconciling=True, Ready=Unknown,
    /// both `Progressing`) only when the run lasts; both messages are complete sentences for people.
    pub fn phase(&self, ready: impl Into<String>, reconciling: impl Into<String>) {
        self.phases.set(Phase::of(ready, reconciling));
    }

    /// As [`Run::phase`], of a run that does not know yet of anything new: Ready stays what it is, unless it is absent or
    /// Unknown.
    pub fn looking(&self, message: &str) {
        self.phases.set(Phase::looking(message));
    }

    /// As [`Run::phase`], and writes the status of `object` at once. It lacks a claim that has turned out to be untrue: nobody
    /// must rely on that while the run makes it true again.
    pub fn retract(&self, object: K, message: &str) {
        self.phases.set(Phase { retracted: Some(Arc::new(object)), ..Phase::of(message, message) });
    }

    /// Writes the status of `object`, with the phase, before the run does something that a restarted service could not
    /// find out otherwise. Returns the object as it was written; a run that gets none must not go on. The outcome starts
    /// from this object.
    pub async fn record(&self, object: K) -> Option<Arc<K>> {
        self.phases.record(Arc::new(object)).await
    }

    /// Returns true when someone asked for this run by annotation and has not been served yet.
    pub fn is_requested(&self) -> bool {
        let requested = requested_at(&*self.object);
        requested.is_some() && requested != self.object.last_handled_reconcile_at()
    }

    /// Returns true when the cause is among those of this run.
    pub fn caused_by(&self, cause: Cause) -> bool {
        self.causes.contains(&cause)
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome<K> {
    /// The object with the status it should have.
    pub object: K,
    /// When to look again.
    pub next: Next,
    /// Events to send.
    pub events: Vec<EventDraft>,
    /// The one log line of the run; `None` logs at debug level only.
    pub log: Option<(tracing::Level, String)>,
    /// The cause of a failure, which stands beside the line of the log (OBS-01).
    pub cause: Option<String>,
    /// True when the object keeps the status that it has: only the events are reported.
    pub(super) is_silent: bool,
    /// True when the request that the object carries is not handled by this run.
    pub(super) leaves_request: bool,
}

impl<K> Outcome<K> {
    /// A result to report.
    pub fn new(object: K, next: Next) -> Self {
        Self {
            object,
            next,
            events: Vec::new(),
            log: None,
            cause: None,
            is_silent: false,
            leaves_request: false,
        }
    }

    /// Returns no result: a newer cause made the run obsolete and follows at once. Only its events are reported.
    pub fn superseded(object: K) -> Self {
        Self { is_silent: true, ..Self::new(object, Next::Superseded) }
    }

    /// Returns no result: it is too early for one. The run is made again after `pause`.
    pub fn postponed(object: K, pause: Duration) -> Self {
        Self { is_silent: true, ..Self::new(object, Next::After(pause)) }
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, event: EventDraft) -> Self {
        self.events.push(event);
        self
    }

    /// Leaves the request that the object carries to the next run: who waits for it would take this result for the answer.
    #[must_use]
    pub fn leaving_request(mut self) -> Self {
        self.leaves_request = true;
        self
    }

    /// Sets the log line at info level.
    #[must_use]
    pub fn info(mut self, message: impl Into<String>) -> Self {
        self.log = Some((tracing::Level::INFO, message.into()));
        self
    }

    /// Sets the log line at error level: that the run has failed, and its cause.
    #[must_use]
    pub fn error(self, cause: impl Into<String>) -> Self {
        self.failed(FAILED, cause)
    }

    /// Sets the log line at error level in other words.
    #[must_use]
    pub fn failed(mut self, message: impl Into<String>, cause: impl Into<String>) -> Self {
        self.log = Some((tracing::Level::ERROR, message.into()));
        self.cause = Some(cause.into());
        self
    }
}

/// When an object is looked at again; a change of the object itself always comes sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// After its interval, with jitter; zero means not by time. Failures are forgotten.
    Interval(Duration),
    /// When it would have been without this run; after this interval, with jitter, if that is not known. Failures are forgotten.
    Unchanged(Duration),
    /// After exactly this long. Failures are forgotten.
    After(Duration),
    /// After the exponential retry delay.
    Backoff,
    /// After the exponential retry delay, or after the time that a server has asked for where that is longer, but never longer than
    /// the longest retry delay.
    BackoffFrom(Duration),
    /// Runs again when a watch reports a change, and at the latest after this long. No worker is held.
    Wait {
        /// When to stop waiting.
        give_up: Duration,
    },
    /// Not until the object changes.
    Stop,
    /// A newer cause is queued already.
    Superseded,
}

impl Next {
    /// Returns the next run after exactly this interval. Zero means not by time: else one run would follow the other at once.
    pub fn exactly(interval: Duration) -> Self {
        if interval.is_zero() { Self::Interval(interval) } else { Self::After(interval) }
    }
}

/// The result of finalizing an object.
#[derive(Debug)]
pub enum Finalized<K> {
    /// The finalizer can go.
    Done {
        /// Events to send.
        events: Vec<EventDraft>,
    },
    /// Not yet: try again with backoff.
    Retry {
        /// The object with the status it should have, when that changes.
        object: Option<K>,
        /// Events to send.
        events: Vec<EventDraft>,
    },
    /// Waiting for a watch, at the latest this long.
    Wait {
        /// When to look again in any case.
        give_up: Duration,
        /// Events to send.
        events: Vec<EventDraft>,
    },
}
