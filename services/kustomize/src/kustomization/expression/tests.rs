use rstest::rstest;
use serde_json::json;

use super::*;

fn entry(value: Value) -> CustomHealthCheck {
    serde_json::from_value(value).unwrap()
}

fn id(kind: &str) -> ObjectId {
    ObjectId { namespace: "n".into(), name: "x".into(), group: "db.example".into(), kind: kind.into() }
}

fn checks() -> HealthChecks {
    let exact = json!({"apiVersion": "db.example/v1", "kind": "Cluster", "current": "status.phase == 'Up'",
        "inProgress": "status.phase == 'Starting'", "failed": "status.phase == 'Broken'"});
    let group = json!({"apiVersion": "db.example/v1beta1", "current": "status.ready == true"});
    HealthChecks::compile(&[entry(exact), entry(group)]).unwrap()
}

#[rstest]
#[case::current("Cluster", json!({"status": {"phase": "Up"}}), Ok(Status::Current))]
#[case::in_progress("Cluster", json!({"status": {"phase": "Starting"}}), Ok(Status::InProgress))]
#[case::failed("Cluster", json!({"status": {"phase": "Broken"}}), Ok(Status::Failed))]
#[case::none_of_them("Cluster", json!({"status": {"phase": "?"}}), Ok(Status::InProgress))]
#[case::not_observed("Cluster",
    json!({"metadata": {"generation": 2}, "status": {"phase": "Up", "observedGeneration": 1}}), Ok(Status::InProgress))]
#[case::observed_without_a_generation("Cluster",
    json!({"metadata": {}, "status": {"phase": "Up", "observedGeneration": 1}}), Ok(Status::Current))]
#[case::another_kind_of_the_group("Backup", json!({"status": {"ready": true}}), Ok(Status::Current))]
#[case::no_status("Backup", json!({"metadata": {}}),
    Err("failed to evaluate the CEL expression 'status.ready == true': no such attribute(s): status.ready"))]
fn objects_are_judged_by_their_entry(
    #[case] kind: &str,
    #[case] object: Value,
    #[case] expected: Result<Status, &str>,
) {
    let found = checks().judge(&id(kind), &object, &|| true);
    let verdict = found.error.map_or(Ok(found.assessment.status), Err);
    assert_eq!(verdict, expected.map_err(str::to_owned));
}

#[test]
fn other_groups_are_not_covered() {
    let other = ObjectId { group: "other.example".into(), ..id("Cluster") };
    assert!(!checks().covers(&other));
}

#[rstest]
#[case(json!({"apiVersion": "a/v1", "kind": "B", "current": "status =="}),
    "failed to create custom status evaluator for healthchecks[0]: failed to parse the expression Current: failed to parse")]
#[case(json!({"apiVersion": "a/v1", "kind": "B", "current": "true", "failed": "("}),
    "failed to create custom status evaluator for healthchecks[0]: failed to parse the expression Failed: ")]
#[case(json!({"apiVersion": "a/v1", "kind": "B", "current": ""}),
    "failed to create custom status evaluator for healthchecks[0]: expression Current not specified")]
fn bad_entries_are_named(#[case] bad: Value, #[case] expected: &str) {
    let error = HealthChecks::compile(&[entry(bad)]).unwrap_err();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_entry_may_not_come_twice() {
    let one = || entry(json!({"apiVersion": "a/v1", "kind": "B", "current": "true"}));
    let error = HealthChecks::compile(&[one(), one()]).unwrap_err();
    assert_eq!(error, "duplicate custom health check for GroupKind B.a at healthchecks[1]");
}

#[test]
fn security_public_part_has_neither_spec_nor_copies_of_it() {
    let object = json!({"apiVersion": "a/v1", "kind": "B", "spec": {"pin": 1}, "data": {"pin": "MQ=="},
        "metadata": {"name": "x", "labels": {"l": "1"}, "managedFields": [{}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "n"}},
        "status": {"conditions": [{"type": "Ready"}], "observedGeneration": 2, "phase": "Up"}});
    let expected = json!({"apiVersion": "a/v1", "kind": "B",
        "metadata": {"name": "x", "labels": {"l": "1"}, "annotations": {"note": "n"}},
        "status": {"conditions": [{"type": "Ready"}], "observedGeneration": 2}});
    assert_eq!(public_part(&object), expected);
}
