use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use weir_e2e::FiveProcesses;
use weir_testkit::{GitRepo, SinkRequest, touch_requested_at, wait_for, wait_ready};

pub(super) const TOOLKIT: &str = include_str!("../manifests/kill-toolkit.yaml");
const RECEIVER: &str = include_str!("../manifests/five-receiver.yaml");
const APP: &str = include_str!("../manifests/kill-app.yaml");

pub(super) const DEADLINE: Duration = Duration::from_secs(120);

/// One app whose image is kept up to date, and the people who are told of it.
pub(super) struct MainLoop {
    pub(super) world: FiveProcesses,
    repo: GitRepo,
    /// The newest image is 1.0.`patch`.
    patch: u32,
    pushes: u32,
}

impl MainLoop {
    /// Starts the services, and waits until the app runs with the newest image.
    pub(super) async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    /// Starts with further components of `deploy/kustomize`.
    pub(super) async fn start_with(components: &[&str]) -> Result<Self> {
        Self::play_in(FiveProcesses::start_with(components).await?, TOOLKIT).await
    }

    /// Starts in a cluster whose services run, with the objects of `toolkit`.
    pub(super) async fn play_in(world: FiveProcesses, toolkit: &str) -> Result<Self> {
        for tag in ["1.0.0", "1.0.1"] {
            world.registry.push_image("app", tag).await?;
        }
        let repo = world.git.repo("app")?;
        let started = Self { world, repo, patch: 1, pushes: 0 };
        started.repo.commit("main", "first", &[("app.yaml", &started.with_hosts(APP))])?;
        let toolkit = format!("{}---\n{RECEIVER}", started.with_hosts(toolkit));
        started.world.plane.apply_yaml("flux-system", &toolkit).await?;
        started.wait_until_told().await?;
        Ok(started)
    }

    /// Replaces the names of servers in a manifest.
    pub(super) fn with_hosts(&self, text: &str) -> String {
        text.replace("<nobody>", "127.0.0.1:1")
            .replace("<registry>", self.world.registry.address())
            .replace("<git>", &self.world.git.url("app"))
            .replace("<sink>", &self.world.sink.url("/alerts"))
    }

    /// A new image is found, written to Git, applied, and people are told.
    pub(super) async fn new_image(&mut self) -> Result<()> {
        self.patch += 1;
        self.world.registry.push_image("app", &format!("1.0.{}", self.patch)).await?;
        touch_requested_at(&self.world.api("ImageRepository").await?, "app").await?;
        self.wait_until_told().await
    }

    /// A commit that a webhook tells of is applied, and people are told.
    pub(super) async fn push_by_webhook(&mut self) -> Result<()> {
        self.pushes += 1;
        let (count, name) = (self.pushes, "settings");
        let settings = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{push: '{count}'}}\n"
        );
        self.repo.commit("main", &format!("push {count}"), &[("settings.yaml", &settings)])?;
        let receivers = self.world.api("Receiver").await?;
        let receiver = wait_ready(&receivers, "push", DEADLINE).await?;
        let path = receiver.data["status"]["webhookPath"].as_str().context("no path")?;
        let url = self.world.receiver_url(path)?;
        let answer = reqwest::Client::new().post(url).body("{}").send().await?;
        assert!(answer.status().is_success(), "{}", answer.status());
        self.wait_until_told().await
    }

    /// Waits until the newest image and the newest commit are applied, and people are told of this commit.
    async fn wait_until_told(&self) -> Result<()> {
        let image = format!("{}/app:1.0.{}", self.world.registry.address(), self.patch);
        let has_image = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| {
                it.data["spec"]["template"]["spec"]["containers"][0]["image"] == image.as_str()
            })
        };
        let deployments = self.world.plane.api("apps/v1", "Deployment", "default").await?;
        wait_for(&deployments, "app", &image, DEADLINE, has_image).await?;

        let revision = format!("main@sha1:{}", self.repo.head("main")?);
        let is_applied = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| it.data["status"]["lastAppliedRevision"] == revision.as_str())
        };
        let kustomizations = self.world.api("Kustomization").await?;
        wait_for(&kustomizations, "app", &revision, DEADLINE, is_applied).await?;
        let is_told = |request: &SinkRequest| {
            let event = request.json();
            event["involvedObject"]["kind"] == "Kustomization"
                && event["metadata"].to_string().contains(&revision)
        };
        self.world.sink.wait_for(&format!("the message about {revision}"), DEADLINE, is_told).await?;
        Ok(())
    }
}
