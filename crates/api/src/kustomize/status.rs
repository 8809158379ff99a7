//! Status of a Kustomization (KS 1.4).

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::is_zero;
use crate::{Condition, Duration, Time};

/// KustomizationStatus defines the observed state of a kustomization.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct KustomizationStatus {
    /// ObservedGeneration is the last reconciled generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the Kustomization.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The last successfully applied revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// The last successfully applied origin revision, from the metadata of the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_origin_revision: Option<String>,
    /// LastAttemptedRevision is the revision of the last reconciliation attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,
    /// Inventory contains the list of Kubernetes resource object references that have been successfully applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// History contains a set of snapshots of the last reconciliation attempts, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// Inventory contains a list of Kubernetes resource object references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    /// Entries of Kubernetes resource object references, in the order of the apply.
    pub entries: Vec<InventoryEntry>,
}

/// InventoryEntry contains the information necessary to locate a resource within a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InventoryEntry {
    /// ID of the object in the form namespace_name_group_kind.
    pub id: String,
    /// Version is the API version of the object, without the group.
    #[serde(rename = "v")]
    pub version: String,
}

/// HistoryEntry is a snapshot of a state that was reconciled, once or many times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Digest of the built manifests.
    pub digest: String,
    /// When this state was reconciled first.
    pub first_reconciled: Time,
    /// When this state was reconciled last.
    pub last_reconciled: Time,
    /// How long the last reconciliation took.
    #[schemars(with = "String")]
    pub last_reconciled_duration: Duration,
    /// Status of the last reconciliation.
    pub last_reconciled_status: String,
    /// How often this state was reconciled.
    pub total_reconciliations: i64,
    /// Revision and origin revision of the source.
    // A tree would take 544 bytes for one entry.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metadata: IndexMap<String, String>,
}
