use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn at_noon(mut object: Value) -> Assessment {
    if object.get("apiVersion").is_none() {
        object["apiVersion"] = json!("example.com/v1");
    }
    assess(&object, "2026-01-01T12:00:00Z".parse().unwrap())
}

fn row(kind: &str, api_version: &str, spec: Value, status: Value) -> Assessment {
    at_noon(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "generation": 1},
        "spec": spec, "status": status}))
}

#[rstest]
#[case::deleted(json!({"kind": "X", "metadata": {"deletionTimestamp": "t"}}), Status::Terminating, "Resource scheduled for deletion")]
#[case::generation(json!({"kind": "X", "metadata": {"generation": 2}, "status": {"observedGeneration": 1}}), Status::InProgress, "X generation is 2, but latest observed generation is 1")]
#[case::reconciling(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Reconciling", "status": "True", "message": "m"}]}}), Status::InProgress, "m")]
#[case::stalled(json!({"kind": "X", "status": {"conditions": [{"type": "Stalled", "status": "True", "message": "m"}]}}), Status::Failed, "m")]
#[case::stalled_over(json!({"kind": "X", "status": {"conditions": [{"type": "Stalled", "status": "False"}, {"type": "Ready", "status": "True"}]}}), Status::Current, "Resource is Ready")]
#[case::not_ready(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "False", "message": "m"}]}}), Status::InProgress, "m")]
#[case::nothing(json!({"kind": "X"}), Status::Current, "Resource is current")]
#[case::odd_conditions(json!({"kind": "X", "status": {"conditions": 3}}), Status::Unknown, "cannot restore slice from int64")]
#[case::odd_condition(json!({"kind": "X", "status": {"conditions": [null, "x"]}}), Status::Unknown, "cannot restore struct from: string")]
#[case::odd_status(json!({"kind": "X", "status": "x"}), Status::Unknown, "cannot restore struct from: string")]
#[case::odd_status_beside_a_generation(json!({"kind": "X", "metadata": {"generation": 1}, "status": "ok"}), Status::Unknown, "looking up status.observedGeneration from resource: .status.observedGeneration accessor error: ok is of the type string, expected map[string]interface{}")]
#[case::generation_as_text(json!({"kind": "Rollout", "metadata": {"generation": 2}, "status": {"observedGeneration": "2"}}), Status::Unknown, "looking up status.observedGeneration from resource: .status.observedGeneration accessor error: 2 is of the type string, expected int64")]
#[case::status_of_a_number(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": 1}]}}), Status::Unknown, "cannot convert int64 to v1.ConditionStatus")]
#[case::message_of_a_number(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "True", "message": 1}]}}), Status::Unknown, "cannot convert int64 to string")]
#[case::status_of_a_bool(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": true}]}}), Status::Unknown, "unrecognized type: string")]
#[case::null_fields(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "True", "message": null}]}}), Status::Current, "Resource is Ready")]
#[case::null_status(json!({"kind": "X", "metadata": {"generation": 1}, "status": null}), Status::Current, "Resource is current")]
#[case::odd_ready(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "Yes", "message": "m"}]}}), Status::Current, "Resource is current")]
#[case::second_ready(json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": "Yes"}, {"type": "Ready", "status": "Unknown", "message": "m"}]}}), Status::InProgress, "m")]
#[case::not_an_object(json!("x"), Status::Current, "Resource is current")]
fn generic_rules(#[case] object: Value, #[case] status: Status, #[case] message: &str) {
    let object = if object.is_object() { object } else { json!({"odd": object}) };
    assert_eq!(at_noon(object), Assessment::new(status, message));
}

#[rstest]
#[case(json!({"replicas": 2}), json!({}), Status::InProgress, "Replicas: 0/2")]
#[case(json!({"replicas": 2}), json!({"replicas": 2, "updatedReplicas": 1}), Status::InProgress, "Updated: 1/2")]
#[case(json!({"replicas": 1}), json!({"replicas": 2, "updatedReplicas": 1}), Status::InProgress, "Pending termination: 1")]
#[case(json!({}), json!({"replicas": 1, "updatedReplicas": 1}), Status::InProgress, "Available: 0/1")]
#[case(json!({}), json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}), Status::InProgress, "Ready: 0/1")]
#[case(json!({"progressDeadlineSeconds": 600}), json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}), Status::InProgress, "ReplicaSet not Available")]
#[case(json!({}), json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}), Status::InProgress, "Deployment not Available")]
#[case(json!({"replicas": 0, "progressDeadlineSeconds": 600}), json!({"conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}), Status::Current, "Deployment is available. Replicas: 0")]
#[case(json!({}), json!({"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}), Status::Failed, "Progress deadline exceeded")]
fn deployments(#[case] spec: Value, #[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(row("Deployment", "apps/v1", spec, status), Assessment::new(want, message));
}

#[rstest]
#[case(json!({"updateStrategy": {"type": "OnDelete"}}), json!({}), Status::Current, "StatefulSet is using the ondelete update strategy")]
#[case(json!({}), json!({}), Status::InProgress, "Replicas: 0/1")]
#[case(json!({}), json!({"replicas": 1}), Status::InProgress, "Ready: 0/1")]
#[case(json!({}), json!({"replicas": 3, "readyReplicas": 3}), Status::InProgress, "Pending termination: 2")]
#[case(json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}}), json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1}), Status::InProgress, "updated: 1/2")]
#[case(json!({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}}), json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2}), Status::Current, "Partition rollout complete. updated: 2")]
#[case(json!({"updateStrategy": {"rollingUpdate": {"partition": 0}}}), json!({"replicas": 1, "readyReplicas": 1}), Status::InProgress, "updated: 0/1")]
#[case(json!({"updateStrategy": {"rollingUpdate": {"partition": 0}}}), json!({"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b"}), Status::Current, "Partition rollout complete. updated: 1")]
#[case(json!({}), json!({"replicas": 1, "readyReplicas": 1, "currentReplicas": 1, "currentRevision": "a", "updateRevision": "b"}), Status::InProgress, "Waiting for updated revision to match current")]
#[case(json!({}), json!({"replicas": 1, "readyReplicas": 1, "currentReplicas": 1}), Status::Current, "All replicas scheduled as expected. Replicas: 1")]
fn stateful_sets(#[case] spec: Value, #[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(row("StatefulSet", "apps/v1", spec, status), Assessment::new(want, message));
}

#[rstest]
#[case(json!({}), Status::InProgress, "DaemonSet status.observedGeneration not found")]
#[case(json!({"observedGeneration": 1}), Status::InProgress, "Missing .status.desiredNumberScheduled")]
#[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 1}), Status::InProgress, "Current: 0/1")]
#[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1, "numberAvailable": 1}), Status::InProgress, "Ready: 0/1")]
#[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 0}), Status::Current, "All replicas scheduled as expected. Replicas: 0")]
fn daemon_sets(#[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(row("DaemonSet", "apps/v1", json!({}), status), Assessment::new(want, message));
}

#[rstest]
#[case(json!({"conditions": [{"type": "ReplicaFailure", "status": "True"}]}), Status::InProgress, "Replica Failure condition. Check Pods")]
#[case(json!({}), Status::InProgress, "Labelled: 0/1")]
#[case(json!({"fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1, "replicas": 2}), Status::InProgress, "Pending termination: 1")]
#[case(json!({"fullyLabeledReplicas": 1, "availableReplicas": 1, "readyReplicas": 1, "replicas": 1}), Status::Current, "ReplicaSet is available. Replicas: 1")]
fn replica_sets(#[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(row("ReplicaSet", "apps/v1", json!({}), status), Assessment::new(want, message));
}

fn pod(created: &str, status: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": created}, "status": status})
}

fn unschedulable() -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]})
}

fn crashing() -> Value {
    let waiting = |name: &str| json!({"name": name, "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
    json!({"phase": "Running", "containerStatuses": [waiting("a"), {"name": "ok"}, waiting("b")]})
}

#[rstest]
#[case(json!({"phase": "Succeeded"}), Status::Current, "Pod has completed successfully")]
#[case(json!({"phase": "Failed"}), Status::Current, "Pod has completed, but not successfully")]
#[case(json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}), Status::Current, "Pod is Ready")]
#[case(json!({"phase": "Running"}), Status::InProgress, "Pod is running but is not Ready")]
#[case(crashing(), Status::Failed, "Containers in CrashLoop state: a,b")]
#[case(unschedulable(), Status::Failed, "Pod could not be scheduled")]
#[case(json!({"phase": "Pending"}), Status::InProgress, "Pod is in the Pending phase")]
#[case(json!({}), Status::InProgress, "Pod phase not available")]
#[case(json!({"phase": "Odd"}), Status::Unknown, "unknown phase Odd")]
fn pods(#[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(at_noon(pod("2026-01-01T11:59:00Z", status)), Assessment::new(want, message));
}

#[test]
fn young_unschedulable_pod_is_in_progress() {
    let young = at_noon(pod("2026-01-01T11:59:50Z", unschedulable()));
    assert_eq!(young, Assessment::new(Status::InProgress, "Pod has not been scheduled"));
}

#[test]
fn failed_pods_fail_a_set_in_progress_but_not_unschedulable_or_deleted_ones() {
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let old = "2026-01-01T11:00:00Z";
    let mut deleted = pod(old, crashing());
    deleted["metadata"]["deletionTimestamp"] = json!(old);
    let set = || Assessment::new(Status::InProgress, "Ready: 0/1");
    assert_eq!(assess_pods(set(), &[deleted, pod(old, unschedulable())], now), set());
    let failed = assess_pods(set(), &[pod(old, crashing())], now);
    assert_eq!(failed, Assessment::new(Status::Failed, "1 pods have failed"));
    let done = Assessment::new(Status::Current, "done");
    assert_eq!(assess_pods(done.clone(), &[pod(old, crashing())], now), done);
}

#[rstest]
#[case(json!({"suspend": true}), json!({}), Status::Current, "Job is suspended")]
#[case(json!({"completions": 2}), json!({"succeeded": 2, "conditions": [{"type": "Complete", "status": "True"}]}), Status::Current, "Job Completed. succeeded: 2/2")]
#[case(json!({"parallelism": 3}), json!({"failed": 1, "conditions": [{"type": "Failed", "status": "True"}]}), Status::Failed, "Job Failed. failed: 1/3")]
#[case(json!({}), json!({}), Status::InProgress, "Job not started. active: 0/1")]
#[case(json!({}), json!({"startTime": "t", "active": 1}), Status::InProgress, "Job in progress. success:0, active: 1, failed: 0")]
fn jobs(#[case] spec: Value, #[case] status: Value, #[case] want: Status, #[case] message: &str) {
    assert_eq!(row("Job", "batch/v1", spec, status), Assessment::new(want, message));
}

#[test]
fn job_being_deleted_is_judged_by_its_conditions() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"deletionTimestamp": "t"},
        "status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}});
    assert_eq!(at_noon(job).status, Status::Current);
}

#[rstest]
#[case("PersistentVolumeClaim", "v1", json!({}), json!({"phase": "Bound"}), Status::Current, "PVC is Bound")]
#[case("PersistentVolumeClaim", "v1", json!({}), json!({"phase": "Pending"}), Status::InProgress, "PVC is not Bound. phase: Pending")]
#[case("Service", "v1", json!({"type": "LoadBalancer"}), json!({}), Status::InProgress, "ClusterIP not set. Service type: LoadBalancer")]
#[case("Service", "v1", json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), json!({}), Status::Current, "Service is ready")]
#[case("Service", "v1", json!({}), json!({}), Status::Current, "Service is ready")]
#[case("Secret", "v1", json!({}), json!({}), Status::Current, "Resource is always ready")]
#[case("CronJob", "batch/v1", json!({}), json!({}), Status::Current, "Resource is always ready")]
#[case("PodDisruptionBudget", "policy/v1", json!({}), json!({"observedGeneration": 1}), Status::Current, "AllowedDisruptions has been computed.")]
#[case("CustomResourceDefinition", "apiextensions.k8s.io/v1", json!({}), json!({}), Status::InProgress, "Install in progress")]
#[case("CustomResourceDefinition", "apiextensions.k8s.io/v1", json!({}), json!({"conditions": [{"type": "Established", "status": "False", "reason": "Installing"}]}), Status::InProgress, "Install in progress")]
#[case("CustomResourceDefinition", "apiextensions.k8s.io/v1", json!({}), json!({"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}, {"type": "Established", "status": "True"}]}), Status::Failed, "taken")]
#[case("CustomResourceDefinition", "apiextensions.k8s.io/v1", json!({}), json!({"conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]}), Status::Current, "CRD is established")]
#[case("Deployment", "example.com/v1", json!({"replicas": 5}), json!({}), Status::Current, "Resource is current")]
fn other_kinds(
    #[case] kind: &str,
    #[case] api_version: &str,
    #[case] spec: Value,
    #[case] status: Value,
    #[case] want: Status,
    #[case] message: &str,
) {
    assert_eq!(row(kind, api_version, spec, status), Assessment::new(want, message));
}
