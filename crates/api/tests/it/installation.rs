//! The manifests in `deploy/kustomize` against a real API server.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use weir_testkit::{ControlPlane, repo_path, wait_for};

/// Everything of the overlay is taken, and controllers of the cluster find nothing wrong with it: each Deployment gets
/// its ReplicaSet and the ReplicaSet its Pod.
#[tokio::test]
async fn the_default_overlay_installs() {
    let plane = ControlPlane::start().await.unwrap();
    let overlay = repo_path("deploy/kustomize/overlays/default");
    plane.kubectl(&["apply", "--server-side", "-k", overlay.to_str().unwrap()]).await.unwrap();

    let api: Api<Deployment> = Api::namespaced(plane.client().unwrap(), "flux-system");
    for service in [
        "source-controller",
        "kustomize-controller",
        "image-reflector-controller",
        "image-automation-controller",
        "notification-controller",
    ] {
        let has_pod = |deployment: Option<&Deployment>| {
            deployment.and_then(|it| it.status.as_ref()?.replicas).is_some_and(|replicas| replicas == 1)
        };
        wait_for(&api, service, "a Pod", Duration::from_secs(30), has_pod).await.unwrap();
    }
}

/// No image may change under a running installation: tags are fixed versions.
#[tokio::test]
async fn images_are_pinned() {
    let plane = ControlPlane::shared().await.unwrap();
    let overlay = repo_path("deploy/kustomize/overlays/default");
    let manifests = plane.kubectl(&["kustomize", overlay.to_str().unwrap()]).await.unwrap();
    let images: Vec<&str> =
        manifests.lines().filter_map(|line| line.trim().strip_prefix("image: ")).collect();
    assert_eq!(images.len(), 5, "{images:?}");
    for image in images {
        let tag = image.rsplit_once(':').map(|(_, tag)| tag).unwrap_or_default();
        assert!(tag.starts_with('v') || image.contains("@sha256:"), "{image}");
    }
}
