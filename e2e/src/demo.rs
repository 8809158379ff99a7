//! The demo: commit, apply, notify, scan, bump, roll out, prune; every step checked and timed.

pub(crate) mod manifests;
mod stream;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use weir_testkit::{GitRepo, touch_requested_at, wait_for, wait_gone, wait_ready};

use self::manifests::Places;
use self::stream::Stream;
use crate::World;
use crate::step::step;

/// A step that takes longer has failed; on a quiet machine each takes a second or two.
const DEADLINE: Duration = Duration::from_secs(90);

/// Plays the demo. With `KEEP` in the environment it stays up at the end until Ctrl-C.
///
/// # Errors
/// The first step that did not do what it should.
pub async fn play() -> Result<()> {
    let start = Instant::now();
    let world =
        step("Start a control plane, a Git server, a registry, a webhook sink, and Weir", World::start())
            .await?;
    let demo = Demo { repo: world.git.repo("fleet")?, world };
    let played = demo.play().await;
    if let Err(error) = played {
        eprintln!("{}", last_lines(&demo.world.weir.log(), 20));
        return Err(error);
    }
    println!("\nAll of it took {:.1} s.", start.elapsed().as_secs_f64());
    if std::env::var_os("KEEP").is_some() {
        demo.stay_up().await?;
    }
    Ok(())
}

struct Demo {
    world: World,
    repo: GitRepo,
}

impl Demo {
    async fn play(&self) -> Result<()> {
        let stream = step("Watch the Kustomization's status over gRPC", Stream::open(&self.world)).await?;
        let first =
            step("Commit manifests: they become objects in the cluster", self.commit_manifests()).await?;
        step("The chat channel is told", self.chat_is_told(&first)).await?;
        let bump = step("Push a new image: one bot commit, then a rollout", self.push_image(&first)).await?;
        let last = step("Remove a manifest: its object is pruned", self.remove_manifest()).await?;
        step("The gRPC stream saw every revision", stream.saw(&[&first, &bump, &last])).await
    }

    async fn commit_manifests(&self) -> Result<String> {
        let world = &self.world;
        world.registry.push_image("app", "1.0.0").await?;
        let places = Places::of(world);
        let app = places.app();
        let files = [("app.yaml", app.as_str()), ("settings.yaml", manifests::SETTINGS)];
        let id = self.repo.commit("main", "Add the app", &files)?;
        world.apply("flux-system", &places.toolkit()).await?;
        wait_ready(&world.api("Kustomization", "flux-system").await?, "app", DEADLINE).await?;
        self.wait_for_image("1.0.0").await?;
        world.api("ConfigMap", "default").await?.get("settings").await?;
        Ok(id)
    }

    async fn chat_is_told(&self, commit: &str) -> Result<()> {
        let told = |request: &weir_testkit::SinkRequest| {
            let message = request.json();
            request.path == manifests::CHAT_PATH
                && message.get("attachments").is_some()
                && message.to_string().contains(commit)
        };
        let message = self.world.sink.wait_for("the chat message", DEADLINE, told).await?;
        println!("  {}", message.text());
        Ok(())
    }

    async fn push_image(&self, before: &str) -> Result<String> {
        let world = &self.world;
        for (kind, name) in [("ImagePolicy", "app"), ("ImageUpdateAutomation", "app")] {
            wait_ready(&world.api(kind, "flux-system").await?, name, DEADLINE).await?;
        }
        world.registry.push_image("app", "1.0.1").await?;
        touch_requested_at(&world.api("ImageRepository", "flux-system").await?, "app").await?;
        self.wait_for_image("1.0.1").await?;
        let log = self.repo.log("main")?;
        let bump = log.first().context("no commits")?;
        ensure!(bump.author_name == "fluxcdbot" && bump.parents == [before], "not one bot commit: {log:?}");
        println!("  {} {}", bump.id.get(..7).unwrap_or_default(), bump.message);
        Ok(bump.id.clone())
    }

    async fn remove_manifest(&self) -> Result<String> {
        let world = &self.world;
        let id = self.repo.change("main").message("Remove the settings").delete("settings.yaml").commit()?;
        touch_requested_at(&world.api("GitRepository", "flux-system").await?, "app").await?;
        wait_gone(&world.api("ConfigMap", "default").await?, "settings", DEADLINE).await?;
        Ok(id)
    }

    async fn wait_for_image(&self, tag: &str) -> Result<()> {
        let wanted = format!("{}/app:{tag}", self.world.registry.address());
        let image = |object: &DynamicObject| {
            object
                .data
                .pointer("/spec/template/spec/containers/0/image")
                .is_some_and(|image| *image == wanted.as_str())
        };
        let deployments = self.world.api("Deployment", "default").await?;
        wait_for(&deployments, "app", &wanted, DEADLINE, |object| object.is_some_and(image)).await?;
        Ok(())
    }

    async fn stay_up(&self) -> Result<()> {
        println!("\nIt stays up until Ctrl-C:");
        println!("  export KUBECONFIG={}", self.world.plane.kubeconfig_path().display());
        println!("  git clone {}", self.world.git.url("fleet"));
        println!("  registry {}, gRPC {}", self.world.registry.address(), self.world.weir.grpc_address());
        tokio::signal::ctrl_c().await?;
        Ok(())
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}
