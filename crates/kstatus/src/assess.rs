//! The order of the rules (KS-KST-1..9); the tables of the built-in kinds are in [`crate::builtin`].

use jiff::Timestamp;
use serde_json::Value;

use crate::builtin::{self, pod};
use crate::fields::{self, Malformed, conditions, integer, text};
use crate::{Assessment, Status};

/// Returns how far an object that was read from the cluster has come at the time `now`.
pub fn assess(object: &Value, now: Timestamp) -> Assessment {
    try_assess(object, now).unwrap_or_else(|malformed| Assessment::unknown(malformed.to_string()))
}

/// Returns the assessment of a StatefulSet or ReplicaSet after a look at its Pods (KS-KST-37): while it is in
/// progress, Pods that have failed and are not about to go make it fail. Other statuses stay as they are.
pub fn assess_pods(of_set: Assessment, pods: &[Value], now: Timestamp) -> Assessment {
    if of_set.status != Status::InProgress {
        return of_set;
    }
    let failed = pods.iter().filter(|object| pod::has_failed(object, now)).count();
    if failed == 0 { of_set } else { Assessment::failed(format!("{failed} pods have failed")) }
}

fn try_assess(object: &Value, now: Timestamp) -> Result<Assessment, Malformed> {
    let kind = builtin::kind_of(object);
    if kind == Some(builtin::Kind::Job) {
        return builtin::job::assess(object);
    }
    if let Some(assessment) = generic(object)? {
        return Ok(assessment);
    }
    if let Some(kind) = kind {
        return builtin::assess(kind, object, now);
    }
    Ok(ready(object)?.unwrap_or_else(|| Assessment::current("Resource is current")))
}

fn generic(object: &Value) -> Result<Option<Assessment>, Malformed> {
    if text(object, &["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_empty()) {
        return Ok(Some(Assessment::new(Status::Terminating, "Resource scheduled for deletion")));
    }
    if let Some(generation) = integer(object, &["metadata", "generation"])
        && let Some(observed) = fields::observed_generation(object)?
        && generation != observed
    {
        let kind = text(object, &["kind"]).unwrap_or_default();
        let message =
            format!("{kind} generation is {generation}, but latest observed generation is {observed}");
        return Ok(Some(Assessment::in_progress(message)));
    }
    for condition in conditions(object)? {
        if condition.is("Reconciling", "True") {
            return Ok(Some(Assessment::in_progress(condition.message)));
        }
        if condition.is("Stalled", "True") {
            return Ok(Some(Assessment::failed(condition.message)));
        }
    }
    Ok(None)
}

/// KS-KST-7: `Ready` counts when it is there and has a status that Kubernetes knows, and a false one is never a failure.
fn ready(object: &Value) -> Result<Option<Assessment>, Malformed> {
    let conditions = conditions(object)?;
    let mut ready = conditions.iter().filter(|condition| condition.kind == "Ready");
    Ok(ready.find_map(|condition| match condition.status {
        "True" => Some(Assessment::current("Resource is Ready")),
        "False" | "Unknown" => Some(Assessment::in_progress(condition.message)),
        _ => None,
    }))
}
