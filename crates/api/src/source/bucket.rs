//! Bucket (SRC 6).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero, pattern};
use crate::{Artifact, Condition, Duration, LocalObjectReference};

/// BucketSpec specifies the required configuration to produce an Artifact for an object storage bucket.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "Bucket",
    plural = "buckets",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "BucketStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Bucket is the Schema for the buckets API.",
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"),
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
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "self.provider == 'aws' || self.provider == 'generic' || !has(self.sts)",
        "message": "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
    },
    {
        "rule": "self.provider != 'aws' || !has(self.sts) || self.sts.provider == 'aws'",
        "message": "'aws' is the only supported STS provider for the 'aws' Bucket provider",
    },
    {
        "rule": "self.provider != 'generic' || !has(self.sts) || self.sts.provider == 'ldap'",
        "message": "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
    },
    {
        "rule": "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.secretRef)",
        "message": "spec.sts.secretRef is not required for the 'aws' STS provider",
    },
    {
        "rule": "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.certSecretRef)",
        "message": "spec.sts.certSecretRef is not required for the 'aws' STS provider",
    },
    {
        "rule": "self.provider != 'generic' || !has(self.serviceAccountName)",
        "message": "ServiceAccountName is not supported for the 'generic' Bucket provider",
    },
    {
        "rule": "!has(self.secretRef) || !has(self.serviceAccountName)",
        "message": "cannot set both .spec.secretRef and .spec.serviceAccountName",
    },
]))]
pub struct BucketSpec {
    /// Provider of the object storage bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["generic", "aws", "gcp", "azure"], "default" = "generic"))]
    pub provider: Option<String>,
    /// BucketName is the name of the object storage bucket.
    pub bucket_name: String,
    /// Endpoint is the object storage address the BucketName is located at: a host with an optional port, or the address
    /// of the storage account for the provider azure.
    pub endpoint: String,
    /// STS specifies the required configuration to use a Security Token Service for fetching temporary credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sts: Option<BucketSts>,
    /// Insecure allows connecting to a non-TLS HTTP Endpoint.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// Region of the Endpoint where the BucketName is located in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Prefix to use for server-side filtering of files in the Bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// SecretRef specifies the Secret containing authentication credentials for the Bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// ServiceAccountName is the name of the Kubernetes ServiceAccount used to authenticate with the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt); only for
    /// the provider generic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// ProxySecretRef specifies the Secret with the proxy configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// Interval at which the Bucket is checked for updates. It is approximate and may be subject to jitter.
    pub interval: Duration,
    /// Timeout for fetch operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT, "default" = "60s"))]
    pub timeout: Option<Duration>,
    /// Ignore overrides the set of excluded patterns in the .sourceignore format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Suspend tells the controller to suspend the reconciliation of this Bucket.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}

/// BucketSTSSpec specifies the required configuration to use a Security Token Service for fetching temporary credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketSts {
    /// Provider of the Security Token Service.
    #[schemars(extend("enum" = ["aws", "ldap"]))]
    pub provider: String,
    /// Endpoint is the HTTP/S endpoint of the Security Token Service from where temporary credentials will be fetched.
    #[schemars(extend("pattern" = "^(http|https)://.*$"))]
    pub endpoint: String,
    /// SecretRef specifies the Secret with the username and password for the STS endpoint; only for the provider ldap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt) for the STS
    /// endpoint; only for the provider ldap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
}

/// BucketStatus records the observed state of a Bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct BucketStatus {
    /// ObservedGeneration is the last observed generation of the Bucket object.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the Bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// URL is the dynamic fetch link for the latest Artifact. It is provided on a "best effort" basis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Artifact represents the last successful Bucket reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// ObservedIgnore is the observed exclusion patterns used for constructing the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
