//! The failure of a source's run: that of every kind, and the condition that is the sources' own (SRC 3.3).

use std::time::Duration;

use weir_api::condition_type::{FETCH_FAILED, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED};
use weir_artifact::StoreError;
use weir_runtime::{Next, Severity};

/// A failed run of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Condition of the failure.
    pub(crate) condition: &'static str,
    /// Reason, message, and the effect on the next run; boxed, which keeps results small.
    pub(crate) cause: Box<weir_runtime::Failure>,
    /// True when it is a signature that is at fault, which `SourceVerified` says beside the condition.
    pub(crate) is_unverified: bool,
    /// A remark for Kubernetes beside the failure.
    pub(crate) remark: Option<String>,
}

impl Failure {
    /// Fetching, credentials or configuration failed.
    pub(crate) fn fetch(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(FETCH_FAILED, reason, message)
    }

    /// Makes the failure of a signature that is required and bad, or cannot be checked.
    pub(crate) fn verification(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(SOURCE_VERIFIED, reason, message)
    }

    /// Refuses an object that names a ServiceAccount while the gate for that is off; it is never obeyed in part (CLD-2). An empty
    /// name is none.
    pub(crate) fn unless_gated(account: Option<&str>, is_on: bool) -> Result<(), Self> {
        if is_on || account.is_none_or(str::is_empty) {
            return Ok(());
        }
        let cause = weir_runtime::Failure::workload_identity("spec.serviceAccountName for provider");
        Err(Self::of(FETCH_FAILED, cause))
    }

    /// The store failed (SRC-GIT-33).
    pub(crate) fn storage(error: &StoreError) -> Self {
        let reason = match error {
            StoreError::Directory { .. } => "DirectoryCreationFailed",
            StoreError::Lock { .. } => "Failed",
            StoreError::Path { .. } => "InvalidPath",
            StoreError::Access { .. } | StoreError::Root { .. } => "StatOperationFailed",
            StoreError::Write { .. } => "ArchiveOperationFailed",
        };
        Self::new(STORAGE_OPERATION_FAILED, reason, error.to_string())
    }

    /// The store failed to keep a file as it was fetched; `action` is the beginning of Flux's message about that.
    pub(crate) fn keeping(action: &str, error: &StoreError) -> Self {
        match error {
            StoreError::Write { source } => Self::disk(format!("{action}: {source}")),
            error => Self::storage(error),
        }
    }

    /// The disk failed where something is put down on its way to the store.
    pub(crate) fn disk(message: impl Into<String>) -> Self {
        Self::new(STORAGE_OPERATION_FAILED, "ArchiveOperationFailed", message)
    }

    /// Any condition of a kind's own; tried again, later each time.
    pub(crate) fn new(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::of(condition, weir_runtime::Failure::retried(reason, message))
    }

    fn of(condition: &'static str, cause: weir_runtime::Failure) -> Self {
        Self { condition, cause: Box::new(cause), is_unverified: false, remark: None }
    }

    /// The same failure, not tried again until the object changes.
    pub(crate) fn stalled(self) -> Self {
        self.then(Next::Stop)
    }

    /// The same failure, not tried again until the object changes; `reason` is why not, which is not why it failed.
    pub(crate) fn stalled_for(mut self, reason: &'static str) -> Self {
        self.cause.event_reason = reason;
        self.then(Next::Stop)
    }

    /// The same failure, of something that another object has to change: no error, looked at again after `pause`.
    pub(crate) fn waiting(self, pause: Duration) -> Self {
        self.requeued().then(Next::After(pause))
    }

    /// The same failure, of something that another object is about to change: no error, looked at again soon.
    pub(crate) fn requeued(mut self) -> Self {
        self.cause.severity = Severity::Trace;
        self
    }

    /// The same failure of a request to a server, which gets the time that it has asked for, if any (SRC-OCI-15).
    pub(crate) fn after(mut self, asked: Option<Duration>) -> Self {
        *self.cause = self.cause.after(asked);
        self
    }

    fn then(mut self, next: Next) -> Self {
        self.cause.next = next;
        self
    }

    /// The same failure, which is that of a signature.
    pub(crate) fn unverified(self) -> Self {
        Self { is_unverified: true, ..self }
    }

    /// The same failure with a remark.
    pub(crate) fn remarked(self, remark: impl Into<String>) -> Self {
        Self { remark: Some(remark.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rstest::rstest;

    use super::*;

    /// SRC-CHT-19, SRC-HRP-6
    #[test]
    fn a_full_disk_is_told_by_what_was_to_be_stored() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let told = |failure: Failure| (failure.cause.reason, failure.cause.message);
        let (reason, message) =
            told(Failure::keeping("unable to save index", &StoreError::Write { source: full() }));
        assert_eq!(
            (reason, message),
            ("ArchiveOperationFailed", format!("unable to save index: {}", full()))
        );
        let other = StoreError::Directory { source: full() };
        assert_eq!(told(Failure::keeping("unable to save index", &other)), told(Failure::storage(&other)));
    }

    #[rstest]
    #[case(Some("x"), false, Some("FeatureGateDisabled"))]
    #[case(Some("x"), true, None)]
    #[case::empty(Some(""), false, None)]
    #[case(None, false, None)]
    fn accounts_are_refused_while_the_gate_is_off(
        #[case] account: Option<&str>,
        #[case] is_on: bool,
        #[case] reason: Option<&str>,
    ) {
        let refused = Failure::unless_gated(account, is_on).err();
        assert_eq!(refused.as_ref().map(|failure| failure.cause.reason), reason);
        assert!(refused.is_none_or(|failure| failure.cause.is_stalled()));
    }
}
