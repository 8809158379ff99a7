//! ImageUpdateAutomation (image spec 4).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ImageRef;
use crate::schema::{atomic_selector, is_false, is_zero};
use crate::source::GitRepositoryRef;
use crate::{Condition, Duration, LocalObjectReference, Time};

/// ImageUpdateAutomationSpec defines the desired state of ImageUpdateAutomation.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "image.toolkit.fluxcd.io",
    version = "v1",
    kind = "ImageUpdateAutomation",
    plural = "imageupdateautomations",
    shortname = "iua",
    shortname = "imgupd",
    shortname = "imgauto",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-images",
    namespaced,
    status = "ImageUpdateAutomationStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ImageUpdateAutomation is the Schema for the imageupdateautomations API.",
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
        name = "Last run",
        type_ = "string",
        json_path = ".status.lastAutomationRunTime",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ImageUpdateAutomationSpec {
    /// SourceRef refers to the resource giving access details to a git repository.
    pub source_ref: AutomationSourceReference,
    /// GitSpec contains all the git-specific definitions. This is technically optional, but in practice mandatory until
    /// there are other kinds of source allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSpec>,
    /// Interval gives a lower bound for how often the automation run should be attempted.
    pub interval: Duration,
    /// PolicySelector allows to filter applied policies based on labels; all policies of the namespace when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = atomic_selector)]
    pub policy_selector: Option<LabelSelector>,
    /// Update gives the specification for how to update the files in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = json!({ "strategy": "Setters" })))]
    pub update: Option<UpdateStrategy>,
    /// Suspend tells the controller to not run this automation, until it is unset.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}

/// AutomationSourceReference names the GitRepository to update, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct AutomationSourceReference {
    /// API version of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the referent.
    #[serde(default = "AutomationSourceReference::default_kind")]
    #[schemars(extend("enum" = ["GitRepository"]))]
    pub kind: String,
    /// Name of the referent.
    pub name: String,
    /// Namespace of the referent, defaults to the namespace of the automation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl AutomationSourceReference {
    fn default_kind() -> String {
        "GitRepository".to_owned()
    }
}

/// GitSpec contains all the git-specific definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitSpec {
    /// Checkout gives the parameters for cloning the git repository, ready to make changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<GitCheckout>,
    /// Commit specifies how to commit to the git repository.
    pub commit: CommitSpec,
    /// Push specifies how and where to push commits made by the automation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push: Option<PushSpec>,
}

/// GitCheckoutSpec says what to check out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitCheckout {
    /// Reference gives a branch, tag or commit to clone; the one of the GitRepository when not specified.
    #[serde(rename = "ref")]
    pub reference: GitRepositoryRef,
}

/// CommitSpec specifies how to commit changes to the git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitSpec {
    /// Author gives the email and optionally the name to use as the author of commits.
    pub author: CommitUser,
    /// SigningKey provides the option to sign commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<SigningKey>,
    /// MessageTemplate provides a template for the commit message, into which is interpolated the details of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_template: Option<String>,
    /// MessageTemplateValues provides additional values to be available to the templating rendering.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub message_template_values: BTreeMap<String, String>,
}

/// CommitUser is the author of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitUser {
    /// Name gives the name to provide when making a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Email gives the email to provide when making a commit.
    pub email: String,
}

/// SigningKey references a Kubernetes secret that contains a private key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SigningKey {
    /// SecretRef holds the name to a secret that contains the private key.
    #[serde(default)]
    #[schemars(!default)]
    pub secret_ref: LocalObjectReference,
    /// Type of the key; gpg when not specified.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["gpg", "ssh"]))]
    pub type_: Option<String>,
}

/// PushSpec specifies how and where to push commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushSpec {
    /// Branch specifies that commits should be pushed to the branch named. The branch is created when it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Refspec specifies the Git Refspec to use for an additional push operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refspec: Option<String>,
    /// Options specifies the push options that are sent to the Git server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// UpdateStrategy is a union of the various strategies for updating the Git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateStrategy {
    /// Strategy names the strategy to be used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["Setters"], "default" = "Setters"))]
    pub strategy: String,
    /// Path to the directory containing the manifests to be updated, the root of the repository when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// ImageUpdateAutomationStatus defines the observed state of ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct ImageUpdateAutomationStatus {
    /// LastAutomationRunTime records the last time the controller ran this automation through to completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_automation_run_time: Option<Time>,
    /// LastPushCommit records the SHA1 of the last commit made by the controller, for this automation object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push_commit: Option<String>,
    /// LastPushTime records the time of the last pushed change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push_time: Option<Time>,
    /// ObservedGeneration is the last reconciled generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Conditions holds the conditions for the ImageUpdateAutomation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// ObservedPolicies is the list of observed ImagePolicies that were considered by the last successful run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed_policies: BTreeMap<String, ImageRef>,
    /// ObservedSourceRevision is the last observed source revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_source_revision: Option<String>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
