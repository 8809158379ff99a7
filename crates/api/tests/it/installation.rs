//! The manifests in `deploy/kustomize` against a real API server.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use weir_testkit::{ControlPlane, Folder, repo_path, wait_for};

type Labels = BTreeMap<String, String>;

const SERVICES: [&str; 5] = [
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "notification-controller",
];

/// Everything of the overlay is taken, and controllers of the cluster find nothing wrong with it: each Deployment gets
/// its ReplicaSet and the ReplicaSet its Pod.
#[tokio::test]
async fn the_default_overlay_installs() {
    let plane = ControlPlane::start().await.unwrap();
    let overlay = repo_path("deploy/kustomize/overlays/default");
    plane.kubectl(&["apply", "--server-side", "-k", overlay.to_str().unwrap()]).await.unwrap();

    let api: Api<Deployment> = Api::namespaced(plane.client().unwrap(), "flux-system");
    for service in SERVICES {
        assert_eq!(labels_of_pods(&api.get(service).await.unwrap()), expected_labels(service));
        let has_pod = |deployment: Option<&Deployment>| {
            deployment.and_then(|it| it.status.as_ref()?.replicas).is_some_and(|replicas| replicas == 1)
        };
        wait_for(&api, service, "a Pod", Duration::from_secs(30), has_pod).await.unwrap();
    }
}

/// Returns the labels of a Deployment's Pods, and those by which it finds them.
fn labels_of_pods(deployment: &Deployment) -> (Labels, Labels) {
    let spec = deployment.spec.clone().unwrap();
    let of_pods = spec.template.metadata.unwrap().labels.unwrap();
    (of_pods, spec.selector.match_labels.unwrap())
}

/// CMP-02, CMP-03: Pods are found by the labels that Flux's have; the selector, which never changes, has one only.
fn expected_labels(service: &str) -> (Labels, Labels) {
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let of_pods = [
        ("app", service),
        ("app.kubernetes.io/component", service),
        ("app.kubernetes.io/instance", "flux-system"),
        ("app.kubernetes.io/part-of", "flux"),
        ("app.kubernetes.io/version", &version),
    ];
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    (of_pods.map(text).into(), [text(("app", service))].into())
}

/// Installs the default overlay with a component.
async fn install_with(plane: &ControlPlane, component: &str) {
    let folder = Folder::new("overlay").unwrap();
    // Paths of resources must be relative.
    let root = "../".repeat(folder.path().components().count() - 1);
    let path = |path: &str| format!("{root}{}", repo_path("deploy/kustomize").join(path).display());
    let (base, component) = (path("overlays/default"), path(&format!("components/{component}")));
    let text = format!("resources: ['{base}']\ncomponents: ['{component}']\n");
    folder.write("kustomization.yaml", text).unwrap();
    plane.kubectl(&["apply", "--server-side", "-k", folder.path().to_str().unwrap()]).await.unwrap();
}

/// Every service has the token that it shows to others, and with the component `tls` the files that its flags name.
#[tokio::test]
async fn services_know_and_trust_each_other() {
    let plane = ControlPlane::start().await.unwrap();
    install_with(&plane, "tls").await;
    let deployments: Api<Deployment> = Api::namespaced(plane.client().unwrap(), "flux-system");
    let services: Api<Service> = Api::namespaced(plane.client().unwrap(), "flux-system");
    for name in SERVICES {
        let pod = deployments.get(name).await.unwrap().spec.unwrap().template.spec.unwrap();
        let (container, volumes) = (&pod.containers[0], pod.volumes.unwrap());
        let mounted = |path: &str| {
            let mounts = container.volume_mounts.iter().flatten();
            let mount = mounts.clone().find(|mount| mount.mount_path == path).unwrap();
            volumes.iter().find(|volume| volume.name == mount.name).unwrap()
        };
        let sources = mounted("/var/run/secrets/weir").projected.as_ref().unwrap().sources.as_ref().unwrap();
        let token = sources[0].service_account_token.as_ref().unwrap();
        assert_eq!((token.audience.as_deref(), token.path.as_str()), (Some("weir"), "token"), "{name}");
        let secret = mounted("/var/run/secrets/weir-tls").secret.as_ref().unwrap();
        assert_eq!(secret.secret_name.as_deref(), Some("weir-tls"), "{name}");
        for (flag, file) in [("cert", "tls.crt"), ("key", "tls.key"), ("ca", "ca.crt")] {
            let expected = format!("--grpc-tls-{flag}=/var/run/secrets/weir-tls/{file}");
            assert!(container.args.as_ref().unwrap().contains(&expected), "{name}: {expected}");
        }
        let ports = services.get(name).await.unwrap().spec.unwrap().ports.unwrap();
        let grpc = ports.iter().find(|port| port.name.as_deref() == Some("grpc")).unwrap();
        assert_eq!((grpc.port, grpc.app_protocol.as_deref()), (9393, Some("https")), "{name}");
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
