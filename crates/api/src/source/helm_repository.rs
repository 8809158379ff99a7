//! HelmRepository (SRC 7).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero, pattern};
use crate::{AccessFrom, Artifact, Condition, Duration, LocalObjectReference};

/// HelmRepositorySpec specifies the required configuration to produce an Artifact for a Helm repository index YAML.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "HelmRepository",
    plural = "helmrepositories",
    shortname = "helmrepo",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "HelmRepositoryStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "HelmRepository is the Schema for the helmrepositories API.",
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url"),
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
    )
)]
#[serde(rename_all = "camelCase")]
pub struct HelmRepositorySpec {
    /// URL of the Helm repository, a valid URL contains at least a protocol and host.
    #[schemars(extend("pattern" = "^(http|https|oci)://.*$"))]
    pub url: String,
    /// SecretRef specifies the Secret with the credentials: username and password, or registry credentials for oci.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt). It takes
    /// precedence over the values of secretRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// PassCredentials allows the credentials of secretRef to be passed on to a host that does not match the host of the
    /// URL, which the index may name for its charts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pass_credentials: bool,
    /// Interval at which the repository is checked for updates; not used for the type oci. It is approximate and may be
    /// subject to jitter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Insecure allows connecting to a non-TLS HTTP container registry; only for the type oci.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// Timeout for the download of the index and of charts; 60 seconds when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT))]
    pub timeout: Option<Duration>,
    /// Suspend tells the controller to suspend the reconciliation of this HelmRepository.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// AccessFrom specifies an Access Control List for allowing cross-namespace references to this object. It has no
    /// effect (SRC-API-11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_from: Option<AccessFrom>,
    /// Type of the HelmRepository: default, which is a repository with an index, or oci.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["default", "oci"]))]
    pub type_: Option<String>,
    /// Provider used for authentication; only for the type oci.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["generic", "aws", "azure", "gcp"], "default" = "generic"))]
    pub provider: Option<String>,
}

/// HelmRepositoryStatus records the observed state of the HelmRepository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct HelmRepositoryStatus {
    /// ObservedGeneration is the last observed generation of the HelmRepository object.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the HelmRepository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// URL is the dynamic fetch link for the latest Artifact. It is provided on a "best effort" basis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Artifact represents the last successful HelmRepository reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
