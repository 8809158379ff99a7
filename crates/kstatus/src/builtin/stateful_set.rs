//! KS-KST-30..36.

use serde_json::Value;

use super::{count, replicas};
use crate::Assessment;
use crate::fields::{integer, text};

pub(crate) fn assess(object: &Value) -> Assessment {
    if text(object, &["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return Assessment::current("StatefulSet is using the ondelete update strategy");
    }
    let wanted = replicas(object);
    let present = count(object, "replicas");
    let ready = count(object, "readyReplicas");
    if wanted > present {
        return Assessment::in_progress(format!("Replicas: {present}/{wanted}"));
    }
    if wanted > ready {
        return Assessment::in_progress(format!("Ready: {ready}/{wanted}"));
    }
    if present > wanted {
        return Assessment::in_progress(format!("Pending termination: {}", present - wanted));
    }
    rollout(object, wanted)
}

fn rollout(object: &Value, wanted: i64) -> Assessment {
    let updated = count(object, "updatedReplicas");
    // The API server's default of 0 counts too, so that nearly all end here.
    if let Some(partition) = integer(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]) {
        let share = wanted.saturating_sub(partition);
        return if updated < share {
            Assessment::in_progress(format!("updated: {updated}/{share}"))
        } else {
            Assessment::current(format!("Partition rollout complete. updated: {updated}"))
        };
    }
    let current = count(object, "currentReplicas");
    if wanted > current {
        return Assessment::in_progress(format!("current: {current}/{wanted}"));
    }
    let revision = |name| text(object, &["status", name]).unwrap_or_default();
    if revision("currentRevision") != revision("updateRevision") {
        return Assessment::in_progress("Waiting for updated revision to match current");
    }
    let present = count(object, "replicas");
    Assessment::current(format!("All replicas scheduled as expected. Replicas: {present}"))
}
