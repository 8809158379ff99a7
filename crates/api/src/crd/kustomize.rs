//! Older versions of Kustomization (KS 1.5).
//!
//! Fields that only the older versions know stand in the stored version too (KS-API-7).

use serde_json::json;

use super::edit::Edit::{self, Put, Remove, Require, Set, Unset};
use super::{CrdError, Definition, Older, definition, object, string};
use crate::Kustomization;
use crate::schema::pattern;

pub(super) fn definitions() -> Result<Vec<Definition>, CrdError> {
    Ok(vec![definition::<Kustomization>(
        "kustomize-controller",
        vec![Older::new("v1beta2", v1beta2()), Older::new("v1beta1", v1beta2().into_iter().chain(v1beta1()))],
    )?])
}

fn v1beta2() -> Vec<Edit> {
    vec![
        Set("spec.interval", "pattern", json!(pattern::GO_DURATION)),
        Set("spec.retryInterval", "pattern", json!(pattern::GO_DURATION)),
        Set("spec.timeout", "pattern", json!(pattern::GO_DURATION)),
        Remove("spec.dependsOn[].readyExpr"),
        Remove("spec.deletionPolicy"),
        Remove("spec.healthCheckExprs"),
        Remove("spec.namePrefix"),
        Remove("spec.nameSuffix"),
        Remove("spec.buildMetadata"),
        Remove("spec.ignoreMissingComponents"),
        Remove("spec.ignore"),
        Remove("spec.postBuild.substituteStrategy"),
        Remove("spec.decryption.serviceAccountName"),
        Remove("status.history"),
        Remove("status.lastAppliedOriginRevision"),
    ]
}

fn v1beta1() -> Vec<Edit> {
    let kinds = json!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "description": "The kinds of the applied objects.",
    });
    let entry = object(
        "Entry of a namespace.",
        [("namespace".to_owned(), string("The namespace.")), ("kinds".to_owned(), kinds)]
            .into_iter()
            .collect(),
        &["kinds", "namespace"],
    );
    let entries = json!({ "type": "array", "items": entry, "description": "What was applied." });
    let snapshot = object(
        "Deprecated: Not used, superseded by the inventory.",
        [("checksum".to_owned(), string("The checksum of the manifests.")), ("entries".to_owned(), entries)]
            .into_iter()
            .collect(),
        &["checksum", "entries"],
    );
    vec![
        Remove("spec.wait"),
        Remove("spec.commonMetadata"),
        Remove("spec.components"),
        Remove("spec.postBuild.substituteFrom[].optional"),
        Unset("spec.kubeConfig", "x-kubernetes-validations"),
        Remove("spec.kubeConfig.configMapRef"),
        Require("spec.kubeConfig.secretRef"),
        Remove("spec.kubeConfig.secretRef.key"),
        Remove("status.inventory"),
        Put("status.snapshot", snapshot.into()),
    ]
}
