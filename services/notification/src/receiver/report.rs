//! Status, event and next run of a Receiver (NTF-87 … NTF-89).

use std::time::Duration;

use jiff::Timestamp;
use weir_api::{Receiver, reason};
use weir_runtime::condition::Writer;
use weir_runtime::{EventDraft, Next, Outcome};

use super::decide::Verdict;

/// Pause between two looks at the Secret, for a Receiver without an interval.
const DEFAULT_INTERVAL: weir_api::Duration = weir_api::Duration::from_secs(600);

/// Turns a verdict into the outcome of the run.
pub(super) fn report(receiver: &Receiver, verdict: Verdict, now: Timestamp) -> Outcome<Receiver> {
    let writer = Writer::of(receiver, now);
    let mut desired = receiver.clone();
    let status = desired.status.get_or_insert_default();
    let path = match verdict {
        Verdict::Ready(path) => path,
        Verdict::AsBefore(text) => return Outcome::new(desired, Next::Backoff).info(text),
        Verdict::Failed(failure) => {
            if !failure.is_stalled() {
                status.webhook_path = None;
                // The API's default for a status that nobody has written: nothing is observed yet.
                if status.observed_generation == 0 {
                    status.observed_generation = -1;
                }
            }
            return failure.outcome(desired, &writer, "Reconciliation in progress");
        }
    };
    let text = format!("Receiver initialized for path: {path}");
    writer.ready(&mut status.conditions, reason::SUCCEEDED, &text);
    status.webhook_path = Some(path);
    status.observed_generation = writer.generation();
    // The path is as good as a password: it stands in the status by contract, and nowhere else (NTF-95).
    let event = finished(receiver);
    let text = event.message.clone();
    let interval = Duration::from(interval(receiver));
    // Zero is the word for never.
    let next = if interval.is_zero() { Next::Stop } else { Next::Interval(interval) };
    Outcome::new(desired, next).event(event).info(text)
}

/// Makes the event that ends each visit to a ready Receiver.
pub(super) fn finished(receiver: &Receiver) -> EventDraft {
    let text = format!("Reconciliation finished, next run in {}", interval(receiver));
    EventDraft::info(reason::SUCCEEDED, text)
}

fn interval(receiver: &Receiver) -> weir_api::Duration {
    receiver.spec.interval.unwrap_or(DEFAULT_INTERVAL)
}

#[cfg(test)]
mod tests;
