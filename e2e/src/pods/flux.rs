//! A cluster that Flux's own manifests have installed is moved to Weir and back. `FLUX_MANIFESTS` names Flux's `install.yaml`, the
//! `FLUX_*_CONTROLLER` variables the programs that stand behind its images.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use weir_image::{Contents, Image, ImageSettings, Layer};
use weir_testkit::flux_program;

use super::deployment::Images;
use super::main_loop::MainLoop;
use super::variants::unchanged;
use super::world::World;
use crate::{NAMESPACE, SERVICES};

/// Origin of the images in Flux's manifests.
const ORIGIN: &str = "ghcr.io/fluxcd/";

/// Tag of the images made of Flux's programs.
const TAG: &str = "flux";

/// A message as today's Flux takes it: it has forgotten `.Updated`, which Weir still knows.
const TEMPLATE: &str = r#"{"spec": {"git": {"commit": {"messageTemplate": "{{range .Changed.Changes}}{{println .NewValue}}{{end}}"}}}}"#;

/// Flux's programs and manifests.
pub(super) struct Flux {
    manifests: String,
    programs: Vec<(String, PathBuf)>,
}

impl Flux {
    /// Returns Flux's parts, or nothing where the environment does not name all of them.
    pub(super) fn named() -> Result<Option<Self>> {
        let Some(path) = std::env::var_os("FLUX_MANIFESTS") else { return Ok(None) };
        let manifests = std::fs::read_to_string(&path).with_context(|| format!("FLUX_MANIFESTS={path:?}"))?;
        let mut programs = Vec::new();
        for name in SERVICES.into_iter().chain(["helm-controller"]) {
            let variable = format!("FLUX_{}", name.to_uppercase().replace('-', "_"));
            let Some(program) = flux_program(&variable)? else { return Ok(None) };
            programs.push((name.to_owned(), program));
        }
        Ok(Some(Self { manifests, programs }))
    }

    /// Pushes an image of each program, and installs Flux with them; its loop runs from the newest image of the application on.
    pub(super) async fn install(
        &mut self,
        world: &World,
        main_loop: &MainLoop<'_>,
        version: &str,
    ) -> Result<()> {
        for (name, program) in &self.programs {
            let contents = Contents::of_program(name, program)?;
            let settings = ImageSettings {
                name: name.clone(),
                tag: TAG.into(),
                entrypoint: format!("/usr/local/bin/{name}"),
            };
            let image = Image::new(settings, Arc::new(Layer::pack(&contents)?));
            world.registry().push_made_image(&format!("flux/{name}"), TAG, &image).await?;
        }
        let registry = world.cluster.registry_address();
        self.manifests = self.manifests.lines().map(|line| with_registry(line, &registry) + "\n").collect();
        self.apply(world).await?;
        main_loop.resume(version).await?;
        let patch =
            ["patch", "-n", NAMESPACE, "imageupdateautomation", "app", "--type=merge", "-p", TEMPLATE];
        world.plane().kubectl(&patch).await?;
        Ok(())
    }

    /// Puts Weir in Flux's place, as docs/upgrade-from-flux.md has it.
    pub(super) async fn to_weir(&self, world: &World, images: &Images) -> Result<()> {
        unchanged(world, async || {
            world.deploy(images, "default", &["flux-helm-controller"]).await?;
            world.wait_for_rollout().await
        })
        .await?;
        for service in SERVICES {
            let image = world.image_of(service).await?;
            ensure!(image.contains("/weir/"), "{service} runs {image}");
        }
        Ok(())
    }

    /// Goes back, as the same page has it.
    pub(super) async fn back(&self, world: &World) -> Result<()> {
        unchanged(world, async || {
            self.apply(world).await?;
            let roles = [&["delete", "clusterrole,clusterrolebinding"][..], &SERVICES].concat();
            let lease = ["delete", "-n", NAMESPACE, "role,rolebinding", "leader-election"];
            let unused =
                ["kustomize-controller", "image-reflector-controller", "image-automation-controller"];
            let unused = [&["delete", "-n", NAMESPACE, "service"][..], &unused].concat();
            for arguments in [&roles[..], &lease, &unused] {
                world.plane().kubectl(arguments).await?;
            }
            world.wait_for_rollout().await
        })
        .await?;
        for (name, _) in &self.programs {
            let image = world.image_of(name).await?;
            ensure!(image.contains("/flux/"), "{name} runs {image}");
        }
        Ok(())
    }

    async fn apply(&self, world: &World) -> Result<()> {
        let file = world.cluster.path().join("flux.yaml");
        std::fs::write(&file, &self.manifests)?;
        let file = file.display().to_string();
        world.plane().kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &file]).await?;
        world.wait_for_rollout().await
    }
}

/// A line of a manifest, with an image of Flux replaced by that of the same name in a registry.
fn with_registry(line: &str, registry: &str) -> String {
    let Some((before, image)) = line.split_once(ORIGIN) else { return line.to_owned() };
    let name = image.split([':', '@']).next().unwrap_or_default();
    format!("{before}{registry}/flux/{name}:{TAG}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_come_from_the_registry() {
        let line = "        image: ghcr.io/fluxcd/source-controller:v1.9.0";
        assert_eq!(
            with_registry(line, "10.0.0.1:5000"),
            "        image: 10.0.0.1:5000/flux/source-controller:flux"
        );
        assert_eq!(with_registry("kind: Deployment", "10.0.0.1:5000"), "kind: Deployment");
    }
}
