//! Scenario B with Pods that run: a probe that fails, a rollout, an image that is not there.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::api::DynamicObject;
use serde_json::Value;
use weir_testkit::{
    GitRepo, eventually, stand_in_image, touch_requested_at, wait_condition, wait_for, wait_not_ready,
    wait_ready,
};

use super::main_loop::is_rolled_out;
use super::world::World;
use super::{DEADLINE, text};
use crate::NAMESPACE;

const SOURCE: &str = include_str!("../../tests/it/manifests/b-source.yaml");
const BACKEND: &str = include_str!("../../tests/it/manifests/b-backend.yaml");
const FRONTEND: &str = include_str!("../../tests/it/manifests/b-frontend.yaml");
const COMMON_APP: &str = include_str!("../../tests/it/manifests/webapp/common.yaml");
const BACKEND_APP: &str = include_str!("../../tests/it/manifests/webapp/backend.yaml");
const FRONTEND_APP: &str = include_str!("../../tests/it/manifests/webapp/frontend.yaml");

/// Dependents are woken; Flux would look again after 30 s.
const AT_ONCE: Duration = Duration::from_secs(10);

pub(super) struct Webapp<'a> {
    world: &'a World,
    repo: GitRepo,
    image: String,
}

impl<'a> Webapp<'a> {
    /// The article's preparation, with an image that this cluster has.
    pub(super) async fn start(world: &'a World) -> Result<Self> {
        world
            .registry()
            .push_made_image("podinfo", "5.0.3", &stand_in_image("podinfo", "5.0.3", "podinfo")?)
            .await?;
        let places = world.places("podinfo")?;
        let image = format!("{}/podinfo:5.0.3", places.registry);
        let webapp = Self { world, repo: world.git.repo("podinfo")?, image };
        let (backend, frontend) = (webapp.with_image(BACKEND_APP), webapp.frontend());
        let files = [
            ("deploy/webapp/common/common.yaml", COMMON_APP),
            ("deploy/webapp/backend/deployment.yaml", &backend),
            ("deploy/webapp/frontend/deployment.yaml", &frontend),
        ];
        webapp.repo.commit("master", "webapp", &files)?;
        world
            .plane()
            .apply_yaml("", &SOURCE.replace("https://github.com/stefanprodan/podinfo", &places.git))
            .await?;
        wait_ready(&world.api("Kustomization", NAMESPACE).await?, "webapp-common", DEADLINE).await?;
        Ok(webapp)
    }

    /// The article's probe asks for a page that is not there: the Pod runs, and nothing gets ready.
    pub(super) async fn dependent_waits(&self) -> Result<()> {
        self.world.plane().apply_yaml("", BACKEND).await?;
        self.world.plane().apply_yaml("", FRONTEND).await?;
        let kustomizations = self.world.api("Kustomization", NAMESPACE).await?;
        let progressing = wait_condition(
            &kustomizations,
            "webapp-backend",
            "Ready",
            "Unknown",
            Some("Progressing"),
            DEADLINE,
        );
        progressing.await?;
        let waits = "dependency 'flux-system/webapp-backend' is not ready";
        wait_not_ready(&kustomizations, "webapp-frontend", waits, DEADLINE).await?;
        let running = async || {
            let pods = self.world.pods("webapp", "backend").await.ok()?;
            let pod = pods.first()?;
            (text(&pod.data, "/status/phase").ok()? == "Running").then(|| pod.data.clone())
        };
        let pod = eventually("the backend's Pod to run", DEADLINE, running).await?;
        let is_ready = pod.pointer("/status/containerStatuses/0/ready").and_then(Value::as_bool);
        ensure!(is_ready == Some(false), "the Pod is ready: {pod}");
        Ok(())
    }

    /// The right page in Git: new Pods replace the old ones, the backend gets ready, and the frontend starts.
    pub(super) async fn rollout_wakes_dependent(&self) -> Result<()> {
        self.push("backend", &self.with_image(BACKEND_APP).replace("readyzz", "readyz")).await?;
        let kustomizations = self.world.api("Kustomization", NAMESPACE).await?;
        wait_ready(&kustomizations, "webapp-backend", DEADLINE).await?;
        let deployments = self.world.api("Deployment", "webapp").await?;
        let backend = deployments.get("backend").await?;
        ensure!(is_rolled_out(&backend, &self.image), "ready before the rollout ended: {}", backend.data);
        wait_for(&deployments, "frontend", "the dependent's start", AT_ONCE, |it| it.is_some()).await?;
        wait_ready(&kustomizations, "webapp-frontend", DEADLINE).await?;
        ensure!(is_rolled_out(&deployments.get("frontend").await?, &self.image), "ready before its Pod was");
        Ok(())
    }

    /// An image that is not there: without health checks that is ready, with them it is not, until a good image is rolled out.
    pub(super) async fn applied_or_healthy(&self) -> Result<()> {
        // A patch: the API server forgets who set a field of this old version, so that applying the manifest anew removes none.
        let without = ["patch", "kustomization", "webapp-frontend", "-n", NAMESPACE, "--type=merge", "-p"];
        let without = [&without[..], &[r#"{"spec": {"healthChecks": null}}"#]].concat();
        self.world.plane().kubectl(&without).await?;
        let commit = self.push("frontend", &self.frontend().replace(&self.image, "hoge")).await?;
        let kustomizations = self.world.api("Kustomization", NAMESPACE).await?;
        let is_applied = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| {
                text(&it.data, "/status/lastAppliedRevision").is_ok_and(|it| it.contains(&commit))
            })
        };
        wait_for(&kustomizations, "webapp-frontend", "the revision", DEADLINE, is_applied).await?;
        wait_ready(&kustomizations, "webapp-frontend", DEADLINE).await?;
        let backs_off = async || {
            let pods = self.world.pods("webapp", "frontend").await.ok()?;
            let reason = |pod: &DynamicObject| {
                text(&pod.data, "/status/containerStatuses/0/state/waiting/reason")
                    .is_ok_and(|it| it == "ImagePullBackOff")
            };
            pods.iter().any(reason).then_some(())
        };
        eventually("a Pod in ImagePullBackOff", DEADLINE, backs_off).await?;
        wait_ready(&kustomizations, "webapp-frontend", DEADLINE).await?;

        self.world.plane().apply_yaml("", FRONTEND).await?;
        let progressing = wait_condition(
            &kustomizations,
            "webapp-frontend",
            "Ready",
            "Unknown",
            Some("Progressing"),
            DEADLINE,
        );
        progressing.await?;
        self.push("frontend", &self.frontend()).await?;
        wait_ready(&kustomizations, "webapp-frontend", DEADLINE).await?;
        let frontend = self.world.api("Deployment", "webapp").await?.get("frontend").await?;
        ensure!(is_rolled_out(&frontend, &self.image), "ready before the rollout ended: {}", frontend.data);
        Ok(())
    }

    fn with_image(&self, manifest: &str) -> String {
        manifest.replace("ghcr.io/stefanprodan/podinfo:5.0.3", &self.image)
    }

    fn frontend(&self) -> String {
        self.with_image(FRONTEND_APP).replace("replicas: 0", "replicas: 1")
    }

    /// Commits a Deployment's file, and waits until the source has the commit.
    async fn push(&self, name: &str, content: &str) -> Result<String> {
        let file = format!("deploy/webapp/{name}/deployment.yaml");
        let commit = self.repo.commit("master", "change", &[(&file, content)])?;
        let sources = self.world.api("GitRepository", NAMESPACE).await?;
        touch_requested_at(&sources, "webapp").await?;
        let is_stored = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| {
                text(&it.data, "/status/artifact/revision").is_ok_and(|it| it.contains(&commit))
            })
        };
        wait_for(&sources, "webapp", &commit, DEADLINE, is_stored).await?;
        Ok(commit)
    }
}
