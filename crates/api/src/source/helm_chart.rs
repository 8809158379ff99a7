//! HelmChart (SRC 8).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::OciRepositoryVerification;
use crate::schema::{is_false, is_zero};
use crate::{Artifact, Condition, Duration};

/// HelmChartSpec specifies the desired state of a Helm chart.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "HelmChart",
    plural = "helmcharts",
    shortname = "hc",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    namespaced,
    status = "HelmChartStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "HelmChart is the Schema for the helmcharts API.",
    printcolumn(name = "Chart", type_ = "string", json_path = ".spec.chart"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(name = "Source Kind", type_ = "string", json_path = ".spec.sourceRef.kind"),
    printcolumn(name = "Source Name", type_ = "string", json_path = ".spec.sourceRef.name"),
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
    "rule": "!has(self.verify) || self.sourceRef.kind == 'HelmRepository'",
    "message": "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
}]))]
pub struct HelmChartSpec {
    /// Chart is the name of the chart in a HelmRepository, or its path in a GitRepository or Bucket.
    pub chart: String,
    /// Version is the chart version semver expression, ignored for charts from GitRepository and Bucket sources. Defaults
    /// to latest when omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "*"))]
    pub version: Option<String>,
    /// SourceRef is the reference to the Source the chart is available at.
    pub source_ref: HelmChartSourceReference,
    /// Interval at which the Source is checked for updates. It is approximate and may be subject to jitter.
    pub interval: Duration,
    /// ReconcileStrategy determines what enables the creation of a new artifact: a new ChartVersion or a new Revision of
    /// the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["ChartVersion", "Revision"], "default" = "ChartVersion"))]
    pub reconcile_strategy: Option<String>,
    /// ValuesFile is a values file that comes before those of valuesFiles. Deprecated: Use valuesFiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_file: Option<String>,
    /// ValuesFiles is an alternative list of values files to use as the chart values, relative to the chart or, for
    /// GitRepository and Bucket sources, to the root of the source. They are merged in order, the last one wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_files: Vec<String>,
    /// IgnoreMissingValuesFiles controls whether to silently ignore missing values files rather than failing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_missing_values_files: bool,
    /// Suspend tells the controller to suspend the reconciliation of this source.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// Verify contains the Secret with the trusted public keys used to verify the signature; only for charts of a
    /// HelmRepository of the type oci.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<OciRepositoryVerification>,
}

impl HelmChartSpec {
    /// The values files in the order of their merge: the deprecated field first (SRC-API-6).
    pub fn all_values_files(&self) -> impl Iterator<Item = &str> {
        let first = self.values_file.as_deref().filter(|file| !file.is_empty());
        first.into_iter().chain(self.values_files.iter().map(String::as_str))
    }
}

/// LocalHelmChartSourceReference names the source of a chart in the namespace of the HelmChart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartSourceReference {
    /// APIVersion of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the referent.
    #[schemars(extend("enum" = ["HelmRepository", "GitRepository", "Bucket"]))]
    pub kind: String,
    /// Name of the referent.
    pub name: String,
}

/// HelmChartStatus records the observed state of the HelmChart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = json!({ "observedGeneration": -1 })))]
pub struct HelmChartStatus {
    /// ObservedGeneration is the last observed generation of the HelmChart object.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// ObservedSourceArtifactRevision is the last observed Artifact.Revision of the HelmChartSpec.SourceRef.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_source_artifact_revision: Option<String>,
    /// ObservedChartName is the last observed chart name as specified by the resolved chart reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_chart_name: Option<String>,
    /// ObservedValuesFiles are the observed value files of the last successful reconciliation. It matches the chart in the
    /// last successfully reconciled artifact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_values_files: Vec<String>,
    /// Conditions holds the conditions for the HelmChart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// URL is the dynamic fetch link for the latest Artifact. It is provided on a "best effort" basis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Artifact represents the output of the last successful reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// LastHandledReconcileAt holds the value of the most recent reconcile request handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
