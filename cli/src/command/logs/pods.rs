//! The Pods whose logs are read: one of each Deployment of the installation.

use std::cmp::Reverse;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use weir_api::PART_OF_LABEL;

use crate::cluster::Cluster;
use crate::error::Error;

/// Returns a Pod for each Deployment of a namespace that belongs to the services.
pub(super) async fn of_services(cluster: &Cluster, namespace: &str) -> Result<Vec<Pod>, Error> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), namespace);
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
    let deployments = cluster.in_time(deployments.list(&params)).await??.items;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let mut chosen = Vec::with_capacity(deployments.len());
    for deployment in deployments {
        let template = deployment.spec.and_then(|spec| spec.template.metadata).unwrap_or_default();
        let labels = template.labels.unwrap_or_default();
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let found =
            cluster.in_time(pods.list(&ListParams::default().labels(&labels.join(",")))).await??.items;
        chosen.extend(found.into_iter().min_by_key(rank));
    }
    match chosen.is_empty() {
        true => Err(Error::Api(format!("no Flux pods found in namespace \"{namespace}\""))),
        false => Ok(chosen),
    }
}

/// Returns the rank of a Pod; the lowest is the one to read: on a node, running, ready, restarted most, oldest.
fn rank(pod: &Pod) -> (bool, u8, bool, Reverse<i32>, String) {
    let status = pod.status.clone().unwrap_or_default();
    let is_placed =
        pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).is_some_and(|name| !name.is_empty());
    let phase = match status.phase.as_deref() {
        Some("Unknown") => 1,
        Some("Pending") => 2,
        _ => 0,
    };
    let conditions = status.conditions.unwrap_or_default();
    let is_ready =
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let containers = status.container_statuses.unwrap_or_default();
    let restarts = containers.iter().map(|container| container.restart_count).max().unwrap_or_default();
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    (!is_placed, phase, !is_ready, Reverse(restarts), created.unwrap_or_default())
}
