//! A cluster that Flux's own manifests have installed is moved to Weir and back. `FLUX_MANIFESTS` names Flux's `install.yaml`, the
//! `FLUX_*_CONTROLLER` variables the programs that stand behind its images.

use std::path::{Path, PathBuf};
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

const HELM_CONTROLLER: &str = "helm-controller";
const HELM_CONTROLLER_RIGHTS: &str = include_str!("manifests/helm-controller-rights.yaml");

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
        for name in SERVICES.into_iter().chain([HELM_CONTROLLER]) {
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
            push(world, name, program).await?;
        }
        self.manifests = with_registry(&self.manifests, world);
        self.apply(world).await?;
        main_loop.resume(version).await?;
        let patch =
            ["patch", "-n", NAMESPACE, "imageupdateautomation", "app", "--type=merge", "-p", TEMPLATE];
        world.plane().kubectl(&patch).await?;
        Ok(())
    }

    /// Pushes the image of helm-controller and returns its own part of Flux's manifests, with the rights that all of Flux shares there.
    pub(super) async fn helm_controller(&self, world: &World) -> Result<String> {
        let program = self.programs.iter().find(|(name, _)| name == HELM_CONTROLLER);
        let (name, program) = program.context("no helm-controller")?;
        push(world, name, program).await?;
        let label = format!("app.kubernetes.io/component: {HELM_CONTROLLER}");
        let own = self.manifests.split("---\n").filter(|manifest| manifest.contains(&label));
        let manifests = own.chain([HELM_CONTROLLER_RIGHTS]).collect::<Vec<_>>().join("---\n");
        Ok(with_registry(&manifests, world))
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

/// Makes an image of a program and pushes it.
async fn push(world: &World, name: &str, program: &Path) -> Result<()> {
    let contents = Contents::of_program(name, program)?;
    let settings =
        ImageSettings { name: name.into(), tag: TAG.into(), entrypoint: format!("/usr/local/bin/{name}") };
    let image = Image::new(settings, Arc::new(Layer::pack(&contents)?));
    world.registry().push_made_image(&format!("flux/{name}"), TAG, &image).await?;
    Ok(())
}

/// Manifests whose images of Flux come from the world's registry.
fn with_registry(manifests: &str, world: &World) -> String {
    let registry = world.cluster.registry_address();
    manifests.lines().map(|line| line_with_registry(line, &registry) + "\n").collect()
}

fn line_with_registry(line: &str, registry: &str) -> String {
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
            line_with_registry(line, "10.0.0.1:5000"),
            "        image: 10.0.0.1:5000/flux/source-controller:flux"
        );
        assert_eq!(line_with_registry("kind: Deployment", "10.0.0.1:5000"), "kind: Deployment");
    }
}
