//! Older versions of Bucket.

use serde_json::json;

use super::super::edit::Edit::{self, Put, Remove, Set, Unset};
use super::super::schema_of;
use super::{durations_v1beta1, status_artifact_v1beta1, status_artifact_v1beta2};
use crate::AccessFrom;

pub(super) fn v1beta2() -> Vec<Edit> {
    // All rules of v1 but those about the service account, which the version does not have.
    let rules = json!([
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
    ]);
    let mut edits = vec![
        Put("spec.accessFrom", schema_of::<AccessFrom>()),
        Remove("spec.serviceAccountName"),
        Set("spec", "x-kubernetes-validations", rules),
    ];
    edits.extend(status_artifact_v1beta2());
    edits
}

pub(super) fn v1beta1() -> Vec<Edit> {
    let mut edits = vec![
        Unset("spec", "x-kubernetes-validations"),
        Set("spec.provider", "enum", json!(["generic", "aws", "gcp"])),
        Remove("spec.sts"),
        Remove("spec.prefix"),
        Remove("spec.certSecretRef"),
        Remove("spec.proxySecretRef"),
        Remove("status.observedIgnore"),
    ];
    edits.extend(durations_v1beta1());
    edits.extend(status_artifact_v1beta1());
    edits
}
