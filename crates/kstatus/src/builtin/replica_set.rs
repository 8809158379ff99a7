//! KS-KST-50.

use serde_json::Value;

use super::{count, replicas};
use crate::Assessment;
use crate::fields::{Malformed, conditions};

pub(crate) fn assess(object: &Value) -> Result<Assessment, Malformed> {
    if conditions(object)?.iter().any(|condition| condition.is("ReplicaFailure", "True")) {
        return Ok(Assessment::in_progress("Replica Failure condition. Check Pods"));
    }
    let wanted = replicas(object);
    let counts = [
        ("Labelled", "fullyLabeledReplicas"),
        ("Available", "availableReplicas"),
        ("Ready", "readyReplicas"),
    ];
    for (what, field) in counts {
        let present = count(object, field);
        if wanted > present {
            return Ok(Assessment::in_progress(format!("{what}: {present}/{wanted}")));
        }
    }
    let present = count(object, "replicas");
    Ok(if present > wanted {
        Assessment::in_progress(format!("Pending termination: {}", present - wanted))
    } else {
        Assessment::current(format!("ReplicaSet is available. Replicas: {present}"))
    })
}
