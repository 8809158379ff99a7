//! Receiver (notification spec 6).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::schema::{is_false, is_zero};
use crate::{Condition, CrossNamespaceObjectReference, Duration, LocalObjectReference};

/// ReceiverSpec defines the desired state of the Receiver.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "notification.toolkit.fluxcd.io",
    version = "v1",
    kind = "Receiver",
    plural = "receivers",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-notifications",
    namespaced,
    status = "ReceiverStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Receiver is the Schema for the receivers API.",
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
        "rule": "self.type != 'generic-oidc' || (has(self.oidcProviders) && size(self.oidcProviders) > 0)",
        "message": "generic-oidc receivers must define at least one oidcProvider",
    },
    {
        "rule": "self.type == 'generic-oidc' || !has(self.oidcProviders) || size(self.oidcProviders) == 0",
        "message": "oidcProviders can only be set when type is generic-oidc",
    },
    {
        "rule": "self.type != 'generic-oidc' || !has(self.secretRef)",
        "message": "secretRef cannot be set when type is generic-oidc",
    },
    {
        "rule": "self.type == 'generic-oidc' || has(self.secretRef)",
        "message": "secretRef is required when type is not generic-oidc",
    },
]))]
pub struct ReceiverSpec {
    /// Type of webhook sender, used to determine the validation procedure and payload deserialization.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = [
        "generic", "generic-hmac", "generic-oidc", "github", "gitlab", "bitbucket", "harbor", "dockerhub", "quay", "gcr",
        "nexus", "acr", "cdevents",
    ]))]
    pub type_: String,
    /// Interval at which to reconcile the Receiver with its Secret references.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "10m"))]
    pub interval: Option<Duration>,
    /// Events specifies the list of event types to handle, for example push for GitHub; all of them when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// A list of resources to be notified about changes.
    pub resources: Vec<ReceiverResource>,
    /// ResourceFilter is a CEL expression expected to return a boolean for each resource: whether it is notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_filter: Option<String>,
    /// SecretRef specifies the Secret containing the token used to validate the payload authenticity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// OIDCProviders specifies the issuers whose tokens authenticate a request; only for the type generic-oidc.
    #[serde(rename = "oidcProviders", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["issuerURL"]))]
    pub oidc_providers: Vec<OidcProvider>,
    /// Suspend tells the controller to suspend subsequent events handling for this receiver.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
}

/// ReceiverResource names the resources to notify, with a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiverResource {
    /// The resources.
    #[serde(flatten)]
    pub reference: CrossNamespaceObjectReference,
    /// Filter is a CEL expression expected to return a boolean for each resource: whether it is notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// OIDCProvider is an issuer of tokens and what is asked of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcProvider {
    /// IssuerURL is the address of the issuer, as in the iss claim.
    #[serde(rename = "issuerURL")]
    #[schemars(extend("pattern" = "^https?://"))]
    pub issuer_url: String,
    /// Audience is what the aud claim must contain; notification-controller when not specified.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub audience: String,
    /// Variables are CEL expressions over the claims whose results the validations can use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<OidcVariable>,
    /// Validations are CEL expressions that must all be true.
    #[schemars(length(min = 1))]
    pub validations: Vec<OidcValidation>,
}

/// OIDCVariable is a named CEL expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OidcVariable {
    /// Name of the variable.
    pub name: String,
    /// Expression over the claims.
    pub expression: String,
}

/// OIDCValidation is a CEL expression that must be true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OidcValidation {
    /// Expression over claims and variables.
    pub expression: String,
    /// Message for the log when the expression is false.
    pub message: String,
}

/// ReceiverStatus defines the observed state of the Receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct ReceiverStatus {
    /// Conditions holds the conditions for the Receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// WebhookPath is the generated incoming webhook address in the format of '/hook/sha256sum(token+name+namespace)'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_path: Option<String>,
    /// ObservedGeneration is the last observed generation of the Receiver object.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
