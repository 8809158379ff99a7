use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use serde_json::Value;
use weir_testkit::{
    GitRepo, SinkRequest, stand_in_image, touch_requested_at, wait_for, wait_gone, wait_ready,
};

use super::world::World;
use super::{DEADLINE, text};
use crate::NAMESPACE;
use crate::demo::manifests::Places;

const RECEIVER: &str = include_str!("manifests/receiver.yaml");

const SETTINGS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {greeting: hello}\n";

/// The application as it is checked: its Pod is ready when its page is there.
const PROBE: &str =
    "        readinessProbe:\n          httpGet: {path: /readyz, port: 9898}\n          periodSeconds: 1\n";

/// One application whose image is kept up to date, and the people who are told of it.
pub(super) struct MainLoop<'a> {
    world: &'a World,
    repo: GitRepo,
    places: Places,
}

impl<'a> MainLoop<'a> {
    pub(super) fn new(world: &'a World) -> Result<Self> {
        Ok(Self { repo: world.git.repo("fleet")?, places: world.places("fleet")?, world })
    }

    /// Git to the cluster, and a message out.
    pub(super) async fn commit(&self) -> Result<()> {
        self.push("1.0.0").await?;
        let app = self.places.app().replace("replicas: 0", "replicas: 1") + PROBE;
        let commit =
            self.repo.commit("main", "Add the app", &[("app.yaml", &app), ("settings.yaml", SETTINGS)])?;
        self.resume("1.0.0").await?;
        self.wait_until_told(&commit).await
    }

    /// Applies what leads from Git to the cluster and back; the newest version of the application comes up.
    pub(super) async fn resume(&self, version: &str) -> Result<()> {
        let toolkit = format!("{}\n---\n{RECEIVER}", self.places.toolkit());
        self.world.plane().apply_yaml(NAMESPACE, &toolkit).await?;
        self.wait_for_version(version).await
    }

    /// Image to Git to the cluster: the new version serves, and the Pod of the old one is gone.
    pub(super) async fn release(&self, version: &str) -> Result<()> {
        for kind in ["ImagePolicy", "ImageUpdateAutomation"] {
            wait_ready(&self.world.api(kind, NAMESPACE).await?, "app", DEADLINE).await?;
        }
        let before = self.repo.head("main")?;
        self.push(version).await?;
        let images = self.world.api("ImageRepository", NAMESPACE).await?;
        touch_requested_at(&images, "app").await?;
        self.wait_for_version(version).await?;
        let log = self.repo.log("main")?;
        let bump = log.first().context("no commits")?;
        ensure!(bump.author_name == "fluxcdbot" && bump.parents == [before], "not one bot commit: {log:?}");
        self.wait_until_told(&bump.id).await
    }

    /// A commit that removes a manifest, of which only a webhook tells: the object is pruned.
    pub(super) async fn push_by_webhook(&self) -> Result<()> {
        let receivers = self.world.api("Receiver", NAMESPACE).await?;
        let receiver = wait_ready(&receivers, "push", DEADLINE).await?;
        let path = text(&receiver.data, "/status/webhookPath")?;
        let commit =
            self.repo.change("main").message("Remove the settings").delete("settings.yaml").commit()?;
        let address = self.world.pod_address("notification-controller").await?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        let answer = client.post(format!("http://{address}:9292{path}")).body("{}").send().await?;
        ensure!(answer.status().is_success(), "the webhook was answered with {}", answer.status());
        wait_gone(&self.world.api("ConfigMap", "default").await?, "settings", DEADLINE).await?;
        self.wait_until_told(&commit).await
    }

    /// Git to the cluster: other settings of the application, and the message about them.
    pub(super) async fn commit_settings(&self, greeting: &str) -> Result<()> {
        let settings = SETTINGS.replace("hello", greeting);
        let commit = self.repo.commit("main", "Change the settings", &[("settings.yaml", &settings)])?;
        let sources = self.world.api("GitRepository", NAMESPACE).await?;
        touch_requested_at(&sources, "app").await?;
        self.wait_until_told(&commit).await
    }

    async fn push(&self, tag: &str) -> Result<()> {
        self.world.registry().push_made_image("app", tag, &stand_in_image("app", tag, "app")?).await?;
        Ok(())
    }

    /// Waits until a Deployment of this version is rolled out, and asks the Pod itself.
    async fn wait_for_version(&self, tag: &str) -> Result<()> {
        let image = format!("{}/app:{tag}", self.places.registry);
        let is_rolled_out =
            |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
        let deployments = self.world.api("Deployment", "default").await?;
        wait_for(&deployments, "app", &image, DEADLINE, is_rolled_out).await?;
        let pods = self.world.pods("default", "app").await?;
        let [pod] = pods.as_slice() else { anyhow::bail!("{} Pods of the application", pods.len()) };
        let client = reqwest::Client::builder().no_proxy().build()?;
        let page = format!("http://{}:9898/", text(&pod.data, "/status/podIP")?);
        #[expect(clippy::disallowed_methods, reason = "the answer is our own program's")]
        let served = client.get(page).send().await?.text().await?;
        ensure!(served == tag, "the Pod serves {served}, not {tag}");
        Ok(())
    }

    async fn wait_until_told(&self, commit: &str) -> Result<()> {
        let is_told = |request: &SinkRequest| request.json().to_string().contains(commit);
        self.world.sink.wait_for(&format!("the message about {commit}"), DEADLINE, is_told).await?;
        Ok(())
    }
}

/// True when all Pods of a Deployment run this image, are available, and no other is left.
pub(super) fn is_rolled_out(deployment: &DynamicObject, image: &str) -> bool {
    let count = |field: &str| deployment.data.pointer(field).and_then(Value::as_i64).unwrap_or_default();
    let has_image = deployment.data.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str)
        == Some(image);
    let wanted = count("/spec/replicas");
    has_image
        && count("/status/observedGeneration") == deployment.metadata.generation.unwrap_or_default()
        && ["replicas", "updatedReplicas", "availableReplicas"]
            .iter()
            .all(|field| count(&format!("/status/{field}")) == wanted)
}
