//! The failure of a generator's run.

use super::act::Made;

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// Reason, message, and the effect on the next run.
    pub(super) cause: weir_runtime::Failure,
    /// True when something else is not there yet: looked at again after a fixed time (SRC-AGN-4).
    pub(super) is_waiting: bool,
    /// True when nothing had been begun: the sources are not there.
    pub(super) is_early: bool,
    /// Objects made before the failure; they are remembered, so that they are cleaned up whatever comes next.
    pub(super) made: Vec<Made>,
}

impl Failure {
    /// A person has to change the object (SRC-AGN-3).
    pub(super) fn stalled(reason: &'static str, message: impl Into<String>) -> Self {
        Self::of(weir_runtime::Failure::stalled(reason, message))
    }

    /// Something else is not there yet (SRC-AGN-4).
    pub(super) fn waiting(message: impl Into<String>) -> Self {
        Self { is_waiting: true, ..Self::retried("SourceFetchFailed", message) }
    }

    /// A source is not there, or has no artifact yet (SRC-AGN-4).
    pub(super) fn absent(message: impl Into<String>) -> Self {
        Self { is_early: true, ..Self::waiting(message) }
    }

    /// Tried again, later each time (SRC-AGN-11).
    pub(super) fn retried(reason: &'static str, message: impl Into<String>) -> Self {
        Self::of(weir_runtime::Failure::retried(reason, message))
    }

    fn of(cause: weir_runtime::Failure) -> Self {
        Self { cause, is_waiting: false, is_early: false, made: Vec::new() }
    }
}
