//! Nodes played by the test: there is none behind the control plane.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use weir_testkit::ControlPlane;

/// Time between two looks at the Pods.
const TICK: Duration = Duration::from_millis(500);

/// Lets all Pods of flux-system run and be ready for as long as something else takes.
pub(crate) async fn with_nodes<T>(plane: &ControlPlane, task: impl Future<Output = T>) -> T {
    let nodes = async {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            run_pods(plane, "flux-system").await.unwrap();
        }
    };
    tokio::select! {
        done = task => done,
        never = nodes => never,
    }
}

async fn run_pods(plane: &ControlPlane, namespace: &str) -> kube::Result<()> {
    let pods: Api<Pod> = Api::namespaced(plane.client().unwrap(), namespace);
    let status = json!({ "status": {
        "phase": "Running",
        "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2022-02-03T01:37:54Z" }],
    } });
    for pod in pods.list(&ListParams::default()).await? {
        let patched =
            pods.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&status)).await;
        match patched {
            // Replaced by a newer one meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            patched => drop(patched?),
        }
    }
    Ok(())
}
