//! ImagePolicy (image spec 3).

use std::fmt;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero};
use crate::{Condition, Duration, NamespacedObjectReference};

/// ImagePolicySpec defines the parameters for calculating the ImagePolicy.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "image.toolkit.fluxcd.io",
    version = "v1",
    kind = "ImagePolicy",
    plural = "imagepolicies",
    shortname = "imgpol",
    shortname = "imagepol",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-images",
    namespaced,
    status = "ImagePolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ImagePolicy is the Schema for the imagepolicies API.",
    printcolumn(name = "Image", type_ = "string", json_path = ".status.latestRef.name"),
    printcolumn(name = "Tag", type_ = "string", json_path = ".status.latestRef.tag"),
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
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!has(self.interval) || (has(self.digestReflectionPolicy) && self.digestReflectionPolicy == 'Always')",
        "message": "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
    },
    {
        "rule": "has(self.interval) || !has(self.digestReflectionPolicy) || self.digestReflectionPolicy != 'Always'",
        "message": "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
    },
]))]
pub struct ImagePolicySpec {
    /// ImageRepositoryRef points at the object specifying the image being scanned.
    pub image_repository_ref: NamespacedObjectReference,
    /// Policy gives the particulars of the policy to be followed in selecting the most recent image.
    pub policy: ImagePolicyChoice,
    /// FilterTags enables filtering for only a subset of tags based on a set of rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_tags: Option<TagFilter>,
    /// DigestReflectionPolicy says when the digest of the selected tag is looked up and published.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Always", "IfNotPresent", "Never"], "default" = "Never"))]
    pub digest_reflection_policy: Option<String>,
    /// Interval at which the digest is refreshed; only with the digestReflectionPolicy Always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// This flag tells the controller to suspend subsequent policy reconciliations.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}

/// ImagePolicyChoice is a union of all the types of policy; the first one set is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePolicyChoice {
    /// SemVer gives a semantic version range to check against the tags available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver: Option<SemVerPolicy>,
    /// Alphabetical set of rules to use for alphabetical ordering of the tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alphabetical: Option<AlphabeticalPolicy>,
    /// Numerical set of rules to use for numerical ordering of the tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numerical: Option<NumericalPolicy>,
}

/// SemVerPolicy specifies a semantic version policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SemVerPolicy {
    /// Range gives a semver range for the image tag; the highest version within the range that's a tag yields the
    /// latest image.
    pub range: String,
}

/// AlphabeticalPolicy specifies a alphabetical ordering policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlphabeticalPolicy {
    /// Order of the tags: ascending takes the last letter of the alphabet as the latest, descending the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["asc", "desc"], "default" = "asc"))]
    pub order: Option<String>,
}

/// NumericalPolicy specifies a numerical ordering policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumericalPolicy {
    /// Order of the tags: ascending takes the greatest number as the latest, descending the smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["asc", "desc"], "default" = "asc"))]
    pub order: Option<String>,
}

/// TagFilter enables filtering tags based on a set of defined rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TagFilter {
    /// Pattern specifies a regular expression pattern used to filter for image tags.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Extract is a replacement over the match whose result is ordered, for example `$ts`.
    // Written also if it is empty, as by Flux, which exports it so; the schema has no default (GEN-2).
    #[serde(default)]
    #[schemars(extend("default" = serde_json::Value::Null))]
    pub extract: String,
}

/// ImageRef represents an image reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ImageRef {
    /// Name is the bare image's name.
    pub name: String,
    /// Tag is the image's tag.
    pub tag: String,
    /// Digest is the image's digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

impl fmt::Display for ImageRef {
    /// Prints `name:tag` or `name:tag@digest`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)?;
        if self.digest.is_empty() { Ok(()) } else { write!(f, "@{}", self.digest) }
    }
}

/// ImagePolicyStatus defines the observed state of ImagePolicy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct ImagePolicyStatus {
    /// LatestRef gives the first in the list of images scanned by the image repository, when filtered and ordered
    /// according to the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_ref: Option<ImageRef>,
    /// ObservedPreviousRef is the observed previous LatestRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_previous_ref: Option<ImageRef>,
    /// ObservedGeneration is the last reconciled generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the ImagePolicy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
