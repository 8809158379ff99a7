use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use weir_testkit::{Folder, repo_path, wait_gone};

use super::world::World;
use super::{DEADLINE, text};
use crate::{NAMESPACE, SERVICES};

/// Tag under which images are pushed; the overlay names digests.
const TAG: &str = "e2e";

/// The kinds that users make, those first that others are made of: their finalizers need a running service.
const TOOLKIT: [&str; 8] = [
    "kustomizations",
    "imageupdateautomations",
    "imagepolicies",
    "imagerepositories",
    "gitrepositories",
    "receivers",
    "alerts",
    "providers",
];

/// Weir, applied to a cluster from an overlay of a user's own.
pub(super) struct Deployment {
    overlay: Folder,
}

impl World {
    /// Pushes the images and applies an overlay that names their digests.
    pub(super) async fn deploy(&self, images: &Path) -> Result<Deployment> {
        let (registry, folder) = (self.cluster.registry_address(), Folder::new("overlay")?);
        let mut text = format!("resources: [{}]\nimages:\n", default_overlay(folder.path())?);
        for service in SERVICES {
            let layout = images.join(service);
            let digest = self.registry().push_layout(&format!("weir/{service}"), TAG, &layout).await;
            let digest = digest.with_context(|| format!("push {}", layout.display()))?;
            writeln!(
                text,
                "  - {{name: weir/{service}, newName: {registry}/weir/{service}, digest: {digest}}}"
            )?;
        }
        folder.write("kustomization.yaml", text)?;
        let deployment = Deployment { overlay: folder };
        deployment.kubectl(self, &["apply", "--server-side"]).await?;
        Ok(deployment)
    }
}

impl Deployment {
    pub(super) async fn wait_until_ready(&self, world: &World) -> Result<()> {
        let seconds = format!("--timeout={}s", DEADLINE.as_secs());
        let arguments =
            ["wait", "-n", NAMESPACE, "deployment", "--all", "--for=condition=Available", &seconds];
        world.plane().kubectl(&arguments).await?;
        for service in SERVICES {
            let pods = world.pods(NAMESPACE, service).await?;
            ensure!(pods.len() == 1, "{} Pods of {service}", pods.len());
            for pod in &pods {
                let image = text(&pod.data, "/spec/containers/0/image")?;
                ensure!(image.contains("@sha256:"), "{service} runs {image}");
            }
        }
        Ok(())
    }

    /// Deletes what users made, then the overlay, and looks for what is left.
    pub(super) async fn uninstall(&self, world: &World) -> Result<()> {
        for kind in TOOLKIT {
            world.plane().kubectl(&["delete", kind, "--all", "-A", "--timeout=60s"]).await?;
        }
        self.kubectl(world, &["delete", "--timeout=120s"]).await?;
        wait_gone(&world.api("v1", "Namespace", "").await?, NAMESPACE, DEADLINE).await?;
        for (api_version, kind) in [
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ] {
            let of_weir = ListParams::default().labels("app.kubernetes.io/part-of=flux");
            let left = world.api(api_version, kind, "").await?.list(&of_weir).await?.items;
            let names: Vec<_> = left.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
            ensure!(names.is_empty(), "{kind} left behind: {names:?}");
        }
        // The application was pruned when its Kustomization went.
        let deployments = world.api("apps/v1", "Deployment", "default").await?;
        ensure!(deployments.get_opt("app").await?.is_none(), "the application is left behind");
        Ok(())
    }

    async fn kubectl(&self, world: &World, verb: &[&str]) -> Result<String> {
        let overlay = self.overlay.path().display().to_string();
        Ok(world.plane().kubectl(&[verb, &["-k", &overlay]].concat()).await?)
    }
}

/// The path of the default overlay as an overlay in `folder` names it: absolute paths are refused.
fn default_overlay(folder: &Path) -> Result<String> {
    let default = repo_path("deploy/kustomize/overlays/default").canonicalize()?;
    let up = "../".repeat(folder.canonicalize()?.components().count() - 1);
    Ok(format!("{up}{}", default.display().to_string().trim_start_matches('/')))
}
