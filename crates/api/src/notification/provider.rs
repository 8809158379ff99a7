//! Provider (notification spec 5).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{is_false, pattern};
use crate::{Duration, LocalObjectReference};

/// ProviderSpec defines the desired state of the Provider.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "notification.toolkit.fluxcd.io",
    version = "v1beta3",
    kind = "Provider",
    plural = "providers",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-notifications",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "Provider is the Schema for the providers API.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.type == 'github' || self.type == 'gitlab' || self.type == 'gitea' || self.type == 'bitbucketserver' || self.type == 'bitbucket' || self.type == 'azuredevops' || !has(self.commitStatusExpr)",
    "message": "spec.commitStatusExpr is only supported for the 'github', 'gitlab', 'gitea', 'bitbucketserver', 'bitbucket', 'azuredevops' provider types",
}]))]
pub struct ProviderSpec {
    /// Type specifies which Provider implementation to use.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = [
        "slack", "discord", "msteams", "rocket", "generic", "generic-hmac", "github", "gitlab", "gitea",
        "giteapullrequestcomment", "bitbucketserver", "bitbucket", "azuredevops", "googlechat", "googlepubsub", "webex",
        "sentry", "azureeventhub", "telegram", "lark", "matrix", "opsgenie", "alertmanager", "grafana",
        "githubdispatch", "githubpullrequestcomment", "gitlabmergerequestcomment", "pagerduty", "datadog", "nats",
        "zulip", "otel", "zoom", "incident.io",
    ]))]
    pub type_: String,
    /// Interval at which to reconcile the Provider. Deprecated: not used, kept so that old manifests apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Channel specifies the destination channel where events should be posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub channel: Option<String>,
    /// Username specifies the name under which events are posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub username: Option<String>,
    /// Address specifies the endpoint to post to, in a generic sense: what it means depends on the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub address: Option<String>,
    /// Timeout for sending alerts to the Provider, 15s when not specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = pattern::TIMEOUT))]
    pub timeout: Option<Duration>,
    /// Proxy the HTTP/S address of the proxy server. Deprecated: Use ProxySecretRef instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), extend("pattern" = "^(http|https)://.*$"))]
    pub proxy: Option<String>,
    /// ProxySecretRef specifies the Secret with the proxy configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// SecretRef specifies the Secret containing the authentication credentials for this Provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// ServiceAccountName is the name of the service account used to authenticate with services of cloud providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// CertSecretRef names a Secret with a client certificate (tls.crt, tls.key) and/or an authority (ca.crt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Suspend tells the controller to suspend subsequent events handling for this Provider.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// CommitStatusExpr is a CEL expression that evaluates to the id of the commit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_status_expr: Option<String>,
}
