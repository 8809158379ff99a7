//! The failure of a generator's run.

use weir_api::source::ExternalArtifactReference;

/// The effect of a failure on the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// A person has to change the object (SRC-AGN-3).
    Stalled,
    /// Something else is not there yet: looked at again after a fixed time (SRC-AGN-4).
    Waiting,
    /// Tried again, later each time (SRC-AGN-11).
    Retried,
}

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) severity: Severity,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// Objects made before the failure; they are remembered, so that they are cleaned up whatever comes next.
    pub(super) made: Vec<ExternalArtifactReference>,
}

impl Failure {
    pub(super) fn stalled(reason: &'static str, message: impl Into<String>) -> Failure {
        Failure { severity: Severity::Stalled, reason, message: message.into(), made: Vec::new() }
    }

    pub(super) fn waiting(message: impl Into<String>) -> Failure {
        let (severity, reason) = (Severity::Waiting, "SourceFetchFailed");
        Failure { severity, reason, message: message.into(), made: Vec::new() }
    }

    pub(super) fn retried(reason: &'static str, message: impl Into<String>) -> Failure {
        Failure { severity: Severity::Retried, reason, message: message.into(), made: Vec::new() }
    }
}
