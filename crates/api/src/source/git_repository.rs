//! GitRepository (SRC 4).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero, pattern};
use crate::{Artifact, Condition, Duration, LocalObjectReference};

/// GitRepositorySpec specifies the required configuration to produce an Artifact for a Git repository.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "GitRepository",
    plural = "gitrepositories",
    shortname = "gitrepo",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "GitRepositoryStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "GitRepository is the Schema for the gitrepositories API.",
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
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.serviceAccountName) || (has(self.provider) && (self.provider == 'azure' || self.provider == 'aws'))",
    "message": "serviceAccountName can only be set when provider is 'azure' or 'aws'",
}]))]
pub struct GitRepositorySpec {
    /// URL specifies the Git repository URL, it can be an HTTP/S or SSH address.
    #[schemars(extend("pattern" = "^(http|https|ssh)://.*$"))]
    pub url: String,
    /// SecretRef specifies the Secret with the credentials: username and password or bearerToken for HTTP/S, identity,
    /// identity.pub and known_hosts for SSH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Provider used for authentication, generic when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["generic", "aws", "azure", "github"]))]
    pub provider: Option<String>,
    /// ServiceAccountName is the name of the Kubernetes ServiceAccount used to authenticate with the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Interval at which the repository is checked for updates. It is approximate and may be subject to jitter.
    pub interval: Duration,
    /// Timeout of Git operations like cloning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT, "default" = "60s"))]
    pub timeout: Option<Duration>,
    /// Reference specifies the Git reference to resolve and monitor for changes; the branch master when not specified.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<GitRepositoryRef>,
    /// Verification specifies how signatures of commits and tags are verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<GitRepositoryVerification>,
    /// ProxySecretRef specifies the Secret with the proxy configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// Ignore overrides the set of excluded patterns in the .sourceignore format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Suspend tells the controller to suspend the reconciliation of this repository.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// RecurseSubmodules enables the initialization of all submodules.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recurse_submodules: bool,
    /// Include specifies a list of GitRepositories whose artifacts become part of the artifact of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<GitRepositoryInclude>,
    /// SparseCheckout specifies a list of directories to check out; the others are left out of the artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sparse_checkout: Vec<String>,
}

/// GitRepositoryRef specifies the Git reference to resolve and check out.
///
/// Precedence: commit, name, tag, semver, branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitRepositoryRef {
    /// Branch to check out, defaults to 'master' if no other field is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Tag to check out, takes precedence over SemVer and Branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// SemVer range of tags of which the highest is checked out, takes precedence over Branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// Name of the reference to check out, such as refs/heads/main or refs/pull/420/head; takes precedence over Tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Commit SHA to check out, takes precedence over all reference fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// GitRepositoryVerification specifies the Git signature verification strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryVerification {
    /// Mode specifies which Git objects are verified: the commit (HEAD), the tag, or both.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["head", "HEAD", "Tag", "TagAndHEAD"], "default" = "HEAD"))]
    pub mode: Option<String>,
    /// SecretRef specifies the Secret with the public keys of trusted authors.
    #[serde(default)]
    #[schemars(!default)]
    pub secret_ref: LocalObjectReference,
}

/// GitRepositoryInclude specifies a GitRepository to include and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryInclude {
    /// GitRepositoryRef specifies the GitRepository whose artifact is included.
    #[serde(rename = "repository")]
    pub repository: LocalObjectReference,
    /// FromPath specifies the path to copy contents from, the root of the artifact when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_path: Option<String>,
    /// ToPath specifies the path to copy contents to, the name of the repository when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_path: Option<String>,
}

/// GitRepositoryStatus records the observed state of a Git repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct GitRepositoryStatus {
    /// ObservedGeneration is the last observed generation of the GitRepository object.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the GitRepository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Artifact represents the last successful reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// IncludedArtifacts contains the artifacts included last, in the order of the includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included_artifacts: Vec<Artifact>,
    /// ObservedIgnore is the observed exclusion patterns used for constructing the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// ObservedRecurseSubmodules is the observed resource submodules configuration of the artifact.
    #[serde(default, skip_serializing_if = "is_false")]
    pub observed_recurse_submodules: bool,
    /// ObservedInclude is the observed list of GitRepository resources used to produce the artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_include: Vec<GitRepositoryInclude>,
    /// ObservedSparseCheckout is the observed list of directories used to produce the artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_sparse_checkout: Vec<String>,
    /// SourceVerificationMode is the last used verification mode indicating which Git objects have been verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_verification_mode: Option<String>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
