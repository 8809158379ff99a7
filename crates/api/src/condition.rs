//! Conditions: the only words in which Weir speaks about the state of an object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// Condition contains details for one aspect of the current state of this API resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition in CamelCase or in foo.example.com/CamelCase.
    #[serde(rename = "type")]
    #[schemars(length(max = 316), extend("pattern" = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
    pub type_: String,
    /// Status of the condition, one of True, False, Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// The generation of the object that the condition was set for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// The last time the status of the condition changed.
    pub last_transition_time: Time,
    /// Reason of the last change, in CamelCase, for programs.
    #[schemars(length(min = 1, max = 1024), extend("pattern" = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,
    /// Details of the last change, for people. May be empty.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// The time of a condition: whole seconds, which is what the API keeps (SRC-TYP-8).
pub fn condition_time(now: jiff::Timestamp) -> Time {
    Time(jiff::Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Types of conditions (SRC 2.6, KS-STA, GEN-8).
pub mod condition_type {
    /// Summary: the object is in the state that its spec asks for.
    pub const READY: &str = "Ready";
    /// Work is in progress or will be tried again. Present only while true.
    pub const RECONCILING: &str = "Reconciling";
    /// A person has to act; nothing is tried again. Present only while true.
    pub const STALLED: &str = "Stalled";
    /// The applied objects are healthy (Kustomization).
    pub const HEALTHY: &str = "Healthy";
    /// The artifact of the observed revision is stored (sources).
    pub const ARTIFACT_IN_STORAGE: &str = "ArtifactInStorage";
    /// The origin has something newer than the artifact (sources).
    pub const ARTIFACT_OUTDATED: &str = "ArtifactOutdated";
    /// Fetching, authentication or configuration failed (sources).
    pub const FETCH_FAILED: &str = "FetchFailed";
    /// The local file system failed (sources).
    pub const STORAGE_OPERATION_FAILED: &str = "StorageOperationFailed";
    /// The signature is good or bad; present only when one is asked for (sources).
    pub const SOURCE_VERIFIED: &str = "SourceVerified";
    /// Packaging the chart failed (HelmChart).
    pub const BUILD_FAILED: &str = "BuildFailed";
    /// An included repository has no artifact (GitRepository).
    pub const INCLUDE_UNAVAILABLE: &str = "IncludeUnavailable";
    /// A refspec is still to be pushed for the commit that the message names (ImageUpdateAutomation). Present only while true.
    pub const REFSPEC_PENDING: &str = "RefspecPending";

    /// All of these: what others write beside them is theirs (SRC-REC-11).
    pub const OURS: [&str; 12] = [
        READY,
        RECONCILING,
        STALLED,
        HEALTHY,
        ARTIFACT_IN_STORAGE,
        ARTIFACT_OUTDATED,
        FETCH_FAILED,
        STORAGE_OPERATION_FAILED,
        SOURCE_VERIFIED,
        BUILD_FAILED,
        INCLUDE_UNAVAILABLE,
        REFSPEC_PENDING,
    ];
}

/// Reasons that several kinds use; those of one kind stand in its service.
pub mod reason {
    /// Done.
    pub const SUCCEEDED: &str = "Succeeded";
    /// Failed, and no better reason is known.
    pub const FAILED: &str = "Failed";
    /// At work.
    pub const PROGRESSING: &str = "Progressing";
    /// Failed, will be tried again.
    pub const PROGRESSING_WITH_RETRY: &str = "ProgressingWithRetry";
    /// Something that this object needs is not ready.
    pub const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
    /// A reference into another namespace is not allowed.
    pub const ACCESS_DENIED: &str = "AccessDenied";
    /// A feature gate would be needed.
    pub const FEATURE_GATE_DISABLED: &str = "FeatureGateDisabled";
    /// A CEL expression of the spec is invalid.
    pub const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
}
