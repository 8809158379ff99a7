//! KS-KST-20..28. Crash-looping Pods do not fail a Deployment: its progress deadline does.

use serde_json::Value;

use super::{count, replicas};
use crate::Assessment;
use crate::fields::{Malformed, conditions, integer};

/// The value that Kubernetes reads as "no deadline"; such a Deployment never reports `Progressing`.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(crate) fn assess(object: &Value) -> Result<Assessment, Malformed> {
    let deadline = integer(object, &["spec", "progressDeadlineSeconds"]);
    let mut progressing = deadline.is_none_or(|seconds| seconds == NO_DEADLINE);
    let mut available = false;
    for condition in conditions(object)? {
        match condition.kind {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                return Ok(Assessment::failed("Progress deadline exceeded"));
            }
            "Progressing" => {
                progressing |= condition.status == "True" && condition.reason == "NewReplicaSetAvailable";
            }
            "Available" => available |= condition.status == "True",
            _ => {}
        }
    }
    Ok(counts(object).unwrap_or_else(|| {
        if !progressing {
            Assessment::in_progress("ReplicaSet not Available")
        } else if !available {
            Assessment::in_progress("Deployment not Available")
        } else {
            let replicas = count(object, "replicas");
            Assessment::current(format!("Deployment is available. Replicas: {replicas}"))
        }
    }))
}

fn counts(object: &Value) -> Option<Assessment> {
    let wanted = replicas(object);
    let present = count(object, "replicas");
    let updated = count(object, "updatedReplicas");
    let ready = count(object, "readyReplicas");
    let available = count(object, "availableReplicas");
    let message = if wanted > present {
        format!("Replicas: {present}/{wanted}")
    } else if wanted > updated {
        format!("Updated: {updated}/{wanted}")
    } else if present > wanted {
        format!("Pending termination: {}", present - wanted)
    } else if updated > available {
        format!("Available: {available}/{updated}")
    } else if wanted > ready {
        format!("Ready: {ready}/{wanted}")
    } else {
        return None;
    };
    Some(Assessment::in_progress(message))
}
