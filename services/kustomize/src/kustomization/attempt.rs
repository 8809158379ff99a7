//! One run on its way: the steps it has taken, and their results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_api::kustomize::KustomizationStatus;
use weir_api::{Artifact, Kustomization};
use weir_runtime::Run;
use weir_ssa::Entry;

use super::conflict::Warning;
use super::decide::is_healthy;
use super::extent::Extent;
use super::failure::Failure;
use super::health::timeout_of;
use super::memory::Waiting;
use crate::source::origin_revision;

/// Message of the Ready condition while a run lasts (KS-REC-27).
pub(super) const IN_PROGRESS: &str = "Reconciliation in progress";

/// The progress of a run, and its results for the status.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) revision: String,
    pub(crate) origin_revision: Option<String>,
    /// When the run began: durations in messages count from here.
    pub(crate) started: Instant,
    /// Last step of the run, as the Reconciling condition shows it.
    pub(crate) phase: String,
    /// True when the artifact was there and had the path (KS-REC-51).
    pub(crate) is_attempted: bool,
    /// Digest of the manifests, once they are built.
    pub(crate) digest: Option<String>,
    /// Objects in the cluster, once the apply has succeeded.
    pub(crate) inventory: Option<Vec<Entry>>,
    /// The status as the run has recorded it before it applied (docs/adr/0022).
    pub(crate) recorded: Option<KustomizationStatus>,
    /// One line an object that the apply has changed.
    pub(crate) changed: String,
    /// One line an object that was no longer wanted.
    pub(crate) pruned: String,
    /// Warnings about others that change the same objects.
    pub(crate) warnings: Vec<Warning>,
    /// True when an earlier run, which then waited, has sent the events of all three.
    pub(crate) is_told: bool,
    pub(crate) is_correction: bool,
    /// True when the health check before this one has passed.
    pub(crate) was_healthy: bool,
    /// True when a newer run waits for the end of this one's health check (KS-HC-32).
    pub(crate) is_overtaken: bool,
    /// When its health check began, if it has.
    pub(crate) checked_since: Option<Instant>,
}

/// The result of a run.
pub(crate) enum Done {
    /// Nothing was tried.
    Refused(Failure),
    /// Nothing was tried with this artifact: the dependencies stand against it.
    Blocked(Attempt, Failure),
    /// There was nothing to do.
    Left,
    /// It is too early; to be tried again after this long.
    Postponed(Duration),
    /// Changes by others could not be undone yet, as while an object that somebody deleted is still going; to be tried again
    /// after this long.
    Uncorrected(Duration),
    /// Something newer is about to run.
    Superseded,
    /// It went wrong.
    Failed(Attempt, Failure),
    /// Its health check gave way to a reconciliation that this object has triggered (KS-HC-31).
    Canceled(Attempt, String),
    /// It waits for health, which `give_up` ends.
    Waiting { waiting: Arc<Waiting>, give_up: Duration },
    /// It is done; with the time that the health check took, if there was one.
    Finished(Attempt, Option<Duration>),
}

impl Done {
    /// The status as the run has recorded it, if it has.
    pub(super) fn recorded(&self) -> Option<&KustomizationStatus> {
        match self {
            Self::Failed(attempt, _) | Self::Canceled(attempt, _) | Self::Finished(attempt, _) => {
                attempt.recorded.as_ref()
            }
            Self::Waiting { waiting, .. } => waiting.attempt.recorded.as_ref(),
            Self::Refused(_)
            | Self::Blocked(..)
            | Self::Left
            | Self::Postponed(_)
            | Self::Uncorrected(_)
            | Self::Superseded => None,
        }
    }

    /// Returns true when the run has done nothing about its causes, which are those of the next one, too.
    pub(super) fn owes(&self) -> bool {
        matches!(self, Self::Postponed(_) | Self::Canceled(..))
    }
}

impl Attempt {
    /// Nothing has happened yet.
    pub(super) fn new(run: &Run<Kustomization>, artifact: &Artifact, extent: Extent) -> Self {
        Self {
            origin_revision: origin_revision(artifact).map(str::to_owned),
            is_correction: extent == Extent::Correction,
            was_healthy: is_healthy(&run.object),
            ..Self::of(artifact.revision.clone(), run.started)
        }
    }

    /// Nothing is known but the revision.
    pub(super) fn of(revision: String, started: Instant) -> Self {
        Self {
            revision,
            origin_revision: None,
            started,
            phase: String::new(),
            is_attempted: false,
            digest: None,
            inventory: None,
            recorded: None,
            changed: String::new(),
            pruned: String::new(),
            warnings: Vec::new(),
            is_told: false,
            is_correction: false,
            was_healthy: false,
            is_overtaken: false,
            checked_since: None,
        }
    }

    /// Begins its health check, or goes on with one; returns when that began.
    pub(super) fn check(&mut self, continued: Option<&Waiting>) -> Instant {
        if let Some(before) = continued {
            self.was_healthy = before.attempt.was_healthy;
            if self.revision == before.attempt.revision {
                self.started = before.attempt.started;
            }
        }
        let since = continued.map_or_else(Instant::now, |before| before.check.started);
        self.checked_since = Some(since);
        since
    }

    /// Records the step of the run, for those who watch and for a failure later.
    pub(super) fn enter(&mut self, run: &Run<Kustomization>, what: &str) {
        let timeout = weir_api::Duration::from(timeout_of(&run.object));
        self.phase = format!("{what} for revision {} with a timeout of {timeout}", self.revision);
        run.phase(IN_PROGRESS, self.phase.clone());
    }
}
