//! The result of a run as conditions and events (SRC-REC-7…10, SRC-EVT-1…2).

use weir_api::condition_type::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, BUILD_FAILED, FETCH_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED,
    STORAGE_OPERATION_FAILED,
};
use weir_api::{Artifact, Condition, reason};
use weir_artifact::Revision;
use weir_runtime::condition::{self, Status, Writer};
use weir_runtime::{EventDraft, Next, Outcome};

use super::{Failure, Source, Success};
use crate::storage::Found;
use crate::verification::VERIFICATION_ERROR;

/// Annotations that events about artifacts carry.
const REVISION_KEY: &str = "source.toolkit.fluxcd.io/revision";
const DIGEST_KEY: &str = "source.toolkit.fluxcd.io/digest";
/// Time between looks at a source that does not say (SRC-REC-2).
const DEFAULT_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);
const NEW_ARTIFACT: &str = "NewArtifact";

/// Conditions that say that a run failed. At most one of them is set: the one of the newest run.
const FAILURES: [&str; 5] =
    [STORAGE_OPERATION_FAILED, FETCH_FAILED, BUILD_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED];

/// Makes the report of one run.
pub(crate) struct Report<'a, S> {
    /// The object as the run found it.
    pub(crate) before: &'a S,
    /// State of the store at the start of the run.
    pub(crate) found: &'a Found,
    /// Files that garbage collection removed.
    pub(crate) collected: usize,
    /// The step that failed, for the Reconciling condition of a failure.
    pub(crate) progress: String,
    /// Returns the message about a stored artifact.
    pub(crate) stored_message: fn(&Success) -> String,
    /// The time to decide by.
    pub(crate) now: jiff::Timestamp,
}

impl<S: Source> Report<'_, S> {
    /// The outcome of the run; `object` holds the observed fields of the status already.
    pub(crate) fn outcome(self, object: S, result: Result<Success, Failure>) -> Outcome<S> {
        let mut outcome = match result {
            Ok(success) => self.succeeded(object, success),
            Err(failure) => self.failed(object, failure),
        };
        outcome.events.splice(0..0, remarks_of_store(self.found, self.collected));
        outcome
    }

    fn succeeded(&self, mut object: S, success: Success) -> Outcome<S> {
        let interval = object.interval().map_or(DEFAULT_INTERVAL, weir_api::Duration::to_std);
        let writer = self.writer();
        let message = (self.stored_message)(&success);
        let reason = success.reason.unwrap_or(reason::SUCCEEDED);
        let parts = object.status_mut();
        parts.conditions.retain(|condition| !is_failure(condition));
        condition::remove(parts.conditions, ARTIFACT_OUTDATED);
        writer.set(parts.conditions, ARTIFACT_IN_STORAGE, Status::True, reason, &message);
        writer.ready(parts.conditions, reason, &message);
        *parts.observed_generation = writer.generation();
        let is_new =
            self.before.artifact().map(|artifact| &artifact.digest) != Some(&success.artifact.digest);
        // A signature that has become valid again is reported by the event of the verification (SRC-EVT-1).
        let has_recovered = self
            .before
            .conditions()
            .iter()
            .any(|condition| is_failure(condition) && condition.type_ != SOURCE_VERIFIED);
        let tell = |reason: &str| {
            EventDraft::info(reason, &success.message)
                .with(REVISION_KEY, &success.artifact.revision)
                .with(DIGEST_KEY, &success.artifact.digest)
        };
        let told = match (is_new, has_recovered) {
            (true, _) => Some(tell(success.reason.unwrap_or(NEW_ARTIFACT))),
            (false, true) => Some(tell(reason)),
            (false, false) => None,
        };
        let Success { artifact, up_to_date, unchanged, .. } = success;
        let line =
            told.as_ref().or(up_to_date.as_ref()).or(unchanged.as_ref()).map(|event| event.message.clone());
        *parts.artifact = Some(artifact);
        let mut outcome = Outcome::new(object, Next::Interval(interval));
        outcome.events.extend(up_to_date.into_iter().chain(told).chain(unchanged));
        outcome.info(line.unwrap_or(message))
    }

    fn failed(&self, mut object: S, failure: Failure) -> Outcome<S> {
        let Failure { condition, mut cause, is_unverified, remark } = failure;
        let writer = self.writer();
        let conditions = object.status_mut().conditions;
        // A condition that does not change keeps its time.
        let is_said_again = |type_: &str| type_ == condition || (is_unverified && type_ == SOURCE_VERIFIED);
        conditions.retain(|known| !is_failure(known) || is_said_again(&known.type_));
        let bad = if condition == SOURCE_VERIFIED { Status::False } else { Status::True };
        writer.set(conditions, condition, bad, cause.reason, &cause.message);
        let remark = remark.map(|remark| EventDraft::trace(cause.reason, remark));
        if is_unverified {
            writer.set(conditions, SOURCE_VERIFIED, Status::False, VERIFICATION_ERROR, &cause.message);
            // Ready shows the bad signature, whatever else failed because of it (SRC-REC-9).
            cause.reason = VERIFICATION_ERROR;
        }
        let mut outcome = cause.outcome(object, &writer, &self.progress);
        outcome.events.splice(0..0, remark);
        outcome
    }

    fn writer(&self) -> Writer {
        Writer::of(self.before, self.now)
    }
}

/// Returns true when a condition says that a run failed. The condition of a good signature stays until something else is
/// known of it.
fn is_failure(condition: &Condition) -> bool {
    let type_ = condition.type_.as_str();
    let bad = if type_ == SOURCE_VERIFIED { "False" } else { "True" };
    FAILURES.contains(&type_) && condition.status == bad
}

/// Returns the messages about the store at the start of a run.
pub(crate) fn remarks_of_store(found: &Found, collected: usize) -> Vec<EventDraft> {
    let removed = (collected > 0).then(|| {
        let message = format!("garbage collected {collected} artifacts");
        EventDraft::trace("GarbageCollectionSucceeded", message)
    });
    let broken = match found {
        Found::Broken { reason } | Found::Unreadable { reason } => {
            let message = format!("failed to verify integrity of artifact: {reason}");
            Some(EventDraft::error("ArtifactVerificationFailed", message))
        }
        Found::Nothing | Found::Whole | Found::Missing => None,
    };
    removed.into_iter().chain(broken).collect()
}

/// Returns the message of a run that has not found a new revision yet (SRC 3.2).
pub(crate) fn progress<S: Source>(object: &S, found: &Found, now: jiff::Timestamp) -> String {
    match found {
        Found::Nothing => "building artifact".to_owned(),
        Found::Missing | Found::Broken { .. } => "building artifact: disappeared from storage".to_owned(),
        Found::Whole | Found::Unreadable { .. } => Writer::of(object, now).progress(),
    }
}

/// Removes an artifact whose file is gone, so that nobody is sent to a dead address (SRC-REC-15). Updates the address
/// and the link (SRC-REC-16) of one that is there, and the form of its revision (SRC-TYP-7). One that cannot be read
/// stays as it is. Returns the artifact that can be relied on.
pub(crate) fn known_artifact<S: Source>(
    object: &mut S,
    found: &Found,
    url: impl Fn(&str) -> Option<String>,
) -> Option<Artifact> {
    let parts = object.status_mut();
    match found {
        Found::Whole => {
            let artifact = parts.artifact.as_mut()?;
            artifact.url = url(&artifact.path).unwrap_or_default();
            artifact.revision = Revision::normalise(&artifact.revision).to_string();
            if let Some(link) = parts.url
                && let Some(path) = link.as_deref().and_then(|link| beside(&artifact.path, link))
            {
                *link = url(&path);
            }
            return Some(artifact.clone());
        }
        Found::Unreadable { .. } => return None,
        Found::Nothing | Found::Missing | Found::Broken { .. } => {}
    }
    *parts.artifact = None;
    if let Some(url) = parts.url {
        *url = None;
    }
    condition::remove(parts.conditions, ARTIFACT_IN_STORAGE);
    None
}

/// Returns the path of the file in an artifact's directory to which an address leads, whatever its host.
fn beside(artifact: &str, address: &str) -> Option<String> {
    let (directory, _) = artifact.rsplit_once('/')?;
    let (_, file) = address.rsplit_once('/')?;
    Some(format!("{directory}/{file}"))
}

#[cfg(test)]
mod tests;
