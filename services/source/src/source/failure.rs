//! The failure of a source's run: a condition, a reason, a message, and the next step (SRC 3.3).

use std::time::Duration;
use weir_api::condition_type::{FETCH_FAILED, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED};
use weir_artifact::StoreError;

/// The effect of a failure on the object's next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// It is tried again, later each time.
    Retried,
    /// It is tried again after this long: another object is not ready yet.
    Waiting(Duration),
    /// It is tried again, later each time, and is no error: another object will be ready any moment.
    Requeued,
    /// A person has to change the object.
    Stalled,
    /// The same, for a reason that the condition does not have.
    StalledFor(&'static str),
}

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Condition of the failure.
    pub(crate) condition: &'static str,
    /// Its reason.
    pub(crate) reason: &'static str,
    /// Its message.
    pub(crate) message: String,
    /// Effect on the next run.
    pub(crate) severity: Severity,
    /// True when it is a signature that is at fault, which `SourceVerified` says beside the condition.
    pub(crate) is_unverified: bool,
    /// A remark for Kubernetes beside the failure.
    pub(crate) remark: Option<String>,
}

impl Failure {
    /// Fetching, credentials or configuration failed.
    pub(crate) fn fetch(reason: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(FETCH_FAILED, reason, message)
    }

    /// Makes the failure of a signature that is required and bad, or cannot be checked.
    pub(crate) fn verification(reason: &'static str, message: impl Into<String>) -> Failure {
        Failure::new(SOURCE_VERIFIED, reason, message)
    }

    /// The store failed (SRC-GIT-33).
    pub(crate) fn storage(error: &StoreError) -> Failure {
        let reason = match error {
            StoreError::Directory { .. } => "DirectoryCreationFailed",
            StoreError::Lock { .. } => "Failed",
            StoreError::Path { .. } => "InvalidPath",
            StoreError::Access { .. } | StoreError::Root { .. } => "StatOperationFailed",
            StoreError::Write { .. } => "ArchiveOperationFailed",
        };
        Failure::new(STORAGE_OPERATION_FAILED, reason, error.to_string())
    }

    /// The disk failed where something is put down on its way to the store.
    pub(crate) fn disk(message: impl Into<String>) -> Failure {
        Failure::new(STORAGE_OPERATION_FAILED, "ArchiveOperationFailed", message)
    }

    /// Any condition of a kind's own.
    pub(crate) fn new(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            condition,
            reason,
            message: message.into(),
            severity: Severity::Retried,
            is_unverified: false,
            remark: None,
        }
    }

    /// The same failure, not tried again until the object changes.
    pub(crate) fn stalled(self) -> Failure {
        Failure { severity: Severity::Stalled, ..self }
    }

    /// The same failure, not tried again until the object changes; `reason` is why not, which is not why it failed.
    pub(crate) fn stalled_for(self, reason: &'static str) -> Failure {
        Failure { severity: Severity::StalledFor(reason), ..self }
    }

    /// The reason of the run's end, for its event.
    pub(crate) fn end_reason(&self) -> &'static str {
        match self.severity {
            Severity::StalledFor(reason) => reason,
            Severity::Retried | Severity::Waiting(_) | Severity::Requeued | Severity::Stalled => self.reason,
        }
    }

    /// The same failure, of something that another object has to change: no error, looked at again after `pause`.
    pub(crate) fn waiting(self, pause: Duration) -> Failure {
        Failure { severity: Severity::Waiting(pause), ..self }
    }

    /// The same failure, of something that another object is about to change: no error, looked at again soon.
    pub(crate) fn requeued(self) -> Failure {
        Failure { severity: Severity::Requeued, ..self }
    }

    /// The same failure, which is that of a signature.
    pub(crate) fn unverified(self) -> Failure {
        Failure { is_unverified: true, ..self }
    }

    /// The same failure with a remark.
    pub(crate) fn remarked(self, remark: impl Into<String>) -> Failure {
        Failure { remark: Some(remark.into()), ..self }
    }
}
