//! Conditions, observations and events of a run (image spec 4.7, 6).

use jiff::Timestamp;
use weir_api::{ImageUpdateAutomation, condition_time, condition_type::REFSPEC_PENDING, reason};
use weir_runtime::condition::{self, Writer};
use weir_runtime::event::MAX_MESSAGE;
use weir_runtime::{EventDraft, Failure, Next, Outcome};

use super::act::{Done, Pushed};
use crate::policy::Selected;

/// The Ready message of every success.
const UP_TO_DATE: &str = "repository up-to-date";

/// Makes the outcome of a run.
pub(super) fn report(
    automation: &ImageUpdateAutomation,
    selected: Selected,
    result: Result<Done, Failure>,
    now: Timestamp,
) -> Outcome<ImageUpdateAutomation> {
    let mut object = automation.clone();
    let writer = Writer::of(automation, now);
    let was_ready = automation.status.as_ref().is_some_and(|status| condition::is_ready(&status.conditions));
    let status = object.status.get_or_insert_default();
    status.last_automation_run_time = Some(condition_time(now));
    match result {
        Ok(done) => {
            let event = event(&done, was_ready);
            let info = event.message.clone();
            match done {
                Done::Skipped => {}
                Done::UpToDate { revision, recovered } => {
                    status.observed_source_revision = Some(revision);
                    status.observed_policies = selected;
                    if let Some(commit) = recovered {
                        status.last_push_commit = Some(commit);
                        status.last_push_time = Some(condition_time(now));
                    }
                }
                Done::Pushed(pushed) => {
                    status.observed_source_revision = Some(pushed.revision);
                    status.observed_policies = selected;
                    status.last_push_commit = Some(pushed.commit);
                    status.last_push_time = Some(condition_time(now));
                }
            }
            condition::remove(&mut status.conditions, REFSPEC_PENDING);
            status.observed_generation = writer.generation();
            writer.ready(&mut status.conditions, reason::SUCCEEDED, UP_TO_DATE);
            // Without jitter, as with Flux.
            let next = Next::exactly(automation.spec.interval.to_std());
            Outcome::new(object, next).event(event).info(info)
        }
        Err(failure) => failure.outcome(object, &writer, &writer.progress()),
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
    if pushed.message.is_empty() {
        return text;
    }
    text.push('\n');
    let space = MAX_MESSAGE.saturating_sub(text.len());
    text.push_str(pushed.message.get(..pushed.message.floor_char_boundary(space)).unwrap_or_default());
    text
}

#[cfg(test)]
mod tests;
