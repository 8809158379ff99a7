//! The Pods whose logs are read: those of each Deployment of the installation that are ready.

use std::cmp::Reverse;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use weir_api::PART_OF_LABEL;

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::kind::text;

/// Returns the Pods of all Deployments of a namespace that belong to the services.
pub(super) async fn of_services(cluster: &Cluster, namespace: &str) -> Result<Vec<DynamicObject>, Error> {
    let deployments = builtin::namespaced::<Deployment>(&cluster.client, namespace);
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
    let deployments = cluster.in_time(deployments.list(&params)).await??.items;
    let pods = builtin::namespaced::<Pod>(&cluster.client, namespace);
    let mut chosen = Vec::with_capacity(deployments.len());
    for deployment in deployments {
        let labels = builtin::selector(&deployment, "/spec/template/metadata/labels");
        let found = cluster.in_time(pods.list(&ListParams::default().labels(&labels))).await??.items;
        chosen.extend(readable(found));
    }
    match chosen.is_empty() {
        true => Err(Error::Api(format!(
            "no Flux pods found in namespace \"{namespace}\"\n  --flux-namespace is for services in another one"
        ))),
        false => Ok(chosen),
    }
}

/// Returns the Pods of one Deployment that are ready, replicas in waiting among them: nobody knows from here which one works. Where none
/// is ready, it is the one of the lowest rank.
fn readable(mut pods: Vec<DynamicObject>) -> Vec<DynamicObject> {
    pods.sort_by_cached_key(rank);
    let ready = pods.iter().filter(|pod| builtin::is_ready(pod)).count();
    // The ready ones are the first of those that run.
    pods.truncate(ready.max(1));
    pods
}

/// Returns the rank of a Pod; the lowest is the one to read: on a node, running, ready, restarted most, oldest.
fn rank(pod: &DynamicObject) -> (bool, u8, bool, Reverse<i64>, String) {
    let is_placed = !text(pod, "/spec/nodeName").is_empty();
    let phase = match text(pod, "/status/phase").as_str() {
        "Unknown" => 1,
        "Pending" => 2,
        _ => 0,
    };
    let containers = builtin::array(pod, "/status/containerStatuses").iter();
    let restarts =
        containers.filter_map(|container| container.get("restartCount").and_then(Value::as_i64)).max();
    let created = pod.creation_timestamp().map(|time| time.0.to_string());
    (
        !is_placed,
        phase,
        !builtin::is_ready(pod),
        Reverse(restarts.unwrap_or_default()),
        created.unwrap_or_default(),
    )
}
