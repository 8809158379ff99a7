//! The result of a run as conditions, status and events (SRC-AGN-1, SRC-AGN-5, SRC-AGN-10, SRC-AGN-11).

use std::time::Duration;

use weir_api::condition_type::{READY, RECONCILING, STALLED};
use weir_api::source::ExternalArtifactReference;
use weir_api::{ArtifactGenerator, FluxObject, reason};
use weir_runtime::condition::{self, Writer};
use weir_runtime::{EventDraft, Next, Outcome, Run};

use super::act::Made;
use super::failure::Failure;

/// Pause between two looks at the artifacts when nothing changes.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Message of a run in progress.
pub(super) const IN_PROGRESS: &str = "Reconciliation in progress";
const DISABLED: &str = "ReconciliationDisabled";

/// A run that brought, or found, all as it should be.
#[derive(Debug)]
pub(super) enum Done {
    /// Nothing had changed.
    Unchanged,
    /// All artifacts were built.
    Built { made: Vec<Made>, sources_digest: String },
}

/// The outcome of a run. `waiting` is the time after which sources that are not there are looked for again.
pub(super) fn outcome(
    run: &Run<ArtifactGenerator>,
    result: Result<Done, Failure>,
    waiting: Duration,
) -> Outcome<ArtifactGenerator> {
    match result {
        Ok(done) => succeeded(run, done),
        Err(failure) => failed(run, failure, waiting),
    }
}

fn succeeded(run: &Run<ArtifactGenerator>, done: Done) -> Outcome<ArtifactGenerator> {
    let mut object = ArtifactGenerator::clone(&run.object);
    let before = object.status.clone().unwrap_or_default().inventory;
    let status = object.status.get_or_insert_default();
    let mut events = Vec::new();
    match done {
        Done::Unchanged => {
            let message = format!("No drift detected, {} artifact(s) up to date", before.len());
            events.push(EventDraft::trace(READY, message));
        }
        Done::Built { made, sources_digest } => {
            let news = news(&before, &made);
            events.extend(news.iter().map(|made| reconciled(made)));
            events.push(EventDraft::trace(READY, generated(made.len())));
            events.extend(unmatched(run, &made));
            events.extend(summary(&news));
            status.inventory = made.into_iter().map(|made| made.entry).collect();
            status.observed_sources_digest = Some(sources_digest);
        }
    }
    let message = generated(status.inventory.len());
    let writer = Writer::of(&*run.object, run.now);
    writer.ready(&mut status.conditions, reason::SUCCEEDED, &message);
    let mut outcome = Outcome::new(object, Next::Interval(INTERVAL));
    let line = events.last().map_or(message, |event| event.message.clone());
    outcome.events = events;
    outcome.info(line)
}

fn generated(count: usize) -> String {
    format!("reconciliation succeeded, generated {count} artifact(s)")
}

/// Returns the artifacts that are new or changed.
fn news<'m>(before: &[ExternalArtifactReference], made: &'m [Made]) -> Vec<&'m Made> {
    let is_known = |made: &&Made| {
        let ExternalArtifactReference { namespace, name, digest, .. } = &made.entry;
        before.iter().any(|it| (&it.namespace, &it.name, &it.digest) == (namespace, name, digest))
    };
    made.iter().filter(|made| !is_known(made)).collect()
}

/// Returns the event about one artifact that is new or changed.
fn reconciled(made: &Made) -> EventDraft {
    let ExternalArtifactReference { namespace, name, .. } = &made.entry;
    let message = format!("ExternalArtifact/{namespace}/{name} reconciled with revision {}", made.revision);
    EventDraft::trace(READY, message)
}

/// Returns the event about all artifacts that are new or changed.
fn summary(news: &[&Made]) -> Option<EventDraft> {
    let line = |made: &&Made| {
        let ExternalArtifactReference { namespace, name, digest, .. } = &made.entry;
        format!("{namespace}/{name} ({digest})")
    };
    let lines: Vec<String> = news.iter().map(line).collect();
    let event = || EventDraft::info(READY, format!("external artifacts reconciled: {}", lines.join("\n")));
    (!lines.is_empty()).then(event)
}

/// A pattern that matches nothing removes all artifacts, which is not to happen in silence (deviation 26).
fn unmatched(run: &Run<ArtifactGenerator>, made: &[Made]) -> Option<EventDraft> {
    let pattern = run.object.spec.path_pattern.as_deref().filter(|pattern| !pattern.is_empty())?;
    let message = format!("pathPattern {pattern:?} matches no directory: there are no artifacts");
    made.is_empty().then(|| EventDraft::error("NoMatch", message))
}

fn failed(run: &Run<ArtifactGenerator>, failure: Failure, waiting: Duration) -> Outcome<ArtifactGenerator> {
    let Failure { cause, is_waiting, is_early, made } = failure;
    let mut object = ArtifactGenerator::clone(&run.object);
    let is_news = condition::find(object.conditions(), READY)
        .is_none_or(|ready| ready.status != "False" || ready.message != cause.message);
    let was_idle = condition::find(object.conditions(), READY).is_some()
        && condition::find(object.conditions(), RECONCILING).is_none();
    let status = object.status.get_or_insert_default();
    let events_of_made: Vec<EventDraft> =
        news(&status.inventory, &made).into_iter().map(reconciled).collect();
    for Made { entry, .. } in made {
        status.inventory.retain(|known| (&known.namespace, &known.name) != (&entry.namespace, &entry.name));
        status.inventory.push(entry);
    }
    for gone in [RECONCILING, STALLED] {
        condition::remove(&mut status.conditions, gone);
    }
    let cause = if is_waiting { cause.then(Next::After(waiting)) } else { cause };
    let mut outcome = cause.outcome(object, &Writer::of(&*run.object, run.now), IN_PROGRESS);
    // Nothing was in progress, and nothing is until the sources are there.
    if let (true, Some(conditions)) = (is_early && was_idle, outcome.object.conditions_mut()) {
        condition::remove(conditions, RECONCILING);
    }
    // A failure that is checked again every few seconds is reported once.
    if is_waiting && !is_news {
        outcome.events.clear();
    }
    outcome.events.splice(..0, events_of_made);
    outcome
}

/// Returns the status of a paused generator: one that was paused before anything was made of it gets a condition
/// about it; any other stays as it is (SRC-AGN-1).
pub(super) fn paused(object: &ArtifactGenerator, now: jiff::Timestamp) -> Option<ArtifactGenerator> {
    if condition::find(object.conditions(), READY).is_some() {
        return None;
    }
    let writer = Writer::of(object, now);
    let mut object = object.clone();
    writer.ready(object.conditions_mut()?, DISABLED, "Initialized with reconciliation suspended");
    Some(object)
}

/// Returns the event of a generator that is paused.
pub(super) fn paused_event() -> EventDraft {
    EventDraft::trace(DISABLED, "Reconciliation is disabled")
}
