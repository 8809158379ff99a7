//! From what a run came to, to the status, the events and the next run (KS-REC-30..32, KS 13, KS 14). Pure: the caller reads the clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use weir_api::condition_type::{HEALTHY, READY, RECONCILING, STALLED};
use weir_api::kustomize::{HistoryEntry, KustomizationStatus};
use weir_api::reason::{PROGRESSING, PROGRESSING_WITH_RETRY, SUCCEEDED};
use weir_api::{Kustomization, condition_time};
use weir_runtime::condition::{self, Status, Writer};
use weir_runtime::{EventDraft, Next, Outcome};

use super::Settings;
use super::attempt::{Attempt, Done, IN_PROGRESS};
use super::decide::{conditions, is_healthy};
use super::failure::{Class, Failure, reason, shown};
use super::inventory::to_status;
use crate::cluster::GROUP;
use crate::source::is_revision;

/// Snapshots kept in the history (KS-STA-30).
const MAX_HISTORY: usize = 5;

/// The moment of a report: for conditions, and to measure how long things took.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) time: Timestamp,
    pub(crate) instant: Instant,
}

/// The report of a run.
pub(crate) fn report(
    object: &Arc<Kustomization>,
    now: Moment,
    settings: &Settings,
    done: Done,
) -> Outcome<Kustomization> {
    let status = done.recorded().cloned().unwrap_or_else(|| status_of(object));
    let mut draft = Draft::new(object, status, now);
    match done {
        Done::Superseded => Outcome::superseded(Kustomization::clone(object)),
        Done::Postponed(pause) | Done::Uncorrected(pause) => {
            Outcome::postponed(Kustomization::clone(object), pause)
        }
        Done::Left => Outcome::new(Kustomization::clone(object), in_between(object)),
        Done::Refused(failure) => refused(draft, settings, None, &failure),
        Done::Blocked(attempt, failure) => refused(draft, settings, Some(&attempt), &failure),
        Done::Failed(attempt, failure) => failed(draft, settings, &attempt, &failure),
        Done::Canceled(attempt, trigger) => canceled(draft, &attempt, &trigger),
        Done::Finished(attempt, _) if attempt.is_correction => {
            draft.tell_changes(&attempt);
            draft.keep_inventory(&attempt);
            draft.outcome(in_between(object))
        }
        Done::Finished(attempt, health) => finished(draft, &attempt, health),
        Done::Waiting { waiting, give_up } => {
            draft.tell_changes(&waiting.attempt);
            if waiting.is_announced {
                draft.announce(&waiting.attempt);
            }
            draft.outcome(Next::Wait { give_up })
        }
    }
}

/// Returns an object that is left as it is, because it is suspended or not yet to be deleted, with a status that has seen its newest
/// generation. One that is Ready stays so for its dependents (KS-REC-30); one that has failed is still to be tried again.
pub(crate) fn left(object: &Kustomization) -> Option<Kustomization> {
    let mut object = object.clone();
    let generation = object.metadata.generation?;
    let status = object.status.as_mut()?;
    match condition::find(&status.conditions, READY)?.status.as_str() {
        "True" => status.observed_generation = generation,
        "False" => {
            let conditions = status.conditions.iter_mut();
            conditions
                .filter(|known| known.type_ == RECONCILING)
                .for_each(|known| known.observed_generation = Some(generation));
        }
        _ => return None,
    }
    Some(object)
}

/// The status; that of a new object says that nothing was observed yet, as the API server's default does.
pub(super) fn status_of(object: &Kustomization) -> KustomizationStatus {
    let never = || KustomizationStatus { observed_generation: -1, ..KustomizationStatus::default() };
    object.status.clone().unwrap_or_else(never)
}

fn interval(object: &Kustomization) -> Next {
    Next::Interval(object.spec.interval.to_std())
}

/// After a run that is none of the regular ones: these look at health, and at all that no watch tells of.
fn in_between(object: &Kustomization) -> Next {
    Next::Unchanged(object.spec.interval.to_std())
}

/// The table of failures: requeue, event and conditions of each class (KS 2, KS-EVT-6).
fn refused(
    mut draft: Draft<'_>,
    settings: &Settings,
    attempt: Option<&Attempt>,
    failure: &Failure,
) -> Outcome<Kustomization> {
    let retry = Next::exactly(draft.retry_interval());
    let soon = settings.requeue_dependency;
    let was_told = draft.says(failure);
    match failure.class {
        Class::Denied | Class::Invalid => {
            if failure.class == Class::Invalid {
                draft.status.observed_generation = draft.writer.generation();
            }
            let stalled = weir_runtime::Failure::stalled(failure.reason, &failure.message);
            draft.writer.failed(&mut draft.status.conditions, &stalled, "");
            draft.tell(EventDraft::error(failure.reason, failure.message.clone()), attempt);
            draft.outcome(Next::Stop).error(failure.message.clone())
        }
        Class::Absent => {
            draft.forget_check();
            draft.not_ready(failure);
            draft.outcome(retry).info(format!("Source '{}' not found", draft.source()))
        }
        Class::Pending => {
            draft.forget_check();
            match attempt {
                None => draft.not_ready(failure),
                Some(attempt) => draft.failed(failure.reason, &failure.message, attempt),
            }
            draft.outcome(Next::After(soon.to_std())).info(failure.message.clone())
        }
        Class::Dependency => {
            draft.not_ready(failure);
            let message = format!("Dependencies do not meet ready condition, retrying in {soon}");
            if !was_told {
                draft.tell(EventDraft::info(failure.reason, message.clone()), attempt);
            }
            draft.outcome(Next::Wait { give_up: soon.to_std() }).info(message)
        }
        Class::Again(pause) => {
            draft.not_ready(failure);
            draft.outcome(Next::After(pause)).info(failure.message.clone())
        }
        Class::Retry => {
            draft.not_ready(failure);
            draft.tell(EventDraft::error(failure.reason, failure.message.clone()), attempt);
            draft.outcome(retry).error(failure.message.clone())
        }
    }
}

fn failed(
    mut draft: Draft<'_>,
    settings: &Settings,
    attempt: &Attempt,
    failure: &Failure,
) -> Outcome<Kustomization> {
    draft.keep_inventory(attempt);
    let (pause, next) = match failure.class {
        Class::Retry if attempt.is_overtaken => (Duration::ZERO, Next::After(Duration::ZERO)),
        Class::Retry => (draft.retry_interval(), Next::exactly(draft.retry_interval())),
        Class::Again(pause) => (pause, Next::After(pause)),
        _ => return refused(draft, settings, Some(attempt), failure),
    };
    let message = match (failure.reason, attempt.checked_since) {
        (reason::HEALTH_CHECK_FAILED, Some(since)) => {
            draft.set(HEALTHY, Status::False, failure.reason, &failure.message);
            let took = draft.since(since);
            format!("health check failed after {}: {}", text(took), failure.message)
        }
        _ => failure.message.clone(),
    };
    draft.tell_changes(attempt);
    draft.attempted(attempt);
    draft.failed(failure.reason, shown(&message), attempt);
    let is_recorded = [
        reason::RECONCILIATION_FAILED,
        reason::PRUNE_FAILED,
        reason::PRUNE_REFUSED,
        reason::HEALTH_CHECK_FAILED,
    ];
    let is_final = failure.class == Class::Retry;
    if is_final && is_recorded.contains(&failure.reason) {
        draft.record(attempt, failure.reason);
    }
    if is_final {
        draft.tell(EventDraft::error(failure.reason, message), attempt);
    }
    let retry = weir_api::Duration::from(pause);
    let took = text(draft.since(attempt.started));
    let line = format!("Reconciliation failed after {took}, next try in {retry}");
    draft.outcome(next).failed(line, failure.message.clone())
}

/// KS-HC-31: the next run follows at once, and answers who has asked for it.
fn canceled(mut draft: Draft<'_>, attempt: &Attempt, trigger: &str) -> Outcome<Kustomization> {
    draft.attempted(attempt);
    let message = format!("New reconciliation triggered by {trigger}");
    draft.failed(reason::HEALTH_CHECK_CANCELED, &message, attempt);
    let message = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
    draft.tell(EventDraft::info(reason::HEALTH_CHECK_CANCELED, message.clone()), attempt);
    draft.outcome(Next::After(Duration::ZERO)).info(message).leaving_request()
}

fn finished(mut draft: Draft<'_>, attempt: &Attempt, health: Option<Duration>) -> Outcome<Kustomization> {
    let is_new = !is_revision(draft.status.last_applied_revision.as_deref(), &attempt.revision);
    draft.tell_changes(attempt);
    draft.attempted(attempt);
    match health {
        None => condition::remove(&mut draft.status.conditions, HEALTHY),
        Some(took) => {
            let message = format!("Health check passed in {}", text(took));
            if !attempt.was_healthy || (is_new && !attempt.changed.is_empty()) {
                draft.tell(EventDraft::info(PROGRESSING, message.clone()), attempt);
            }
            // A check that passes again is no news: the message stays, and with it the status.
            if !is_healthy(draft.object) || is_new {
                draft.set(HEALTHY, Status::True, SUCCEEDED, &message);
            } else {
                draft.observe(HEALTHY);
            }
        }
    }
    draft.status.last_applied_revision = Some(attempt.revision.clone());
    draft.status.last_applied_origin_revision.clone_from(&attempt.origin_revision);
    draft.status.observed_generation = draft.writer.generation();
    let message = format!("Applied revision: {}", attempt.revision);
    draft.writer.ready(&mut draft.status.conditions, reason::RECONCILIATION_SUCCEEDED, &message);
    draft.record(attempt, reason::RECONCILIATION_SUCCEEDED);
    let next = draft.object.spec.interval;
    let took = text(draft.since(attempt.started));
    let message = format!("Reconciliation finished in {took}, next run in {next}");
    let event = EventDraft::info(reason::RECONCILIATION_SUCCEEDED, message.clone());
    draft.tell(event.with(format!("{GROUP}/commit_status"), "update"), attempt);
    let next = if attempt.is_overtaken { Next::After(Duration::ZERO) } else { interval(draft.object) };
    draft.outcome(next).info(message)
}

/// The status in the making.
struct Draft<'a> {
    object: &'a Arc<Kustomization>,
    status: KustomizationStatus,
    writer: Writer,
    now: Moment,
    events: Vec<EventDraft>,
}

impl<'a> Draft<'a> {
    fn new(object: &'a Arc<Kustomization>, status: KustomizationStatus, now: Moment) -> Self {
        Self { object, status, writer: Writer::of(&**object, now.time), now, events: Vec::new() }
    }

    /// Returns how long ago something began.
    fn since(&self, began: Instant) -> Duration {
        self.now.instant.saturating_duration_since(began)
    }

    fn outcome(&self, next: Next) -> Outcome<Kustomization> {
        let object = Kustomization { status: Some(self.status.clone()), ..Kustomization::clone(self.object) };
        self.events.iter().cloned().fold(Outcome::new(object, next), Outcome::event)
    }

    /// The source as the spec refers to it (KS-SRC-4).
    fn source(&self) -> String {
        let reference = &self.object.spec.source_ref;
        let namespace = reference.namespace.iter().map(|namespace| format!("{namespace}/"));
        format!("{}/{}{}", reference.kind, namespace.collect::<String>(), reference.name)
    }

    fn retry_interval(&self) -> Duration {
        let spec = &self.object.spec;
        spec.retry_interval.unwrap_or(spec.interval).to_std()
    }

    fn set(&mut self, type_: &str, status: Status, reason: &str, message: &str) {
        self.writer.set(&mut self.status.conditions, type_, status, reason, message);
    }

    /// A condition that stays as it is speaks of this generation too.
    fn observe(&mut self, type_: &str) {
        let conditions = self.status.conditions.iter_mut();
        conditions.filter(|known| known.type_ == type_).for_each(|known| {
            known.observed_generation = Some(self.writer.generation());
        });
    }

    /// Takes away the announcement of a health check that does not go on.
    fn forget_check(&mut self) {
        let conditions = &mut self.status.conditions;
        conditions.retain(|known| known.type_ != HEALTHY || known.status != Status::Unknown.as_str());
    }

    /// Returns true when the Ready condition says this already.
    fn says(&self, failure: &Failure) -> bool {
        condition::find(conditions(self.object), READY)
            .is_some_and(|ready| ready.reason == failure.reason && ready.message == failure.shown())
    }

    /// Ready=False; a failure before keeps its Reconciling condition.
    fn not_ready(&mut self, failure: &Failure) {
        let conditions = &mut self.status.conditions;
        condition::remove(conditions, STALLED);
        if let Some(message) = condition::find(conditions, RECONCILING).map(|known| known.message.clone()) {
            self.writer.set(conditions, RECONCILING, Status::True, PROGRESSING_WITH_RETRY, &message);
        }
        self.writer.not_ready(conditions, failure.reason, failure.shown());
    }

    /// Ready=False of a run that is tried again, and the step at which it ended.
    fn failed(&mut self, reason: &'static str, message: &str, attempt: &Attempt) {
        let failure = weir_runtime::Failure::retried(reason, message);
        self.writer.failed(&mut self.status.conditions, &failure, &attempt.phase);
    }

    /// KS-HC-4
    fn announce(&mut self, attempt: &Attempt) {
        self.attempted(attempt);
        self.writer.progressing(&mut self.status.conditions, IN_PROGRESS, &attempt.phase);
        self.set(HEALTHY, Status::Unknown, PROGRESSING, &attempt.phase);
    }

    fn attempted(&mut self, attempt: &Attempt) {
        if attempt.is_attempted {
            self.status.last_attempted_revision = Some(attempt.revision.clone());
        }
        self.keep_inventory(attempt);
    }

    fn keep_inventory(&mut self, attempt: &Attempt) {
        if let Some(entries) = &attempt.inventory {
            self.status.inventory = Some(to_status(entries));
        }
    }

    /// KS-SSA-91, KS-GC-6
    fn tell_changes(&mut self, attempt: &Attempt) {
        if attempt.is_told {
            return;
        }
        for lines in [&attempt.changed, &attempt.pruned] {
            if !lines.is_empty() {
                self.tell(EventDraft::info(PROGRESSING, lines.clone()), attempt);
            }
        }
        for warning in &attempt.warnings {
            self.tell(EventDraft::error(warning.reason, warning.message.clone()), attempt);
        }
    }

    /// KS-EVT-3
    fn tell<'b>(&mut self, event: EventDraft, attempt: impl Into<Option<&'b Attempt>>) {
        let Some(attempt) = attempt.into() else { return self.events.push(event) };
        let event = event.with(format!("{GROUP}/revision"), attempt.revision.clone());
        let event = match &attempt.origin_revision {
            Some(origin) => event.with(format!("{GROUP}/originRevision"), origin.clone()),
            None => event,
        };
        self.events.push(event);
    }

    /// KS-STA-30
    fn record(&mut self, attempt: &Attempt, status: &str) {
        let Some(digest) = &attempt.digest else { return };
        let took = self.since(attempt.started);
        let history = &mut self.status.history;
        let place = history
            .iter()
            .position(|entry| entry.digest == *digest && entry.last_reconciled_status == status);
        let known = place.map(|place| history.remove(place));
        let now = condition_time(self.now.time);
        let revisions = [
            ("revision", Some(attempt.revision.clone())),
            ("originRevision", attempt.origin_revision.clone()),
        ];
        let metadata = revisions.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let entry = HistoryEntry {
            digest: digest.clone(),
            first_reconciled: known.as_ref().map_or(&now, |known| &known.first_reconciled).clone(),
            last_reconciled: now,
            last_reconciled_duration: took.into(),
            last_reconciled_status: status.to_owned(),
            total_reconciliations: known.map_or(0, |known| known.total_reconciliations) + 1,
            metadata: metadata.collect(),
        };
        history.insert(0, entry);
        history.truncate(MAX_HISTORY);
    }
}

fn text(duration: Duration) -> String {
    weir_api::Duration::from(duration).to_string()
}

#[cfg(test)]
mod tests;
