//! OCIRepository (SRC 5).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero, pattern};
use crate::{Artifact, Condition, Duration, LocalObjectReference};

/// OCIRepositorySpec defines the desired state of an OCIRepository.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "OCIRepository",
    root = "OciRepository",
    plural = "ocirepositories",
    singular = "ocirepository",
    shortname = "ocirepo",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "OciRepositoryStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "OCIRepository is the Schema for the ocirepositories API.",
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url"),
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
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositorySpec {
    /// URL is a reference to an OCI artifact repository hosted on a remote container registry, without tag or digest.
    #[schemars(extend("pattern" = "^oci://.*$"))]
    pub url: String,
    /// The OCI reference to pull and monitor for changes, defaults to the latest tag.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<OciRepositoryRef>,
    /// LayerSelector specifies which layer should be extracted from the OCI artifact, the first one when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_selector: Option<OciLayerSelector>,
    /// The provider used for authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["generic", "aws", "azure", "gcp"], "default" = "generic"))]
    pub provider: Option<String>,
    /// SecretRef contains the Secret with the registry credentials, of type kubernetes.io/dockerconfigjson.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Verify contains the Secret with the trusted public keys used to verify the signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<OciRepositoryVerification>,
    /// ServiceAccountName is the name of the Kubernetes ServiceAccount used to authenticate the image pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// ProxySecretRef specifies the Secret with the proxy configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// Interval at which the registry is checked for updates. It is approximate and may be subject to jitter.
    pub interval: Duration,
    /// The timeout for remote OCI operations like pulling.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT, "default" = "60s"))]
    pub timeout: Option<Duration>,
    /// Ignore overrides the set of excluded patterns in the .sourceignore format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Insecure allows connecting to a non-TLS HTTP container registry.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// This flag tells the controller to suspend the reconciliation of this source.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}

/// OCIRepositoryRef defines the image reference of the OCI artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositoryRef {
    /// Digest is the image digest to pull, takes precedence over SemVer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// SemVer is the range of tags to pull selecting the latest within the range, takes precedence over Tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// SemverFilter is a regex pattern to filter the tags within the SemVer range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver_filter: Option<String>,
    /// Tag is the image tag to pull, defaults to latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// OCILayerSelector specifies which layer of an OCI artifact becomes the content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciLayerSelector {
    /// MediaType specifies the media type of the layer; the first layer that matches is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Operation specifies how the selected layer is processed: extract (the default) or copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["extract", "copy"]))]
    pub operation: Option<String>,
}

/// OCIRepositoryVerification verifies the authenticity of an OCI artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["provider"]))]
pub struct OciRepositoryVerification {
    /// Provider specifies the technology used to sign the OCI artifact.
    #[serde(default = "OciRepositoryVerification::default_provider")]
    #[schemars(extend("enum" = ["cosign", "notation"]))]
    pub provider: String,
    /// SecretRef specifies the Secret with the trusted public keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// MatchOIDCIdentity specifies the identities of keyless signatures; one that matches is enough.
    #[serde(rename = "matchOIDCIdentity", default, skip_serializing_if = "Vec::is_empty")]
    pub match_oidc_identity: Vec<OidcIdentityMatch>,
    /// TrustedRootSecretRef specifies the Secret with the Sigstore trusted root, under the key trusted_root.json.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_root_secret_ref: Option<LocalObjectReference>,
}

impl OciRepositoryVerification {
    fn default_provider() -> String {
        "cosign".to_owned()
    }
}

/// OIDCIdentityMatch specifies options for verifying the certificate identity of a keyless signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OidcIdentityMatch {
    /// Issuer specifies the regex pattern to match against to verify the OIDC issuer in the certificate.
    pub issuer: String,
    /// Subject specifies the regex pattern to match against to verify the identity subject in the certificate.
    pub subject: String,
}

/// OCIRepositoryStatus defines the observed state of an OCIRepository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct OciRepositoryStatus {
    /// ObservedGeneration is the last observed generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the OCIRepository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// URL is the download link for the artifact output of the last OCI Repository sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Artifact represents the output of the last successful OCI Repository sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// ObservedIgnore is the observed exclusion patterns used for constructing the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// ObservedLayerSelector is the observed layer selector used for constructing the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_layer_selector: Option<OciLayerSelector>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
