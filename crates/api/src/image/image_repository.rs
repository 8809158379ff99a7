//! ImageRepository (image spec 2).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero, pattern};
use crate::{AccessFrom, Condition, Duration, LocalObjectReference, Time};

/// ImageRepositorySpec defines the parameters for scanning an image repository.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "image.toolkit.fluxcd.io",
    version = "v1",
    kind = "ImageRepository",
    plural = "imagerepositories",
    shortname = "imgrepo",
    shortname = "imagerepo",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-images",
    namespaced,
    status = "ImageRepositoryStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ImageRepository is the Schema for the imagerepositories API.",
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Tags", type_ = "string", json_path = ".status.lastScanResult.tagCount"),
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
    printcolumn(
        name = "Last scan",
        type_ = "string",
        json_path = ".status.lastScanResult.scanTime",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ImageRepositorySpec {
    /// Image is the name of the image repository, without scheme, tag or digest.
    #[serde(default)]
    #[schemars(!default)]
    pub image: String,
    /// Interval is the length of time to wait between scans of the image repository.
    #[serde(default)]
    #[schemars(!default)]
    pub interval: Duration,
    /// Timeout for image scanning, the interval when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT))]
    pub timeout: Option<Duration>,
    /// SecretRef names a Secret with the registry credentials, of type kubernetes.io/dockerconfigjson.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// ProxySecretRef specifies the Secret with the proxy configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// ServiceAccountName is the name of the Kubernetes ServiceAccount used to authenticate the image pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub service_account_name: Option<String>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// This flag tells the controller to suspend subsequent image scans.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// AccessFrom defines from which other namespaces ImagePolicies may refer to this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_from: Option<AccessFrom>,
    /// ExclusionList is a list of regex strings used to exclude certain tags from being stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 25), extend("default" = [r"^.*\.sig$"]))]
    pub exclusion_list: Vec<String>,
    /// The provider used for authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["generic", "aws", "azure", "gcp"], "default" = "generic"))]
    pub provider: Option<String>,
    /// Insecure allows connecting to a non-TLS HTTP container registry.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
}

/// ScanResult contains information about the last scan of the image repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScanResult {
    /// Revision is a stable hash of the scanned tags.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// TagCount is the number of tags found in the last scan, after exclusion.
    pub tag_count: i64,
    /// ScanTime is the time when the last scan was performed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_time: Option<Time>,
    /// LatestTags is a small sample of the tags found in the last scan: the first ten in descending alphabetical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latest_tags: Vec<String>,
}

/// ImageRepositoryStatus defines the observed state of ImageRepository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct ImageRepositoryStatus {
    /// Conditions holds the conditions for the ImageRepository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// ObservedGeneration is the last reconciled generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// CanonicalImageName is the name of the image repository with all the implied bits made explicit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_image_name: Option<String>,
    /// LastScanResult contains the number of fetched tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scan_result: Option<ScanResult>,
    /// ObservedExclusionList is a list of observed exclusion list. It reflects the exclusion rules of the last scan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_exclusion_list: Vec<String>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
