//! Standby replicas: healthy although they do not lead, and known to the Service by a label (SRC-OPS-6).
//!
//! Flux's standbys never become Ready, since only the leader listens. Where the Pod knows its own name (`POD_NAME`, by the
//! downward API), Weir's listen at once, and the Pod carries the label [`ROLE`], by which the Service finds the leader.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use weir_runtime::Service;
use weir_runtime::client::reason;

/// Label of the Pod: `leader` or `standby`.
const ROLE: &str = "source.toolkit.fluxcd.io/role";
/// Pause before the label is tried again; until it is written no consumer finds this replica.
const PAUSE: Duration = Duration::from_secs(1);

/// The Pod of this replica, when there are others beside it and it knows its name.
pub(crate) fn pod(is_elected: bool) -> Option<String> {
    std::env::var("POD_NAME").ok().filter(|name| is_elected && !name.is_empty())
}

/// Keeps the Pod's label true: a replica that has lost the Lease ends, and starts again as a standby.
pub(crate) fn label(service: &Service, pod: String) {
    let api: Api<Pod> = Api::namespaced(service.client().clone(), &service.env().runtime_namespace);
    let mut leader = service.leader();
    service.spawn(async move {
        write(&api, &pod, "standby").await;
        if leader.wait_for(|leads| *leads).await.is_ok() {
            write(&api, &pod, "leader").await;
        }
    });
}

async fn write(api: &Api<Pod>, pod: &str, role: &str) {
    let patch = Patch::Merge(json!({ "metadata": { "labels": { ROLE: role } } }));
    while let Err(error) = api.patch_metadata(pod, &PatchParams::default(), &patch).await {
        tracing::error!(
            error = reason(error),
            pod,
            role,
            "the Pod cannot be labelled, so that the Service does not know the leader"
        );
        #[expect(clippy::disallowed_methods, reason = "the labelling of the Pod is no run")]
        tokio::time::sleep(PAUSE).await;
    }
    tracing::info!(pod, role, "labelled the Pod");
}
