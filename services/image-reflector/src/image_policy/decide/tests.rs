//! One row per way that a policy can be decided.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_runtime::{Failure, Next};

use super::{DigestPlan, Plan, decide};
use crate::image_policy::{Settings, observe::Observed};

const SETTINGS: Settings = Settings {
    no_cross_namespace_refs: false,
    workload_identity: false,
    requeue_dependency: Duration::from_secs(30),
};

/// A semver policy over three tags; the changes are merged into policy and repository.
fn observed(policy_change: Value, repository_change: Value) -> Observed {
    let mut policy = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
        "metadata": {"name": "app", "namespace": "ns", "generation": 1},
        "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "1.x"}}},
    });
    let mut repository = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
        "metadata": {"name": "app", "namespace": "ns"}, "spec": {"image": "org/app", "interval": "1h"},
    });
    json_patch::merge(&mut policy, &policy_change);
    json_patch::merge(&mut repository, &repository_change);
    Observed {
        policy: Arc::new(serde_json::from_value(policy).unwrap()),
        repository: Some(Arc::new(serde_json::from_value(repository).unwrap())),
        is_to_be_visited: true,
        namespace_labels: Ok([("team".to_owned(), "a".to_owned())].into()),
        tags: Ok(["2.0.0", "1.1.0", "1.0.0"].map(str::to_owned).to_vec()),
        has_waited: false,
        settings: SETTINGS,
        cancel: CancellationToken::new(),
    }
}

fn words(plan: Plan) -> String {
    match plan {
        Plan::Select(choice) => format!("{}:{} {:?}", choice.name, choice.tag, choice.digest),
        Plan::Wait(give_up) => format!("wait {give_up:?} "),
        Plan::Fail(Failure { next: Next::Wait { give_up }, message, .. }) => {
            format!("wait {give_up:?} {message}")
        }
        Plan::Fail(failure) => {
            let stalled = if failure.is_stalled() { "stalled " } else { "" };
            format!("{stalled}{}: {}", failure.reason, failure.message)
        }
    }
}

#[rstest]
#[case(json!({}), "org/app:1.1.0 None")]
#[case(json!({"spec": {"policy": {"semver": null, "alphabetical": {}}}}), "org/app:2.0.0 None")]
#[case(json!({"spec": {"policy": {"semver": null, "alphabetical": {"order": "desc"}}}}), "org/app:1.0.0 None")]
#[case(json!({"spec": {"policy": {"alphabetical": {}, "numerical": {}}}}), "org/app:1.1.0 None")]
#[case(json!({"spec": {"filterTags": {"pattern": "^1\\.0"}}}), "org/app:1.0.0 None")]
#[case(json!({"spec": {"policy": {"semver": null}}}),
    "stalled InvalidPolicy: invalid policy: given ImagePolicyChoice object is invalid")]
#[case(json!({"spec": {"policy": {"semver": {"range": "x1"}}}}), "stalled InvalidPolicy: invalid policy: constraint parser error")]
#[case(json!({"spec": {"filterTags": {"pattern": "a("}}}),
    "stalled InvalidPolicy: failed to filter tags: invalid regular expression pattern 'a(': error parsing regexp: missing closing ): `a(`")]
#[case(json!({"spec": {"policy": {"semver": {"range": "3.x"}}}}), "Failure: unable to determine latest version from provided list")]
#[case(json!({"spec": {"filterTags": {"pattern": "^none$"}}}), "Failure: version list argument cannot be empty")]
#[case(json!({"spec": {"digestReflectionPolicy": "Always"}}),
    "stalled IntervalNotConfigured: spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'")]
fn a_policy_selects_or_says_why_not(#[case] change: Value, #[case] expected: &str) {
    assert_eq!(words(decide(&observed(change, json!({})))), expected);
}

#[rstest]
#[case(json!(null), "AccessDenied: failed to get the referred ImageRepository: access denied: 'other/app' can't be accessed due to missing ACL labels on 'accessFrom'")]
#[case(json!({"namespaceSelectors": []}), "AccessDenied: failed to get the referred ImageRepository: access denied: 'other/app' can't be accessed due to ACL labels mismatch on namespace 'ns'")]
#[case(json!({"namespaceSelectors": [{"matchLabels": {"team": "b"}}]}), "AccessDenied: failed to get the referred ImageRepository: access denied: 'other/app' can't be accessed due to ACL labels mismatch on namespace 'ns'")]
#[case(json!({"namespaceSelectors": [{"matchLabels": {"team": "b"}}, {"matchLabels": {"team": "a"}}]}), "org/app:1.1.0 None")]
#[case(json!({"namespaceSelectors": [{"matchLabels": {}}]}), "org/app:1.1.0 None")]
fn other_namespaces_need_leave(#[case] access: Value, #[case] expected: &str) {
    let policy = json!({"spec": {"imageRepositoryRef": {"namespace": "other"}}});
    assert_eq!(words(decide(&observed(policy, json!({"spec": {"accessFrom": access}})))), expected);
}

/// IP-5.
#[rstest]
#[case(json!({"image": "oci://x"}),
    "stalled ImageURLInvalid: image 'oci://x' should not include URL scheme; remove 'oci://'")]
#[case(json!({"provider": "aws", "serviceAccountName": "x"}),
    "stalled FeatureGateDisabled: to use spec.serviceAccountName in the ImageRepository for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller")]
#[case(json!({"provider": "generic", "serviceAccountName": "x"}), "org/app:1.1.0 None")]
#[case(json!({"provider": "aws", "serviceAccountName": ""}), "org/app:1.1.0 None")]
fn a_repository_that_cannot_be_used_stalls_its_policies(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(words(decide(&observed(json!({}), json!({"spec": spec})))), expected);
}

/// Templates of manifests leave empty texts where nothing is given.
#[test]
fn an_empty_namespace_is_the_own_one() {
    let policy = json!({"spec": {"imageRepositoryRef": {"namespace": ""}}});
    let settings = Settings { no_cross_namespace_refs: true, ..SETTINGS };
    let plan = decide(&Observed { settings, ..observed(policy, json!({})) });
    assert_eq!(words(plan), "org/app:1.1.0 None");
}

#[test]
fn the_flag_blocks_other_namespaces_before_anything_is_told() {
    let policy = json!({"spec": {"imageRepositoryRef": {"namespace": "other"}}});
    let settings = Settings { no_cross_namespace_refs: true, ..SETTINGS };
    let plan = decide(&Observed { settings, repository: None, ..observed(policy, json!({})) });
    assert_eq!(
        words(plan),
        "AccessDenied: failed to get the referred ImageRepository: cannot access 'ImageRepository/other/app', \
         cross-namespace references have been blocked"
    );
}

#[test]
fn a_missing_repository_is_named() {
    assert_eq!(
        words(decide(&Observed { repository: None, ..observed(json!({}), json!({})) })),
        "DependencyNotReady: failed to get the referred ImageRepository: referenced ImageRepository does not exist: \
         ImageRepository.image.toolkit.fluxcd.io \"app\" not found"
    );
}

#[test]
fn missing_tags_are_waited_for_in_silence_first() {
    let without =
        |has_waited| Observed { tags: Ok(Vec::new()), has_waited, ..observed(json!({}), json!({})) };
    assert_eq!(words(decide(&without(false))), "wait 5s ");
    assert_eq!(words(decide(&without(true))), "wait 30s retrying in 30s error: no tags in database");
}

/// Somebody who asks right after the scan is not told of the tag before.
#[test]
fn a_scan_that_found_no_tags_is_told_at_once() {
    let policy = json!({"status": {"conditions": ready("True", "")}});
    let repository = json!({"status": {"lastScanResult": {"tagCount": 0, "revision": "r"}}});
    let plan = decide(&Observed { tags: Ok(Vec::new()), ..observed(policy, repository) });
    assert_eq!(words(plan), "wait 30s retrying in 30s error: no tags in database");
}

fn ready(status: &str, message: &str) -> Value {
    let (reason, time) = ("Any", "2026-01-01T00:00:00Z");
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": time}])
}

/// A policy that was Ready loses its tags where all were deleted from the registry; one that failed because it was there before its
/// repository waits for the first scan.
#[rstest]
#[case("True", "", "wait 5s ")]
#[case("Unknown", "", "wait 5s ")]
#[case("False", "referenced ImageRepository does not exist", "wait 5s ")]
#[case(
    "False",
    "retrying in 30s error: no tags in database",
    "wait 30s retrying in 30s error: no tags in database"
)]
fn tags_that_went_are_waited_for_in_silence_first(
    #[case] status: &str,
    #[case] message: &str,
    #[case] expected: &str,
) {
    let policy = json!({"status": {"conditions": ready(status, message)}});
    let plan = decide(&Observed { tags: Ok(Vec::new()), ..observed(policy, json!({})) });
    assert_eq!(words(plan), expected);
}

/// Nobody has seen the tags in the image that is named now: they are those of the one before until the next scan.
#[rstest]
#[case::scanned("index.docker.io/org/app", false, "org/app:1.1.0 None")]
#[case::edited("index.docker.io/org/before", false, "wait 5s ")]
#[case::cannot_be_scanned(
    "index.docker.io/org/before",
    true,
    "wait 30s retrying in 30s error: no tags in database"
)]
fn tags_of_the_image_before_are_not_those_of_this_one(
    #[case] scanned: &str,
    #[case] has_waited: bool,
    #[case] expected: &str,
) {
    let repository = json!({"status": {"canonicalImageName": scanned}});
    let plan = decide(&Observed { has_waited, ..observed(json!({}), repository) });
    assert_eq!(words(plan), expected);
}

/// A service that starts with an empty store scans all repositories again, and policies do not fail for that.
#[rstest]
#[case::to_be_visited(json!({}), true, "wait 30s ")]
#[case::was_visited(json!({}), false, "wait 30s retrying in 30s error: no tags in database")]
#[case::without_tags(json!({"status": {"lastScanResult": {"tagCount": 0}}}), true,
    "wait 30s retrying in 30s error: no tags in database")]
#[case::suspended(json!({"spec": {"suspend": true}}), true, "wait 30s retrying in 30s error: no tags in database")]
fn lost_tags_are_waited_for_in_silence(
    #[case] change: Value,
    #[case] is_to_be_visited: bool,
    #[case] expected: &str,
) {
    let mut repository = json!({"status": {"lastScanResult": {"tagCount": 3, "revision": "r"}}});
    json_patch::merge(&mut repository, &change);
    let observed = observed(json!({"status": {"conditions": ready("True", "")}}), repository);
    let plan = decide(&Observed { tags: Ok(Vec::new()), has_waited: true, is_to_be_visited, ..observed });
    assert_eq!(words(plan), expected);
}

#[rstest]
#[case("Never", json!(null), DigestPlan::None)]
#[case("IfNotPresent", json!(null), DigestPlan::Fetch)]
#[case("IfNotPresent", json!({"name": "org/app", "tag": "1.1.0", "digest": "sha256:a"}), DigestPlan::Keep("sha256:a".into()))]
#[case("IfNotPresent", json!({"name": "org/app", "tag": "1.0.0", "digest": "sha256:a"}), DigestPlan::Fetch)]
#[case("IfNotPresent", json!({"name": "org/app", "tag": "1.1.0"}), DigestPlan::Fetch)]
#[case("Always", json!({"name": "org/app", "tag": "1.1.0", "digest": "sha256:a"}), DigestPlan::Fetch)]
fn digests_are_fetched_when_the_policy_says_so(
    #[case] policy: &str,
    #[case] latest: Value,
    #[case] plan: DigestPlan,
) {
    let spec = json!({"digestReflectionPolicy": policy, "interval": "1m"});
    let change = json!({"spec": spec, "status": {"latestRef": latest}});
    let Plan::Select(choice) = decide(&observed(change, json!({}))) else { panic!("expected a selection") };
    assert_eq!(choice.digest, plan);
}
