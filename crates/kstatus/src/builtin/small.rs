//! Kinds with a table of one or two rows (KS-KST-80..82).

use serde_json::Value;

use crate::Assessment;
use crate::fields::text;

/// A claim for storage that is bound on first use stays in progress until something uses it.
pub(crate) fn persistent_volume_claim(object: &Value) -> Assessment {
    match text(object, &["status", "phase"]).unwrap_or("unknown") {
        "Bound" => Assessment::current("PVC is Bound"),
        phase => Assessment::in_progress(format!("PVC is not Bound. phase: {phase}")),
    }
}

/// The external address of a load balancer is not waited for, only the cluster's own.
pub(crate) fn service(object: &Value) -> Assessment {
    let is_balancer = text(object, &["spec", "type"]) == Some("LoadBalancer");
    if is_balancer && text(object, &["spec", "clusterIP"]).is_none_or(str::is_empty) {
        return Assessment::in_progress("ClusterIP not set. Service type: LoadBalancer");
    }
    Assessment::current("Service is ready")
}

pub(crate) fn pod_disruption_budget() -> Assessment {
    Assessment::current("AllowedDisruptions has been computed.")
}
