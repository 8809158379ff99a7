//! Kubernetes' own kinds (KS-KST-20..83): one table a module.

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{Malformed, text};

mod custom_resource_definition;
mod daemon_set;
mod deployment;
pub(crate) mod job;
pub(crate) mod pod;
mod replica_set;
mod small;
mod stateful_set;

/// The kinds with a table of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AlwaysReady,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    Job,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    Service,
    StatefulSet,
}

/// The table of an object's group and kind, whatever the version.
pub(crate) fn kind_of(object: &Value) -> Option<Kind> {
    let api_version = text(object, &["apiVersion"]).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(match (group, text(object, &["kind"])?) {
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => Kind::AlwaysReady,
        ("", "PersistentVolumeClaim") => Kind::PersistentVolumeClaim,
        ("", "Pod") => Kind::Pod,
        ("", "Service") => Kind::Service,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Kind::CustomResourceDefinition,
        ("apps" | "extensions", "DaemonSet") => Kind::DaemonSet,
        ("apps" | "extensions", "Deployment") => Kind::Deployment,
        ("apps" | "extensions", "ReplicaSet") => Kind::ReplicaSet,
        ("apps", "StatefulSet") => Kind::StatefulSet,
        ("batch", "Job") => Kind::Job,
        ("policy", "PodDisruptionBudget") => Kind::PodDisruptionBudget,
        _ => return None,
    })
}

pub(crate) fn assess(kind: Kind, object: &Value, now: Timestamp) -> Result<Assessment, Malformed> {
    match kind {
        Kind::AlwaysReady => Ok(Assessment::current("Resource is always ready")),
        Kind::CustomResourceDefinition => custom_resource_definition::assess(object),
        Kind::DaemonSet => Ok(daemon_set::assess(object)),
        Kind::Deployment => deployment::assess(object),
        Kind::Job => job::assess(object),
        Kind::PersistentVolumeClaim => Ok(small::persistent_volume_claim(object)),
        Kind::Pod => pod::assess(object, now),
        Kind::PodDisruptionBudget => Ok(small::pod_disruption_budget()),
        Kind::ReplicaSet => replica_set::assess(object),
        Kind::Service => Ok(small::service(object)),
        Kind::StatefulSet => Ok(stateful_set::assess(object)),
    }
}

/// `status.<field>`, 0 when absent.
fn count(object: &Value, field: &str) -> i64 {
    crate::fields::integer(object, &["status", field]).unwrap_or(0)
}

/// `spec.replicas`, 1 when absent as the API server defaults it.
fn replicas(object: &Value) -> i64 {
    crate::fields::integer(object, &["spec", "replicas"]).unwrap_or(1)
}
