//! Alert (notification spec 4).

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::is_false;
use crate::{CrossNamespaceObjectReference, LocalObjectReference};

/// AlertSpec defines an alerting rule for events involving a list of objects.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "notification.toolkit.fluxcd.io",
    version = "v1beta3",
    kind = "Alert",
    plural = "alerts",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-notifications",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "Alert is the Schema for the alerts API.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AlertSpec {
    /// ProviderRef specifies which Provider this Alert should use, in the same namespace.
    pub provider_ref: LocalObjectReference,
    /// EventSeverity specifies how to filter events based on severity; info lets all of them pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["info", "error"], "default" = "info"))]
    pub event_severity: Option<String>,
    /// EventSources specifies how to filter events based on the involved object kind, name and namespace.
    pub event_sources: Vec<CrossNamespaceObjectReference>,
    /// InclusionList specifies a list of regular expressions; when not empty a message must match one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inclusion_list: Vec<String>,
    /// EventMetadata is an optional field for adding metadata to events dispatched by the controller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub event_metadata: BTreeMap<String, String>,
    /// ExclusionList specifies a list of regular expressions; a message that matches one of them is dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusion_list: Vec<String>,
    /// Summary holds a short description of the impact and affected cluster. Deprecated: Use EventMetadata instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub summary: Option<String>,
    /// Suspend tells the controller to suspend subsequent events handling for this Alert.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}
