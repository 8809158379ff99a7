//! Services of Flux and of Weir in each other's places, on a cluster with the CRDs that Flux installs by default. The
//! `FLUX_*_CONTROLLER` variables name Flux's programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use weir_e2e::{FiveProcesses, Maker, NAMESPACE, SERVICES};
use weir_testkit::{Folder, flux_program, repo_path, touch_requested_at, wait_for};

use super::main_loop::{DEADLINE, MainLoop, TOOLKIT};

/// Flux installs it with source-watcher only.
const NOT_STOCK: &str = "source.extensions.fluxcd.io_artifactgenerators.yaml";

/// Flux's image-automation does not tell the source of its commits, so that this one looks often.
const LOOKS_OFTEN: (&str, &str) = ("interval: 10m\n  url:", "interval: 5s\n  url:");

type Programs = BTreeMap<&'static str, PathBuf>;

/// Flux's programs by the names of the services; nothing where one is missing.
fn flux_programs() -> Result<Option<Programs>> {
    let mut programs = Programs::new();
    for service in SERVICES {
        let variable = format!("FLUX_{}", service.to_uppercase().replace('-', "_"));
        let Some(program) = flux_program(&variable)? else { return Ok(None) };
        programs.insert(service, program);
    }
    Ok(Some(programs))
}

fn stock_crds() -> Result<Folder> {
    let folder = Folder::new("stock-crds")?;
    for entry in std::fs::read_dir(repo_path("deploy/kustomize/crds"))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if name != NOT_STOCK {
            std::fs::copy(path, folder.path().join(name))?;
        }
    }
    Ok(folder)
}

/// A cluster that is moved from one maker to the other.
struct Moved {
    main_loop: MainLoop,
    flux: Programs,
}

impl Moved {
    fn flux(&self, service: &str) -> Result<Maker> {
        Ok(Maker::Flux(self.flux.get(service).with_context(|| format!("no {service}"))?.clone()))
    }

    /// Puts a program in the place of a service: no applied object changes by that, not even by a full run.
    async fn replace(&mut self, service: &'static str, maker: Maker) -> Result<()> {
        let before = self.applied().await?;
        self.main_loop.world.replace(service, maker.clone()).await?;
        let kustomizations = self.main_loop.world.api("Kustomization").await?;
        let asked = touch_requested_at(&kustomizations, "app").await?;
        let has_run = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| {
                let status = &object.data["status"];
                let is_ready = |c: &serde_json::Value| c["type"] == "Ready" && c["status"] == "True";
                status["lastHandledReconcileAt"] == asked.as_str()
                    && status["conditions"].as_array().is_some_and(|all| all.iter().any(is_ready))
            })
        };
        let what = format!("a run with {service} of {maker:?}");
        wait_for(&kustomizations, "app", &what, DEADLINE, has_run).await?;
        assert_eq!(self.applied().await?, before, "{what} has changed an object");
        Ok(())
    }

    /// The loop from image and commit to cluster and people, once each.
    async fn play(&mut self, what: &str) -> Result<()> {
        self.main_loop.new_image().await.with_context(|| format!("a new image with {what}"))?;
        self.main_loop.push_by_webhook().await.with_context(|| format!("a push with {what}"))
    }

    /// Identity and state of what is applied, and identity and wishes of what says so.
    async fn applied(&self) -> Result<BTreeMap<String, String>> {
        let plane = &self.main_loop.world.plane;
        let mut found = BTreeMap::new();
        for (version, kind, namespace, name, state) in [
            ("apps/v1", "Deployment", "default", "app", "resourceVersion"),
            ("v1", "ConfigMap", "default", "settings", "resourceVersion"),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE, "app", "generation"),
            ("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE, "app", "generation"),
            ("image.toolkit.fluxcd.io/v1", "ImagePolicy", NAMESPACE, "app", "generation"),
            ("notification.toolkit.fluxcd.io/v1", "Receiver", NAMESPACE, "push", "generation"),
        ] {
            let object = plane.api(version, kind, namespace).await?.get(name).await?;
            let meta = &object.metadata;
            let state = match state {
                "generation" => meta.generation.map(|number| number.to_string()),
                _ => meta.resource_version.clone(),
            };
            found.insert(format!("{kind}/{name}"), format!("{:?} {state:?}", meta.uid));
        }
        Ok(found)
    }
}

#[tokio::test]
async fn stock_services_and_ours_stand_in_for_each_other() -> Result<()> {
    let Some(flux) = flux_programs()? else { return Ok(()) };
    let crds = stock_crds()?;
    let stock = |service: &'static str| Maker::Flux(flux.get(service).cloned().unwrap_or_default());
    let world = FiveProcesses::start_made_by(&[], crds.path(), stock).await?;
    let main_loop = MainLoop::play_in(world, &TOOLKIT.replace(LOOKS_OFTEN.0, LOOKS_OFTEN.1)).await?;
    let mut moved = Moved { main_loop, flux };
    moved.play("all of Flux").await?;
    for service in SERVICES {
        moved.replace(service, Maker::Weir).await?;
        moved.play(&format!("{service} of Weir among Flux's")).await?;
        moved.replace(service, moved.flux(service)?).await?;
    }
    for service in SERVICES {
        moved.replace(service, Maker::Weir).await?;
    }
    moved.play("all of Weir").await?;
    for service in SERVICES {
        moved.replace(service, moved.flux(service)?).await?;
        moved.play(&format!("{service} of Flux among Weir's")).await?;
        moved.replace(service, Maker::Weir).await?;
    }
    for service in SERVICES {
        moved.replace(service, moved.flux(service)?).await?;
    }
    moved.play("all of Flux again").await
}
