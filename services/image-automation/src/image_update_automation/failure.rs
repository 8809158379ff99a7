//! The failures of a run: reasons and texts of conditions (image spec 6).

use std::fmt::Display;

use weir_runtime::Failure;

/// Reasons of conditions.
pub(super) mod reason {
    pub(in super::super) const INVALID_SOURCE: &str = "InvalidSourceConfiguration";
    pub(in super::super) const INVALID_SELECTOR: &str = "InvalidPolicySelector";
    pub(in super::super) const INVALID_STRATEGY: &str = "InvalidUpdateStrategy";
    pub(in super::super) const INVALID_ENGINE: &str = "InvalidTemplateEngine";
    pub(in super::super) const SOURCE_MANAGER: &str = "SourceManagerFailed";
    pub(in super::super) const GIT_OPERATION: &str = "GitOperationFailed";
    pub(in super::super) const UPDATE: &str = "UpdateFailed";
    /// Reason of runs that a newer cause made obsolete, and of nothing else.
    pub(in super::super) const CANCELLED: &str = weir_api::reason::FAILED;
}

/// Returns true when a Git operation was given up because the run was cancelled.
pub(super) fn is_cancelled(failure: &Failure) -> bool {
    failure.reason == reason::CANCELLED
}

pub(super) fn cancelled() -> Failure {
    Failure::retried(reason::CANCELLED, "context canceled")
}

pub(super) fn source_manager(cause: impl Display) -> Failure {
    Failure::retried(reason::SOURCE_MANAGER, format!("failed configuring source manager: {cause}"))
}

pub(super) fn checkout_source(cause: impl Display) -> Failure {
    Failure::retried(reason::GIT_OPERATION, format!("failed to checkout source: {cause}"))
}

pub(super) fn checkout(error: &weir_git::Error, url: &str, looks_first: bool) -> Failure {
    let cause = if looks_first { error.list_message(url) } else { error.clone_message(url) };
    git("failed to checkout source", error, &cause)
}

pub(super) fn push(error: &weir_git::Error) -> Failure {
    // The words of go-git, which the conditions of Flux show.
    let cause = match error {
        weir_git::Error::PushRejected { refname, reason, said } => {
            if !said.is_empty() {
                tracing::warn!(refname, said = said.join("; "), "hooks of the Git server refuse the push");
            }
            format!("command error on {refname}: {reason}")
        }
        other => other.to_string(),
    };
    git("failed to update source: failed to push to remote", error, &cause)
}

fn git(context: &str, error: &weir_git::Error, cause: &str) -> Failure {
    if matches!(error, weir_git::Error::Cancelled) {
        return cancelled();
    }
    Failure::retried(reason::GIT_OPERATION, format!("{context}: {cause}")).after(error.retry_after())
}

pub(super) fn update_source(cause: impl Display) -> Failure {
    Failure::retried(reason::GIT_OPERATION, format!("failed to update source: {cause}"))
}

pub(super) fn policies(cause: impl Display) -> Failure {
    Failure::retried(reason::UPDATE, format!("failed to apply policies: {cause}"))
}
