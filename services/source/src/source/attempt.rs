//! The frame of a run, the same for every kind: look into the store, let the kind do its work, report.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_api::condition_type::{ARTIFACT_OUTDATED, SOURCE_VERIFIED};
use weir_api::{Artifact, reason};
use weir_artifact::StoreError;
use weir_artifact::archive::Sink;
use weir_runtime::condition::{self, Status, Writer};
use weir_runtime::{EventDraft, Finalized, ObjectKey, Outcome, Run};

use super::{Failure, Report, Source, Success, known_artifact, progress, remarks_of_store};
use crate::storage::{Found, NewArtifact, Put, Storage};

/// A run in progress.
pub(crate) struct Attempt<'a, S> {
    /// The run.
    pub(crate) run: &'a Run<S>,
    /// The object with the status that it will have.
    pub(crate) object: S,
    /// The advertised artifact, if its file is whole.
    pub(crate) known: Option<Artifact>,
    found: Found,
    collected: usize,
    progress: String,
    remarks: Vec<EventDraft>,
    /// True when the files of the object may have changed.
    storing: Arc<AtomicBool>,
}

impl<'a, S: Source> Attempt<'a, S> {
    /// Inspects the store and sets the message of the run in progress.
    pub(super) async fn begin(storage: &Storage, run: &'a Run<S>) -> Attempt<'a, S> {
        let mut object = S::clone(&run.object);
        let (found, collected) = match object.location() {
            Ok(at) => storage.inspect(&at, object.artifact()).await,
            Err(_) => (Found::Nothing, 0),
        };
        let progress = progress(&object, &found, run.now);
        let known = known_artifact(&mut object, &found, |path| storage.url_of(path));
        match found {
            // Nobody may be sent to a dead address while the artifact is made again (SRC-REC-15).
            Found::Missing | Found::Broken { .. } => run.retract(object.clone(), &progress),
            Found::Nothing => run.phase(&progress, &progress),
            Found::Whole | Found::Unreadable { .. } => run.looking(&progress),
        }
        let storing = Arc::default();
        Attempt { run, object, known, found, collected, progress, remarks: Vec::new(), storing }
    }

    /// Returns true when the files of the object may have changed in this run.
    pub(super) fn storing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.storing)
    }

    /// Stores an artifact, see [`Storage::put`], and shows where its link is. A link that fails is told of, and costs
    /// nothing else (SRC-EVT-1).
    pub(crate) async fn put(
        &mut self,
        storage: &Storage,
        new: NewArtifact,
        revision: String,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()> + Send + 'static,
    ) -> Result<Artifact, StoreError> {
        self.storing.store(true, Ordering::Relaxed);
        let Put { artifact, link } = storage.put(new, revision, self.run.now, fill).await?;
        match link {
            Some(Ok(url)) => {
                if let Some(shown) = self.object.status_mut().url {
                    *shown = Some(url);
                }
            }
            Some(Err(error)) => {
                let message = format!("failed to update status URL symlink: {error}");
                self.remark(EventDraft::trace("SymlinkUpdateFailed", message));
            }
            None => {}
        }
        Ok(artifact)
    }

    /// The object's name.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.run.key
    }

    /// Records the step of a run that knows that a new artifact is to be made.
    pub(crate) fn progress(&mut self, message: String) {
        self.run.phase(&message, &message);
        self.progress = message;
    }

    /// Records that something newer than the artifact is being fetched; should that fail, the record stays
    /// (SRC-REC-7).
    pub(crate) fn outdated(&mut self, reason: &str, message: &str) {
        if self.known.is_some() {
            self.set(ARTIFACT_OUTDATED, reason, message);
        }
        self.progress(format!("building artifact: {message}"));
    }

    /// Says that nothing newer is known of.
    pub(crate) fn not_outdated(&mut self) {
        condition::remove(self.object.status_mut().conditions, ARTIFACT_OUTDATED);
    }

    /// Says that the signature is good.
    pub(crate) fn verified(&mut self, message: &str) {
        self.set(SOURCE_VERIFIED, reason::SUCCEEDED, message);
    }

    fn set(&mut self, type_: &str, reason: &str, message: &str) {
        let writer = Writer::of(&*self.run.object, self.run.now);
        writer.set(self.object.status_mut().conditions, type_, Status::True, reason, message);
    }

    /// Returns true when the last run said that the signature is not good: it is looked for again although nothing
    /// changed.
    pub(crate) fn was_refuted(&self) -> bool {
        let verified = condition::find(self.run.object.conditions(), SOURCE_VERIFIED);
        verified.is_some_and(|verified| verified.status == "False")
    }

    /// Returns true when a run has said of this generation of the object whether its signature is good.
    pub(crate) fn was_judged(&self) -> bool {
        let verified = condition::find(self.run.object.conditions(), SOURCE_VERIFIED);
        verified.is_some_and(|verified| verified.observed_generation == self.run.object.meta().generation)
    }

    /// Says nothing of signatures.
    pub(crate) fn not_verified(&mut self) {
        condition::remove(self.object.status_mut().conditions, SOURCE_VERIFIED);
    }

    /// Tells something beside the result, before it.
    pub(crate) fn remark(&mut self, event: EventDraft) {
        self.remarks.push(event);
    }

    /// Reports the result; none means that the run was made obsolete.
    pub(super) fn end(
        self,
        result: Option<Result<Success, Failure>>,
        stored_message: fn(&Success) -> String,
    ) -> Outcome<S> {
        let Some(result) = result else {
            // The next run finds what this one has left behind, and nothing to say of it.
            let mut outcome = Outcome::superseded(self.object);
            outcome.events = remarks_of_store(&self.found, self.collected);
            return outcome;
        };
        let report = Report {
            before: &*self.run.object,
            found: &self.found,
            collected: self.collected,
            progress: self.progress,
            stored_message,
            now: self.run.now,
        };
        let mut outcome = report.outcome(self.object, result);
        outcome.events.splice(0..0, self.remarks);
        outcome
    }
}

/// Removes the files of an object that goes away (SRC-REC-17).
pub(super) async fn finalize<S: Source>(storage: &Storage, object: &S) -> Finalized<S> {
    // An object whose name is no path has no files.
    let Ok(at) = object.location() else { return Finalized::Done { events: Vec::new() } };
    match storage.remove_object(&at).await {
        Ok(removed) => {
            let message = "garbage collected artifacts for deleted resource";
            let event = removed.then(|| EventDraft::trace("GarbageCollectionSucceeded", message));
            Finalized::Done { events: event.into_iter().collect() }
        }
        Err(error) => {
            let message = format!("garbage collection for deleted resource failed: {error}");
            Finalized::Retry {
                object: None,
                events: vec![EventDraft::error("GarbageCollectionFailed", message)],
            }
        }
    }
}
