//! The services, played: objects get ready, and requests are answered.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::ControlPlane;

use super::stage::{KINDS, NAMESPACES};
use crate::world::{SHA, api_version, artifact, ready, with};

/// Time between two looks at the objects.
const TICK: Duration = Duration::from_millis(300);

/// Kinds that no service works on.
const STATIC: [&str; 3] = ["Alert", "Provider", "ExternalArtifact"];

/// Plays the services for as long as something else takes.
pub(super) async fn with_services<T>(plane: &ControlPlane, task: impl Future<Output = T>) -> T {
    let services = async {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            for kind in KINDS.iter().filter(|kind| !STATIC.contains(kind)) {
                reconcile(plane, kind).await.unwrap();
            }
        }
    };
    tokio::select! {
        done = task => done,
        never = services => never,
    }
}

async fn reconcile(plane: &ControlPlane, kind: &str) -> kube::Result<()> {
    let (group, version) = api_version(kind).split_once('/').unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    for namespace in NAMESPACES {
        let api: Api<DynamicObject> = Api::namespaced_with(plane.client().unwrap(), namespace, &resource);
        for object in api.list(&ListParams::default()).await?.items.iter().filter(|object| !is_done(object)) {
            let request = object.annotations().get("reconcile.fluxcd.io/requestedAt");
            let status = ready(object.metadata.generation.unwrap(), "True", "Succeeded", "all is well");
            let status = with(with(status, result(kind)), json!({ "lastHandledReconcileAt": request }));
            let patch = Patch::Merge(json!({ "status": status }));
            match api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await {
                // Deleted meanwhile.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                patched => drop(patched?),
            }
        }
    }
    Ok(())
}

fn is_done(object: &DynamicObject) -> bool {
    let status = |field: &str| object.data.pointer(&format!("/status/{field}"));
    let handled = status("lastHandledReconcileAt").and_then(Value::as_str);
    let request = object.annotations().get("reconcile.fluxcd.io/requestedAt").map(String::as_str);
    status("observedGeneration").and_then(Value::as_i64) == object.metadata.generation && handled == request
}

fn result(kind: &str) -> Value {
    match kind {
        "GitRepository" | "OCIRepository" | "Bucket" | "HelmRepository" | "HelmChart" => {
            artifact(&format!("main@sha1:{SHA}"))
        }
        "Kustomization" => json!({ "lastAppliedRevision": format!("main@sha1:{SHA}") }),
        "ImageRepository" => json!({
            "lastScanResult": { "revision": "r", "tagCount": 3, "scanTime": "2022-02-03T01:45:54Z" },
        }),
        "ImagePolicy" => json!({ "latestRef": { "name": "ghcr.io/x/podinfo", "tag": "6.0.1" } }),
        "ImageUpdateAutomation" => json!({ "lastAutomationRunTime": "2022-02-03T01:46:59Z" }),
        "Receiver" => json!({ "webhookPath": "/hook/01" }),
        _ => json!({}),
    }
}
