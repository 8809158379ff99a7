//! The writer of conditions: how an object that is ready, stalled, retrying or in progress shows it (GEN-8 to GEN-10).

use jiff::Timestamp;
use weir_api::condition_type::{READY, RECONCILING, STALLED};
use weir_api::reason::{PROGRESSING, PROGRESSING_WITH_RETRY};
use weir_api::{Condition, FluxObject};

use super::{Status, find, remove, set};
use crate::Failure;

/// A writer of the conditions of one object at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    generation: i64,
    observed: i64,
    now: Timestamp,
}

impl Writer {
    /// Makes the writer for an object as a run found it.
    pub fn of<K: FluxObject>(object: &K, now: Timestamp) -> Self {
        let generation = object.meta().generation.unwrap_or_default();
        Self { generation, observed: object.observed_generation(), now }
    }

    /// Generation of the object as the run found it.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Returns the message of a run that has nothing more exact to say.
    pub fn progress(&self) -> String {
        if self.generation == self.observed {
            return "reconciliation in progress".to_owned();
        }
        format!("processing object: new generation {} -> {}", self.observed, self.generation)
    }

    /// Sets one condition.
    pub fn set(
        &self,
        conditions: &mut Vec<Condition>,
        type_: &str,
        status: Status,
        reason: &str,
        message: &str,
    ) {
        set(conditions, type_, status, reason, message, self.generation, self.now);
    }

    /// Shows an object that is as its spec asks.
    pub fn ready(&self, conditions: &mut Vec<Condition>, reason: &str, message: &str) {
        remove(conditions, RECONCILING);
        remove(conditions, STALLED);
        self.set(conditions, READY, Status::True, reason, message);
    }

    /// Shows a failure; `progress` is what the run was doing, for the Reconciling condition of an object that is tried again.
    pub fn failed(&self, conditions: &mut Vec<Condition>, failure: &Failure, progress: &str) {
        let Failure { reason, event_reason, message, .. } = failure;
        if failure.is_stalled() {
            remove(conditions, RECONCILING);
            self.set(conditions, STALLED, Status::True, event_reason, message);
        } else {
            remove(conditions, STALLED);
            self.set(conditions, RECONCILING, Status::True, PROGRESSING_WITH_RETRY, progress);
        }
        self.not_ready(conditions, reason, message);
    }

    /// Sets Ready alone to False.
    pub fn not_ready(&self, conditions: &mut Vec<Condition>, reason: &str, message: &str) {
        self.set(conditions, READY, Status::False, reason, message);
    }

    /// Shows that a run with something new to do lasts.
    pub fn progressing(&self, conditions: &mut Vec<Condition>, ready: &str, reconciling: &str) {
        remove(conditions, STALLED);
        self.set(conditions, RECONCILING, Status::True, PROGRESSING, reconciling);
        self.set(conditions, READY, Status::Unknown, PROGRESSING, ready);
    }

    /// Shows that a run lasts that knows of nothing new yet. The Ready condition stays as it is.
    pub fn looking(&self, conditions: &mut Vec<Condition>, message: &str) {
        if find(conditions, READY).is_none_or(|ready| ready.status == Status::Unknown.as_str()) {
            return self.progressing(conditions, message, message);
        }
        remove(conditions, STALLED);
        self.set(conditions, RECONCILING, Status::True, PROGRESSING, message);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;
    use weir_api::Receiver;

    use super::*;

    type Write = fn(&Writer, &mut Vec<Condition>);

    fn object(generation: i64, observed: i64) -> Receiver {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "generation": generation },
            "spec": { "type": "generic", "resources": [] },
            "status": { "observedGeneration": observed },
        }))
        .unwrap()
    }

    #[rstest]
    #[case(2, 2, "reconciliation in progress")]
    #[case(2, 1, "processing object: new generation 1 -> 2")]
    #[case(1, -1, "processing object: new generation -1 -> 1")]
    fn progress_names_a_new_generation(
        #[case] generation: i64,
        #[case] observed: i64,
        #[case] expected: &str,
    ) {
        let writer = Writer::of(&object(generation, observed), Timestamp::UNIX_EPOCH);
        assert_eq!(writer.progress(), expected);
    }

    fn nothing(_: &Writer, _: &mut Vec<Condition>) {}

    fn ready(writer: &Writer, conditions: &mut Vec<Condition>) {
        writer.ready(conditions, "Good", "done");
    }

    fn stalled(writer: &Writer, conditions: &mut Vec<Condition>) {
        writer.failed(conditions, &Failure::stalled("Bad", "no"), "at work");
    }

    fn retried(writer: &Writer, conditions: &mut Vec<Condition>) {
        writer.failed(conditions, &Failure::retried("Bad", "no"), "at work");
    }

    fn progressing(writer: &Writer, conditions: &mut Vec<Condition>) {
        writer.progressing(conditions, "wait", "at work");
    }

    /// GEN-9.
    #[rstest]
    #[case::absent(nothing, "Ready=Unknown Progressing: look")]
    #[case::unknown(progressing, "Ready=Unknown Progressing: look")]
    #[case::ready(ready, "Ready=True Good: done")]
    #[case::stalled(stalled, "Ready=False Bad: no")]
    #[case::retried(retried, "Ready=False Bad: no")]
    fn a_run_without_news_leaves_what_is_known_of_ready(#[case] before: Write, #[case] expected: &str) {
        let writer = Writer::of(&object(3, 3), Timestamp::UNIX_EPOCH);
        let mut conditions = Vec::new();
        before(&writer, &mut conditions);
        writer.looking(&mut conditions, "look");
        let line = |c: &Condition| format!("{}={} {}: {}", c.type_, c.status, c.reason, c.message);
        let lines: Vec<_> = conditions.iter().map(line).collect();
        assert_eq!(lines, ["Reconciling=True Progressing: look", expected]);
    }

    /// Each state replaces each other one, without rest.
    #[rstest]
    #[case(ready, &["Ready=True Good: done"])]
    #[case(stalled, &["Stalled=True Bad: no", "Ready=False Bad: no"])]
    #[case(retried, &["Reconciling=True ProgressingWithRetry: at work", "Ready=False Bad: no"])]
    #[case(progressing, &["Reconciling=True Progressing: at work", "Ready=Unknown Progressing: wait"])]
    fn states(#[case] write: Write, #[case] expected: &[&str]) {
        let writer = Writer::of(&object(3, 3), Timestamp::UNIX_EPOCH);
        let before: [Write; 4] = [ready, stalled, retried, progressing];
        for before in before {
            let mut conditions = Vec::new();
            before(&writer, &mut conditions);
            write(&writer, &mut conditions);
            let line = |c: &Condition| format!("{}={} {}: {}", c.type_, c.status, c.reason, c.message);
            assert_eq!(conditions.iter().map(line).collect::<Vec<_>>(), expected);
            assert!(conditions.iter().all(|condition| condition.observed_generation == Some(3)));
        }
    }
}
