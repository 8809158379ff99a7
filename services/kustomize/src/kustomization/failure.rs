//! Failures that keep a Kustomization from being Ready: their reasons, messages and effects.

use std::time::Duration as StdDuration;

use weir_api::Duration;
use weir_api::reason as common;
use weir_runtime::gate::workload_identity_needed;

use crate::source::SourceId;

/// Reasons of the Ready condition that only this kind has (KS 13.1).
pub(crate) mod reason {
    pub(crate) const ARTIFACT_FAILED: &str = "ArtifactFailed";
    pub(crate) const BUILD_FAILED: &str = "BuildFailed";
    pub(crate) const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
    pub(crate) const HEALTH_CHECK_FAILED: &str = "HealthCheckFailed";
    pub(crate) const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
    pub(crate) const PRUNE_FAILED: &str = "PruneFailed";
    /// Weir's own: the prune limit forbids what the inventory asks for.
    pub(crate) const PRUNE_REFUSED: &str = "PruneRefused";
    pub(crate) const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
    pub(crate) const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
}

/// The step before the reason for which there is no client of the cluster to apply to (KS-REC-52).
const NO_CLIENT: &str = "failed to build kube client: ";

/// The pause before an object is read again that the API server did not give.
const READ_PAUSE: StdDuration = StdDuration::from_secs(5);

/// The effect of a failure: the one table of requeue, event and conditions is in [`super::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing is tried until the object changes: Stalled, an error event.
    Denied,
    /// The same, and the status shows that this generation was looked at (KS-REC-31).
    Invalid,
    /// The source does not exist: tried at the retry interval and when it appears, no event.
    Absent,
    /// The source has nothing yet: tried soon and when it has, no event.
    Pending,
    /// A dependency is not ready: tried soon and when it is, an info event.
    Dependency,
    /// Something failed: tried at the retry interval, an error event.
    Retry,
    /// Something failed that may pass: tried after this long, no event yet.
    Again(StdDuration),
}

/// The failure of a Kustomization's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) class: Class,
}

impl Failure {
    pub(crate) fn retry(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), class: Class::Retry }
    }

    /// There is no client of the cluster to apply to (KS-REC-52).
    pub(crate) fn no_client(reason: &str) -> Self {
        Self::retry(reason::RECONCILIATION_FAILED, format!("{NO_CLIENT}{reason}"))
    }

    /// The message of the Ready condition.
    pub(crate) fn shown(&self) -> &str {
        shown(&self.message)
    }

    /// Something that may pass by itself, so that it is tried again after a pause (KS-SRC-20).
    pub(crate) fn again(reason: &'static str, message: String, pause: StdDuration) -> Self {
        Self { reason, message, class: Class::Again(pause) }
    }

    /// KS-SRC-2
    pub(crate) fn cross_namespace(source: &SourceId) -> Self {
        let subject = source.subject();
        let message = format!("can't access '{subject}', cross-namespace references have been blocked");
        Self { reason: common::ACCESS_DENIED, message, class: Class::Denied }
    }

    /// KS-SRC-3
    pub(crate) fn external_artifact(source: &SourceId) -> Self {
        let subject = source.subject();
        let message = format!("can't access '{subject}', ExternalArtifact feature gate is disabled");
        Self { reason: common::ACCESS_DENIED, message, class: Class::Denied }
    }

    /// KS-REC-25
    pub(crate) fn workload_identity() -> Self {
        let message = workload_identity_needed("spec.decryption.serviceAccountName for decryption");
        Self { reason: common::FEATURE_GATE_DISABLED, message, class: Class::Denied }
    }

    /// KS-SRC-4
    pub(crate) fn source_missing(source: &SourceId) -> Self {
        let message = format!("{}.source.toolkit.fluxcd.io \"{}\" not found", source.kind, source.key.name);
        Self { reason: reason::ARTIFACT_FAILED, message, class: Class::Absent }
    }

    /// KS-SRC-5
    pub(crate) fn source_unreadable(source: &SourceId, error: &str) -> Self {
        let message = format!("unable to get source '{}': {error}", source.key);
        Self::again(reason::ARTIFACT_FAILED, message, READ_PAUSE)
    }

    /// KS-SRC-6
    pub(crate) fn source_empty(retry: Duration) -> Self {
        let message = format!("Source artifact not found, retrying in {retry}");
        Self { reason: reason::ARTIFACT_FAILED, message, class: Class::Pending }
    }

    /// KS-SRC-21
    pub(crate) fn artifact_gone(retry: Duration) -> Self {
        let message = format!("Source is not ready, artifact not found, retrying in {retry}");
        Self { reason: reason::ARTIFACT_FAILED, message, class: Class::Pending }
    }

    /// KS-CEL-4, KS-DEP-9
    pub(crate) fn expression(message: &str) -> Self {
        let message = format!("Reconciliation failed terminally due to configuration error: {message}");
        Self { reason: reason::INVALID_CEL_EXPRESSION, message, class: Class::Invalid }
    }

    /// KS-DEP-7
    pub(crate) fn dependency(message: String) -> Self {
        Self { reason: common::DEPENDENCY_NOT_READY, message, class: Class::Dependency }
    }
}

/// Returns the message of an event as the Ready condition has it, which is without the step before the reason.
pub(crate) fn shown(message: &str) -> &str {
    message.strip_prefix(NO_CLIENT).unwrap_or(message)
}
