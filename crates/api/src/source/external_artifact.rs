//! ExternalArtifact (SRC 9).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Artifact, Condition};

/// ExternalArtifactSpec defines the desired state of ExternalArtifact.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "ExternalArtifact",
    plural = "externalartifacts",
    shortname = "ea",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "ExternalArtifactStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ExternalArtifact is the Schema for the external artifacts API.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#
    ),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.sourceRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct ExternalArtifactSpec {
    /// SourceRef points to the Kubernetes custom resource for which the artifact is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<ExternalArtifactSourceReference>,
}

/// ExternalArtifactSourceReference names what an artifact is made of, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalArtifactSourceReference {
    /// API version of the referent, if not specified the Kubernetes preferred version will be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the referent.
    pub kind: String,
    /// Name of the referent.
    pub name: String,
    /// Namespace of the referent, when not specified it acts as LocalObjectReference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// ExternalArtifactStatus defines the observed state of ExternalArtifact. Whoever makes the artifact writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalArtifactStatus {
    /// Artifact represents the output of an ExternalArtifact reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions holds the conditions for the ExternalArtifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
