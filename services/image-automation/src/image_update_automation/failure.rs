//! The failure of a run: reasons and texts of conditions (image spec 6).

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// Only a change of a spec can help.
    #[error("{message}")]
    Terminal { reason: &'static str, message: String },
    /// Tried again with backoff.
    #[error("{message}")]
    Retry { reason: &'static str, message: String },
    /// A newer cause made the run obsolete.
    #[error("context canceled")]
    Cancelled,
}

/// Reasons of conditions.
pub(super) mod reason {
    pub(in super::super) const INVALID_SOURCE: &str = "InvalidSourceConfiguration";
    pub(in super::super) const INVALID_SELECTOR: &str = "InvalidPolicySelector";
    pub(in super::super) const INVALID_STRATEGY: &str = "InvalidUpdateStrategy";
    pub(in super::super) const SOURCE_MANAGER: &str = "SourceManagerFailed";
    pub(in super::super) const GIT_OPERATION: &str = "GitOperationFailed";
    pub(in super::super) const UPDATE: &str = "UpdateFailed";
}

impl Failure {
    pub(super) fn terminal(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Terminal { reason, message: message.into() }
    }

    pub(super) fn source_manager(cause: impl std::fmt::Display) -> Self {
        let message = format!("failed configuring source manager: {cause}");
        Self::Retry { reason: reason::SOURCE_MANAGER, message }
    }

    pub(super) fn checkout(error: &weir_git::Error, url: &str) -> Self {
        Self::git("failed to checkout source", error, error.clone_message(url))
    }

    pub(super) fn push(error: &weir_git::Error) -> Self {
        // The words of go-git, which the conditions of Flux show.
        let cause = match error {
            weir_git::Error::PushRejected { refname, reason } => {
                format!("command error on {refname}: {reason}")
            }
            other => other.to_string(),
        };
        Self::git("failed to update source: failed to push to remote", error, cause)
    }

    fn git(context: &str, error: &weir_git::Error, cause: String) -> Self {
        if matches!(error, weir_git::Error::Cancelled) {
            return Self::Cancelled;
        }
        Self::Retry { reason: reason::GIT_OPERATION, message: format!("{context}: {cause}") }
    }

    pub(super) fn update_source(cause: impl std::fmt::Display) -> Self {
        let message = format!("failed to update source: {cause}");
        Self::Retry { reason: reason::GIT_OPERATION, message }
    }

    pub(super) fn policies(cause: impl std::fmt::Display) -> Self {
        Self::Retry { reason: reason::UPDATE, message: format!("failed to apply policies: {cause}") }
    }
}
