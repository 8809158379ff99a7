//! Conditions, observations and events of a run (image spec 4.7, 6).

use jiff::Timestamp;
use weir_api::{Condition, ImageUpdateAutomation, condition_time, condition_type, reason};
use weir_runtime::{
    EventDraft, Next, Outcome,
    condition::{self, Status},
    event::MAX_MESSAGE,
};

use super::{
    Failure,
    act::{Done, Pushed},
};
use crate::policy::Selected;

/// The Ready message of every success.
const UP_TO_DATE: &str = "repository up-to-date";

/// Returns the message of a run in progress (GEN-9).
pub(super) fn progress(automation: &ImageUpdateAutomation) -> String {
    let generation = automation.metadata.generation.unwrap_or_default();
    let observed = automation.status.as_ref().map_or(-1, |status| status.observed_generation);
    if generation == observed {
        return "reconciliation in progress".to_owned();
    }
    format!("processing object: new generation {observed} -> {generation}")
}

/// Makes the outcome of a run.
pub(super) fn report(
    automation: &ImageUpdateAutomation,
    selected: Selected,
    result: Result<Done, Failure>,
    now: Timestamp,
) -> Outcome<ImageUpdateAutomation> {
    let mut object = automation.clone();
    let was_ready = automation.status.as_ref().is_some_and(|status| condition::is_ready(&status.conditions));
    let status = object.status.get_or_insert_default();
    status.last_automation_run_time = Some(condition_time(now));
    match result {
        Ok(done) => {
            let event = event(&done, was_ready);
            let info = event.message.clone();
            match done {
                Done::Skipped => {}
                Done::UpToDate { revision } => {
                    status.observed_source_revision = Some(revision);
                    status.observed_policies = selected;
                }
                Done::Pushed(pushed) => {
                    status.observed_source_revision = Some(pushed.revision);
                    status.observed_policies = selected;
                    status.last_push_commit = Some(pushed.commit);
                    status.last_push_time = Some(condition_time(now));
                }
            }
            status.observed_generation = automation.metadata.generation.unwrap_or_default();
            Marks { automation, now }.ready(&mut status.conditions);
            let interval = automation.spec.interval.to_std();
            Outcome::new(object, Next::Interval(interval)).event(event).info(info)
        }
        Err(failure) => {
            let message = failure.to_string();
            let (reason, is_terminal) = match failure {
                Failure::Terminal { reason, .. } => (reason, true),
                Failure::Retry { reason, .. } => (reason, false),
                Failure::Cancelled => (reason::FAILED, false),
            };
            let marks = Marks { automation, now };
            if is_terminal {
                status.observed_generation = automation.metadata.generation.unwrap_or_default();
                marks.stalled(&mut status.conditions, reason, &message);
            } else {
                marks.retrying(&mut status.conditions, reason, &message);
            }
            let next = if is_terminal { Next::Stop } else { Next::Backoff };
            Outcome::new(object, next).event(EventDraft::error(reason, &message)).error(message)
        }
    }
}

fn event(done: &Done, was_ready: bool) -> EventDraft {
    match done {
        Done::Pushed(pushed) => EventDraft::info(reason::SUCCEEDED, pushed_message(pushed)),
        _ if !was_ready => EventDraft::info(reason::SUCCEEDED, UP_TO_DATE),
        Done::UpToDate { .. } => EventDraft::trace(reason::SUCCEEDED, UP_TO_DATE),
        Done::Skipped => EventDraft::trace(reason::SUCCEEDED, "no change since last reconciliation"),
    }
}

/// The commit's own message comes last and is what is cut when all is too long (IU-30).
fn pushed_message(pushed: &Pushed) -> String {
    let commit = pushed.commit.get(..7).unwrap_or(&pushed.commit);
    let mut text = format!("pushed commit '{commit}' to branch '{}'", pushed.branch);
    if let Some(refspec) = &pushed.refspec {
        text.push_str(&format!(" and refspecs '{refspec}'"));
    }
    text.push('\n');
    let space = MAX_MESSAGE.saturating_sub(text.len());
    let end = (0..=space.min(pushed.message.len())).rev().find(|end| pushed.message.is_char_boundary(*end));
    text.push_str(pushed.message.get(..end.unwrap_or_default()).unwrap_or_default());
    text
}

/// Sets conditions of one object at one time.
struct Marks<'a> {
    automation: &'a ImageUpdateAutomation,
    now: Timestamp,
}

impl Marks<'_> {
    fn set(&self, conditions: &mut Vec<Condition>, type_: &str, status: Status, reason: &str, message: &str) {
        let generation = self.automation.metadata.generation.unwrap_or_default();
        condition::set(conditions, type_, status, reason, message, generation, self.now);
    }

    fn ready(&self, conditions: &mut Vec<Condition>) {
        condition::remove(conditions, condition_type::RECONCILING);
        condition::remove(conditions, condition_type::STALLED);
        self.set(conditions, condition_type::READY, Status::True, reason::SUCCEEDED, UP_TO_DATE);
    }

    fn stalled(&self, conditions: &mut Vec<Condition>, reason: &str, message: &str) {
        condition::remove(conditions, condition_type::RECONCILING);
        self.set(conditions, condition_type::STALLED, Status::True, reason, message);
        self.set(conditions, condition_type::READY, Status::False, reason, message);
    }

    fn retrying(&self, conditions: &mut Vec<Condition>, reason: &str, message: &str) {
        condition::remove(conditions, condition_type::STALLED);
        let progress = progress(self.automation);
        let retrying = reason::PROGRESSING_WITH_RETRY;
        self.set(conditions, condition_type::RECONCILING, Status::True, retrying, &progress);
        self.set(conditions, condition_type::READY, Status::False, reason, message);
    }
}

#[cfg(test)]
mod tests;
