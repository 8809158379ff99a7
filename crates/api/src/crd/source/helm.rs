//! Older versions of HelmRepository and HelmChart.

use serde_json::json;

use super::super::edit::Edit::{self, Put, Remove, Require, Set, Unset};
use super::super::schema_of;
use super::{durations_v1beta1, status_artifact_v1beta1, status_artifact_v1beta2};
use crate::AccessFrom;
use crate::schema::pattern;

pub(super) fn repository_v1beta2() -> Vec<Edit> {
    status_artifact_v1beta2().into()
}

pub(super) fn repository_v1beta1() -> Vec<Edit> {
    let mut edits = vec![
        Unset("spec.url", "pattern"),
        Require("spec.interval"),
        Set("spec.timeout", "default", json!("60s")),
        Remove("spec.certSecretRef"),
        Remove("spec.insecure"),
        Remove("spec.type"),
        Remove("spec.provider"),
    ];
    edits.extend(durations_v1beta1());
    edits.extend(status_artifact_v1beta1());
    edits
}

/// The deprecated `valuesFile` is in all versions (SRC-API-6).
pub(super) fn chart_v1beta2() -> Vec<Edit> {
    let mut edits =
        vec![Unset("spec", "x-kubernetes-validations"), Put("spec.accessFrom", schema_of::<AccessFrom>())];
    edits.extend(status_artifact_v1beta2());
    edits
}

pub(super) fn chart_v1beta1() -> Vec<Edit> {
    let mut edits = vec![
        Remove("spec.verify"),
        Remove("spec.ignoreMissingValuesFiles"),
        Set("spec.interval", "pattern", json!(pattern::GO_DURATION)),
        Remove("status.observedSourceArtifactRevision"),
        Remove("status.observedChartName"),
        Remove("status.observedValuesFiles"),
    ];
    edits.extend(status_artifact_v1beta1());
    edits
}
