//! One row per rule of IR-8 and per way to fail.

use std::sync::Arc;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use weir_access::ReadError;
use weir_auth::LoginError;
use weir_oci::RegistryOptions;

use super::{Plan, decide};
use crate::{access::AccessError, image_name, image_repository::observe::Observed};

const NOW: &str = "2026-01-01T01:00:00Z";

/// A repository that was scanned ten minutes ago; `change` is merged into it.
fn observed(change: Value) -> Observed {
    let mut object = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
        "metadata": {"name": "app", "namespace": "ns", "generation": 1},
        "spec": {"image": "ghcr.io/o/app", "interval": "1h"},
        "status": {
            "canonicalImageName": "ghcr.io/o/app", "observedExclusionList": ["^.*\\.sig$"],
            "lastScanResult": {"tagCount": 1, "revision": "r", "scanTime": "2026-01-01T00:50:00Z"},
        },
    });
    json_patch::merge(&mut object, &change);
    let object: weir_api::ImageRepository = serde_json::from_value(object).unwrap();
    Observed {
        name: image_name::parse(&object.spec.image),
        object: Arc::new(object),
        options: Ok(RegistryOptions::default()),
        has_tags: Ok(true),
        is_requested: false,
        workload_identity: false,
        now: NOW.parse::<Timestamp>().unwrap(),
    }
}

fn words(plan: Plan) -> String {
    match plan {
        Plan::Scan(scan) => scan.why.progress(),
        Plan::Hindered { why, failure } => {
            format!("{} ({}): {}", failure.reason, why.progress(), failure.message)
        }
        Plan::Keep { next, .. } => format!("keep {}", weir_api::Duration::from(next)),
        Plan::Fail(failure) => format!("{}: {}", failure.reason, failure.message),
    }
}

#[rstest]
#[case::nothing(json!({}), "keep 50m0s")]
#[case::first(json!({"status": null}), "scanning: first scan")]
#[case::no_result(json!({"status": {"lastScanResult": null}}), "scanning: first scan")]
#[case::renamed(json!({"spec": {"image": "ghcr.io/o/other"}}), "scanning: new image name")]
#[case::excluded(json!({"spec": {"exclusionList": ["^1"]}}), "scanning: updated exclusion list")]
#[case::same_exclusions(json!({"spec": {"exclusionList": ["^.*\\.sig$", "^.*\\.sig$"]}}), "keep 50m0s")]
#[case::interval(json!({"spec": {"interval": "10m"}}), "scanning: triggered by interval")]
#[case::nearly(json!({"spec": {"interval": "600.5s"}}), "scanning: triggered by interval")]
#[case::failed(json!({"status": {"conditions": [{
    "type": "Ready", "status": "False", "reason": "ReadOperationFailed", "message": "", "lastTransitionTime": "2026-01-01T00:55:00Z",
}]}}), "scanning: last scan failed")]
#[case::renamed_and_failed(json!({"spec": {"image": "ghcr.io/o/other"}, "status": {"conditions": [{
    "type": "Ready", "status": "False", "reason": "ReadOperationFailed", "message": "", "lastTransitionTime": "2026-01-01T00:55:00Z",
}]}}), "scanning: new image name")]
#[case::excluded_and_failed(json!({"spec": {"exclusionList": ["^1"]}, "status": {"conditions": [{
    "type": "Ready", "status": "False", "reason": "ReadOperationFailed", "message": "", "lastTransitionTime": "2026-01-01T00:55:00Z",
}]}}), "scanning: updated exclusion list")]
#[case::scheme(json!({"spec": {"image": "oci://x"}}),
    "ImageURLInvalid: image 'oci://x' should not include URL scheme; remove 'oci://'")]
#[case::gate(json!({"spec": {"provider": "aws", "serviceAccountName": "x"}}),
    "FeatureGateDisabled: to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller")]
#[case::gate_before_the_name(json!({"spec": {"image": "oci://x", "provider": "aws", "serviceAccountName": "x"}}),
    "FeatureGateDisabled: to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller")]
#[case::empty_account(json!({"spec": {"provider": "aws", "serviceAccountName": ""}}), "keep 50m0s")]
fn a_scan_is_due_by_the_first_rule_that_holds(#[case] change: Value, #[case] expected: &str) {
    assert_eq!(words(decide(&observed(change))), expected);
}

/// IR-10
#[test]
fn a_request_and_an_empty_store_are_reasons_too() {
    assert_eq!(
        words(decide(&Observed { is_requested: true, ..observed(json!({})) })),
        "scanning: reconcile requested"
    );
    assert_eq!(
        words(decide(&Observed { has_tags: Ok(false), ..observed(json!({})) })),
        "scanning: no tags in database"
    );
    // Policies wait for lost tags, also when the first try to get them back has failed.
    let failed = json!({"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "ReadOperationFailed", "message": "",
        "lastTransitionTime": "2026-01-01T00:55:00Z",
    }]}});
    assert_eq!(
        words(decide(&Observed { has_tags: Ok(false), ..observed(failed) })),
        "scanning: no tags in database"
    );
}

/// IR-10: lost tags come back by the first scan, whatever has asked for it; a watch does not tell of the same revision.
#[rstest]
#[case::nothing_else(json!({}), false)]
#[case::requested(json!({}), true)]
#[case::renamed(json!({"spec": {"image": "ghcr.io/o/other"}}), false)]
#[case::excluded(json!({"spec": {"exclusionList": ["^1"]}}), false)]
fn each_scan_of_an_empty_store_fills_it(#[case] change: Value, #[case] is_requested: bool) {
    let fills = |has_tags| match decide(&Observed {
        has_tags: Ok(has_tags),
        is_requested,
        ..observed(change.clone())
    }) {
        Plan::Scan(scan) => scan.fills_store,
        _ => false,
    };
    assert!(fills(false) && !fills(true));
}

#[test]
fn what_cannot_be_read_fails() {
    let (kind, place) = ("secret".to_owned(), "ns/s".to_owned());
    let message = "secrets \"s\" not found".to_owned();
    let options = Err(AccessError::Secret(ReadError { kind, place, is_not_found: true, message }));
    assert_eq!(
        words(decide(&Observed { options, ..observed(json!({})) })),
        "AuthenticationFailed: failed to configure authentication options: secrets \"s\" not found"
    );
    // IR-24: a login is part of the scan, and does not matter while none is due.
    let options = || Err(LoginError::Lockdown { place: "ns/s".to_owned() }.into());
    let failed = words(decide(&Observed { is_requested: true, options: options(), ..observed(json!({})) }));
    let expected = "ReadOperationFailed (scanning: reconcile requested): scan failed: failed to get service account 'ns/s'";
    assert!(failed.starts_with(expected), "{failed}");
    assert_eq!(words(decide(&Observed { options: options(), ..observed(json!({})) })), "keep 50m0s");
    let has_tags = Err("disk".to_owned());
    assert_eq!(
        words(decide(&Observed { has_tags, ..observed(json!({})) })),
        "Failure: failed to determine if it's scan time: disk"
    );
}

/// As in Flux, where registries that ask for a token are not requested anything before there is one.
#[rstest]
#[case("reg.azurecr.io/app", "")]
#[case("us-docker.pkg.dev/p/r/app", "")]
#[case("public.ecr.aws/o/app", "")]
#[case(
    "123456789012.dkr.ecr.us-east-1.amazonaws.com/app",
    "Get \"https://123456789012.dkr.ecr.us-east-1.amazonaws.com/v2/app/tags/list?n=1000\": "
)]
fn a_failed_login_names_the_request_that_it_belongs_to(#[case] image: &str, #[case] request: &str) {
    let options = Err(LoginError::Lockdown { place: "ns/s".to_owned() }.into());
    let change = json!({"spec": {"image": image}});
    let failed = words(decide(&Observed { is_requested: true, options, ..observed(change) }));
    let expected = format!("scan failed: {request}failed to get service account 'ns/s'");
    assert!(failed.contains(&expected), "{failed}");
}
