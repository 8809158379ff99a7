use kube::core::Status;

use crate::{MappingError, ObjectId};

/// Why an object could not be read, tried, applied or deleted; the texts are Flux's (KS-SSA-80..84).
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
        /// What went wrong.
        message: String,
    },
    /// Foreign field managers could not be taken out (KS-SSA-62).
    #[error("{} metadata.managedFields cleanup failed: {message}", id.subject())]
    Cleanup {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        message: String,
    },
    /// A read failed.
    #[error("{} query failed: {message}", id.subject())]
    Query {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        message: String,
    },
    /// A deletion failed (KS-GC-4).
    #[error("{} delete failed: {message}", id.subject())]
    Delete {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        message: String,
    },
    /// What was about to be written could not be recorded, and so nothing was.
    #[error("failed to record the objects that are about to be applied")]
    NotRecorded,
    /// An object with an immutable field could not be deleted (KS-SSA-53).
    #[error("{} immutable field detected, failed to delete object: {message}", id.subject())]
    ReplaceDelete {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        message: String,
    },
    /// An object with an immutable field was deleted but stays (KS-SSA-53).
    #[error("{} immutable field detected, failed to wait for object to be deleted: {message}", id.subject())]
    ReplaceWait {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        message: String,
    },
    /// Definitions or classes did not become ready, so that later stages were not tried.
    #[error("timeout waiting for: [{items}]")]
    StageTimeout {
        /// The objects and their status.
        items: String,
    },
    /// The run was called off.
    #[error("reconciliation cancelled")]
    Cancelled,
}

impl Error {
    /// The error of a dry-run that the server, or the way to it, has refused.
    pub(crate) fn dry_run(id: &ObjectId, error: &kube::Error) -> Self {
        let (id, message) = (id.clone(), message(error));
        match status(error) {
            Some(status) if status.code == 404 && id.namespace.is_empty() => {
                Self::NamespaceNotSpecified { id, message }
            }
            Some(status) if status.code == 404 => Self::NotFound { id, message },
            Some(status) => Self::DryRun { id, reason: status.reason.clone(), message },
            None => Self::DryRun { id, reason: String::new(), message },
        }
    }

    /// The error of a kind that the cluster does not have, or that could not be looked up.
    pub(crate) fn mapping(id: &ObjectId, error: &MappingError) -> Self {
        let reason = match error {
            MappingError::NoMatch { .. } | MappingError::NoGroupMatch { .. } => String::new(),
            MappingError::Discovery { source } => {
                status(source).map_or_else(String::new, |status| status.reason.clone())
            }
        };
        Self::DryRun { id: id.clone(), reason, message: error.to_string() }
    }
}

fn parenthesis(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

/// What the API server said, if it was reached.
pub(crate) fn status(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

/// The text of an error: the API's message, or the whole chain of what kept us from it.
pub(crate) fn message(error: &kube::Error) -> String {
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
