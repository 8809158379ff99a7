//! KS-KST-40..43.

use serde_json::Value;

use super::count;
use crate::Assessment;
use crate::fields::integer;

pub(crate) fn assess(object: &Value) -> Assessment {
    for path in [["metadata", "generation"], ["status", "observedGeneration"]] {
        if integer(object, &path).is_none() {
            return Assessment::in_progress(format!("DaemonSet {} not found", path.join(".")));
        }
    }
    let Some(wanted) = integer(object, &["status", "desiredNumberScheduled"]) else {
        return Assessment::in_progress("Missing .status.desiredNumberScheduled");
    };
    let counts = [
        ("Current", "currentNumberScheduled"),
        ("Updated", "updatedNumberScheduled"),
        ("Available", "numberAvailable"),
        ("Ready", "numberReady"),
    ];
    for (what, field) in counts {
        let present = count(object, field);
        if wanted > present {
            return Assessment::in_progress(format!("{what}: {present}/{wanted}"));
        }
    }
    Assessment::current(format!("All replicas scheduled as expected. Replicas: {wanted}"))
}
