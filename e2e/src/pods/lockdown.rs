//! The parts that a careful operator adds: tenants who act as their own accounts, artifacts that outlive the Pod, and NetworkPolicies.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Result, anyhow, ensure};
use kube::ResourceExt;
use serde_json::json;
use weir_testkit::{Folder, wait_condition};

use super::deployment::{Deployment, Images};
use super::main_loop::MainLoop;
use super::variants::unchanged;
use super::world::World;
use super::{DEADLINE, text};
use crate::NAMESPACE;

/// Beside the NetworkPolicies, which the overlay has.
const COMPONENTS: [&str; 2] = ["multi-tenancy", "persistent-storage"];
/// Name of the volume, and of the account's binding.
const NAME: &str = "lockdown";

/// A Pod beside the services.
const NEIGHBOUR: &str = "neighbour";

/// Ports of the services, and true for those that Pods of other namespaces reach.
const PORTS: [(&str, u16, bool); 8] = [
    ("source-controller", 8080, true),
    ("source-controller", 9090, false),
    ("source-controller", 9393, false),
    ("kustomize-controller", 8080, true),
    ("kustomize-controller", 9393, false),
    ("notification-controller", 9090, false),
    ("notification-controller", 9292, true),
    ("notification-controller", 9393, false),
];

/// Plays the components over whatever is installed.
pub(super) async fn play(world: &World, images: &Images, main_loop: &MainLoop<'_>) -> Result<Deployment> {
    let volume = Folder::new("volume")?;
    // The service's user is nobody's, and the volume is a folder of this machine.
    std::fs::set_permissions(volume.path(), Permissions::from_mode(0o777))?;
    prepare(world, &volume).await?;
    let deployment = unchanged(world, async || {
        let deployment = world.deploy(images, "default", &COMPONENTS).await?;
        world.wait_for_rollout().await?;
        Ok(deployment)
    })
    .await?;
    main_loop.release("1.0.3").await?;
    artifacts_outlive_the_pod(world).await?;
    others_sources_are_out_of_reach(world).await?;
    policies_hold(world).await?;
    Ok(deployment)
}

/// Takes away what the installation itself does not have.
pub(super) async fn clean_up(world: &World) -> Result<()> {
    world.plane().kubectl(&["delete", "persistentvolume", NAME, "--wait=false"]).await?;
    world.plane().kubectl(&["delete", "clusterrolebinding", NAME]).await?;
    Ok(())
}

/// Makes the volume that the claim asks for, and gives the account rights as whom Kustomizations without one act now.
async fn prepare(world: &World, folder: &Folder) -> Result<()> {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": NAME},
        "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": folder.path()},
            "claimRef": {"namespace": NAMESPACE, "name": "source-controller"}}});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]});
    for object in [volume, binding] {
        world.plane().apply(NAMESPACE, object).await?;
    }
    Ok(())
}

/// A new Pod of the source service finds what the one before has stored.
async fn artifacts_outlive_the_pod(world: &World) -> Result<()> {
    let sources = world.api("GitRepository", NAMESPACE).await?;
    let stored = async || -> Result<String> {
        let source = sources.get("app").await?;
        Ok(text(&source.data, "/status/artifact/lastUpdateTime")?.to_owned())
    };
    let before = stored().await?;
    unchanged(world, async || {
        world.plane().kubectl(&["delete", "pod", "-n", NAMESPACE, "-l", "app=source-controller"]).await?;
        world.wait_for_rollout().await
    })
    .await?;
    weir_testkit::touch_requested_at(&sources, "app").await?;
    weir_testkit::wait_ready(&sources, "app", DEADLINE).await?;
    let after = stored().await?;
    ensure!(after == before, "the artifact of {before} was made again at {after}");
    Ok(())
}

/// A Kustomization of another namespace may not use the source.
async fn others_sources_are_out_of_reach(world: &World) -> Result<()> {
    let kustomization = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "foreign"},
        "spec": {"interval": "1h", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "app", "namespace": NAMESPACE}}});
    world.plane().apply("default", kustomization).await?;
    let api = world.api("Kustomization", "default").await?;
    wait_condition(&api, "foreign", "Ready", "False", Some("AccessDenied"), DEADLINE).await?;
    api.delete("foreign", &Default::default()).await?;
    Ok(())
}

/// A Pod of the services' namespace reaches all their ports, and one of another namespace those that are meant for it.
async fn policies_hold(world: &World) -> Result<()> {
    let [app] = world
        .pods("default", "app")
        .await?
        .try_into()
        .map_err(|_| anyhow!("not one Pod of the application"))?;
    let image = text(&app.data, "/spec/containers/0/image")?;
    let neighbour = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NEIGHBOUR},
        "spec": {"securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "app", "image": image, "securityContext":
                {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}});
    world.plane().apply(NAMESPACE, neighbour).await?;
    let pods = world.api("Pod", NAMESPACE).await?;
    wait_condition(&pods, NEIGHBOUR, "Ready", "True", None, DEADLINE).await?;
    for (service, port, is_open) in PORTS {
        let page = format!("{}:{port}/", world.pod_address(service).await?);
        let from_beside = reaches(world, NAMESPACE, NEIGHBOUR, &page).await?;
        ensure!(from_beside, "{service}:{port} refuses a Pod of its namespace");
        let from_elsewhere = reaches(world, "default", &app.name_any(), &page).await?;
        ensure!(
            from_elsewhere == is_open,
            "{service}:{port}: another namespace's Pod reaches it: {from_elsewhere}"
        );
    }
    pods.delete(NEIGHBOUR, &Default::default()).await?;
    Ok(())
}

/// True if a Pod of the application's image gets any answer from `host:port/`.
async fn reaches(world: &World, namespace: &str, pod: &str, page: &str) -> Result<bool> {
    let check = ["exec", "-n", namespace, pod, "--", "/usr/local/bin/podcli", "check", "http", page];
    match world.plane().kubectl(&check).await {
        Ok(_) => Ok(true),
        Err(error) => {
            let said = error.to_string();
            ensure!(said.contains("exit code 1"), "{pod}: {said}");
            Ok(!said.contains("Connection refused"))
        }
    }
}
