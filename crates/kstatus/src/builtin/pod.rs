//! KS-KST-60..67.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::fields::{Malformed, at, conditions, text};
use crate::{Assessment, Status};

/// Time that the scheduler has to find a node before a Pod counts as unschedulable; kstatus' window.
const SCHEDULE_WINDOW: SignedDuration = SignedDuration::from_secs(15);

pub(crate) fn assess(object: &Value, now: Timestamp) -> Result<Assessment, Malformed> {
    match text(object, &["status", "phase"]).unwrap_or_default() {
        "Succeeded" => Ok(Assessment::current("Pod has completed successfully")),
        "Failed" => Ok(Assessment::current("Pod has completed, but not successfully")),
        "Running" => running(object),
        "Pending" => pending(object, now),
        "" => Ok(Assessment::in_progress("Pod phase not available")),
        phase => Err(Malformed::PodPhase { phase: phase.to_owned() }),
    }
}

/// Returns true when a Pod makes its StatefulSet or ReplicaSet fail: failed, staying, and not merely waiting for a
/// node.
pub(crate) fn has_failed(object: &Value, now: Timestamp) -> bool {
    if at(object, &["metadata", "deletionTimestamp"]).is_some() || is_unschedulable(object).unwrap_or(false) {
        return false;
    }
    assess(object, now).is_ok_and(|assessment| assessment.status == Status::Failed)
}

fn running(object: &Value) -> Result<Assessment, Malformed> {
    if conditions(object)?.iter().any(|condition| condition.is("Ready", "True")) {
        return Ok(Assessment::current("Pod is Ready"));
    }
    let crashing = crash_looping(object);
    Ok(if crashing.is_empty() {
        Assessment::in_progress("Pod is running but is not Ready")
    } else {
        Assessment::failed(format!("Containers in CrashLoop state: {}", crashing.join(",")))
    })
}

fn pending(object: &Value, now: Timestamp) -> Result<Assessment, Malformed> {
    if !is_unschedulable(object)? {
        return Ok(Assessment::in_progress("Pod is in the Pending phase"));
    }
    let created = text(object, &["metadata", "creationTimestamp"]).and_then(|time| time.parse().ok());
    let is_young = created.is_some_and(|created: Timestamp| now.duration_since(created) < SCHEDULE_WINDOW);
    Ok(if is_young {
        Assessment::in_progress("Pod has not been scheduled")
    } else {
        Assessment::failed("Pod could not be scheduled")
    })
}

fn is_unschedulable(object: &Value) -> Result<bool, Malformed> {
    let conditions = conditions(object)?;
    Ok(conditions.iter().any(|c| c.is("PodScheduled", "False") && c.reason == "Unschedulable"))
}

fn crash_looping(object: &Value) -> Vec<&str> {
    let statuses = at(object, &["status", "containerStatuses"]).and_then(Value::as_array);
    let waits =
        |container: &&Value| text(container, &["state", "waiting", "reason"]) == Some("CrashLoopBackOff");
    statuses.into_iter().flatten().filter(waits).filter_map(|container| text(container, &["name"])).collect()
}
