use std::time::Duration;

use kube::core::Status;

use crate::{Manifest, MappingError, ObjectId, secret};

/// Reason that the library puts where an answer is no status.
pub(crate) const NO_STATUS: &str = "Failed to parse error data";

/// Characters of a reason; the longest of the API's own has 21.
const MAX_REASON: usize = 32;

/// Errors of reading, trying, applying or deleting an object; the texts are Flux's (KS-SSA-80..84).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refuses the object (KS-SSA-80).
    #[error("{} dry-run failed{}: {message}", id.subject(), parenthesis(reason))]
    DryRun {
        /// The object.
        id: ObjectId,
        /// The API's reason; empty when it gives none.
        reason: String,
        /// The API's message.
        message: String,
    },
    /// A namespaced object without a namespace (KS-SSA-81).
    #[error("{} namespace not specified: {message}", id.subject())]
    NamespaceNotSpecified {
        /// The object.
        id: ObjectId,
        /// The API's message.
        message: String,
    },
    /// Its namespace, or an object that it refers to, does not exist (KS-SSA-82).
    #[error("{} not found: {message}", id.subject())]
    NotFound {
        /// The object.
        id: ObjectId,
        /// The API's message.
        message: String,
    },
    /// The apply itself failed after the dry-run had passed (KS-SSA-83).
    #[error("{} apply failed: {message}", id.subject())]
    Apply {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// Foreign field managers could not be taken out (KS-SSA-62).
    #[error("{} metadata.managedFields cleanup failed: {message}", id.subject())]
    Cleanup {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// A read failed.
    #[error("{} query failed: {message}", id.subject())]
    Query {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// A deletion failed (KS-GC-4).
    #[error("{} delete failed: {message}", id.subject())]
    Delete {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// An object with an immutable field has changed between the decision to replace it and its deletion.
    #[error("{} immutable field detected, but the object keeps changing", id.subject())]
    Outdated {
        /// The object.
        id: ObjectId,
    },
    /// The managers of an object's fields could not be changed, because it keeps changing itself (KS-SSA-22, KS-SSA-60).
    #[error("{} metadata.managedFields cleanup failed: the object keeps changing", id.subject())]
    Changed {
        /// The object.
        id: ObjectId,
    },
    /// The objects to write could not be recorded first, and so none was written.
    #[error("failed to record the objects that are about to be applied")]
    NotRecorded,
    /// An object with an immutable field could not be deleted (KS-SSA-53).
    #[error("{} immutable field detected, failed to delete object: {message}", id.subject())]
    ReplaceDelete {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// An object with an immutable field is gone, and the quota has no place yet for the one that follows it.
    #[error("{} immutable field detected, failed to recreate object: {message}", id.subject())]
    ReplaceQuota {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// An object with an immutable field was deleted but stays (KS-SSA-53).
    #[error("{} immutable field detected, failed to wait for object to be deleted: {message}", id.subject())]
    ReplaceWait {
        /// The object.
        id: ObjectId,
        /// Message.
        message: String,
    },
    /// Definitions or classes did not become ready, so that later stages were not tried.
    #[error("timeout waiting for: [{items}]")]
    StageTimeout {
        /// The objects and their status.
        items: String,
    },
    /// Definitions or classes have failed, so that later stages were not tried.
    #[error("failed early due to stalled resources: [{items}]")]
    StageStalled {
        /// The objects and their status.
        items: String,
    },
    /// There were more objects than the time was enough for; those applied stay, and the next apply has less to do (KS-REC-40).
    #[error("apply is not done within {} seconds", limit.as_secs())]
    TimedOut {
        /// The time.
        limit: Duration,
    },
    /// The run was called off.
    #[error("reconciliation cancelled")]
    Cancelled,
}

impl Error {
    /// Returns true when the server was still at it, so that another apply may soon succeed.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::StageTimeout { .. } | Self::ReplaceWait { .. } | Self::ReplaceQuota { .. })
    }

    /// The error of a dry-run that the server, or the way to it, has refused.
    pub(crate) fn dry_run(manifest: &Manifest, error: &kube::Error) -> Self {
        let id = manifest.id().clone();
        let message = match secret::flaws(manifest) {
            Some(flaws) => format!("{flaws}; {}", shown(&id, error)),
            None => shown(&id, error),
        };
        match status(error) {
            Some(status) if status.code == 404 && id.namespace.is_empty() => {
                Self::NamespaceNotSpecified { id, message }
            }
            Some(status) if status.code == 404 => Self::NotFound { id, message },
            status => Self::DryRun { id, reason: status.map(reason).unwrap_or_default(), message },
        }
    }

    /// The error of a kind that the cluster does not have, or that could not be looked up.
    pub(crate) fn query(id: &ObjectId, error: &kube::Error) -> Self {
        Self::Query { id: id.clone(), message: shown(id, error) }
    }

    pub(crate) fn mapping(id: &ObjectId, error: &MappingError) -> Self {
        let reason = match error {
            MappingError::NoMatch { .. } | MappingError::NoGroupMatch { .. } => String::new(),
            MappingError::Discovery { source } => status(source).map(reason).unwrap_or_default(),
        };
        Self::DryRun { id: id.clone(), reason, message: error.to_string() }
    }
}

/// Returns the API's reason, if it is one of the API's own: an admission webhook may write anything there.
fn reason(status: &Status) -> String {
    let is_name = status.reason.len() <= MAX_REASON && status.reason.chars().all(char::is_alphabetic);
    if is_name { status.reason.clone() } else { String::new() }
}

fn parenthesis(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

/// Returns the API server's status, if it was reached.
pub(crate) fn status(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

/// Returns true when the account may not do what it asked for.
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| status.code == 403)
}

/// Returns what conditions, events and logs say of an API error about an object. Every such text is made here or in
/// [`secret`]: the server's own may repeat values of a Secret.
pub(crate) fn shown(id: &ObjectId, error: &kube::Error) -> String {
    if secret::is_secret(id) { secret::message(id, error) } else { whole_text(error) }
}

/// Returns the API's message, or the whole chain of what kept us from it. It is for looking into, not for showing.
pub(crate) fn whole_text(error: &kube::Error) -> String {
    if let Some(status) = status(error) {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| status.code == 404)
}

/// Returns true when the server has no such address at all, as that of a version of an API that it no longer serves. Its answer is no
/// status then, for which the library puts a reason of its own.
pub(crate) fn is_unserved(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| status.code == 404 && status.reason == NO_STATUS)
}

/// Tells that an object is gone, or no longer in the state in which its deletion was decided.
pub(crate) fn is_outdated(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| matches!(status.code, 404 | 409))
}
