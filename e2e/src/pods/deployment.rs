use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use weir_testkit::{Folder, wait_gone};

use super::world::World;
use super::{DEADLINE, text};
use crate::{NAMESPACE, Overlay, SERVICES};

/// Tag under which images are pushed, which is that of the command's manifests; overlays name digests.
const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));

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

/// Weir's images in the cluster's registry, as an overlay names them.
pub(super) struct Images(String);

/// Weir, applied to a cluster from an overlay of a user's own.
pub(super) struct Deployment {
    _files: Folder,
    overlay: PathBuf,
}

impl World {
    /// Pushes the images of a folder, as `make images` lays them out.
    pub(super) async fn push_images(&self, layouts: &Path) -> Result<Images> {
        let (registry, mut images) = (self.cluster.registry_address(), Vec::new());
        for name in SERVICES.into_iter().chain(["weir"]) {
            let layout = layouts.join(name);
            let digest = self.registry().push_layout(&format!("weir/{name}"), TAG, &layout).await;
            let digest = digest.with_context(|| format!("push {}", layout.display()))?;
            images.push(format!("{{name: weir/{name}, newName: {registry}/weir/{name}, digest: {digest}}}"));
        }
        Ok(Images(format!("[{}]", images.join(", "))))
    }

    /// Applies an overlay of `deploy/kustomize` with components and these images, over whatever is there.
    pub(super) async fn deploy(
        &self,
        images: &Images,
        base: &str,
        components: &[&str],
    ) -> Result<Deployment> {
        let files = Folder::new("overlay")?;
        let overlay = Overlay { base, components, patches: "[]", images: &images.0 }.write(files.path())?;
        let deployment = Deployment { _files: files, overlay };
        deployment.kubectl(self, &["apply", "--server-side", "--force-conflicts"]).await?;
        Ok(deployment)
    }

    /// Waits until each Deployment of Weir has all its Pods, and none of an earlier kind.
    pub(super) async fn wait_for_rollout(&self) -> Result<()> {
        let seconds = format!("--timeout={}s", DEADLINE.as_secs());
        let all =
            ["rollout", "status", "-n", NAMESPACE, "deployment", "-l", "app.kubernetes.io/part-of=flux"];
        self.plane().kubectl(&[&all[..], &[&seconds]].concat()).await?;
        Ok(())
    }
}

impl Deployment {
    /// Waits for the rollout of the default overlay: five Pods, each of an image that is named by its digest.
    pub(super) async fn wait_until_ready(&self, world: &World) -> Result<()> {
        world.wait_for_rollout().await?;
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

    /// Deletes what users made, then the overlay and what earlier ones had besides, and looks for what is left.
    pub(super) async fn uninstall(&self, world: &World, earlier: &[Self]) -> Result<()> {
        for kind in TOOLKIT {
            world.plane().kubectl(&["delete", kind, "--all", "-A", "--timeout=60s"]).await?;
        }
        for deployment in earlier.iter().chain([self]) {
            deployment.kubectl(world, &["delete", "--timeout=120s", "--ignore-not-found"]).await?;
        }
        wait_gone(&world.api("Namespace", "").await?, NAMESPACE, DEADLINE).await?;
        nothing_is_left(world).await?;
        // The application was pruned when its Kustomization went.
        let deployments = world.api("Deployment", "default").await?;
        ensure!(deployments.get_opt("app").await?.is_none(), "the application is left behind");
        Ok(())
    }

    async fn kubectl(&self, world: &World, verb: &[&str]) -> Result<String> {
        let overlay = self.overlay.display().to_string();
        Ok(world.plane().kubectl(&[verb, &["-k", &overlay]].concat()).await?)
    }
}

/// Fails if anything of an installation is left in a cluster, besides its namespace.
pub(super) async fn nothing_is_left(world: &World) -> Result<()> {
    for kind in ["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"] {
        let of_weir = ListParams::default().labels("app.kubernetes.io/part-of=flux");
        let left = world.api(kind, "").await?.list(&of_weir).await?.items;
        let names: Vec<_> = left.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
        ensure!(names.is_empty(), "{kind} left behind: {names:?}");
    }
    Ok(())
}
