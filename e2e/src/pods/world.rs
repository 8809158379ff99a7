use anyhow::{Context, Result};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use weir_testkit::{Cluster, ControlPlane, FaultProxy, GitServer, Registry, WebhookSink, eventually};

use super::{DEADLINE, text};
use crate::demo::manifests::{CHAT_PATH, Places};
use crate::kind::api_version;
use crate::{NAMESPACE, Payload, Routes, SERVICES};

/// A cluster with a node, and the servers that Weir works with, each at an address that Pods reach.
pub(super) struct World {
    // Fields drop in order: the cluster goes before what its Pods talk to.
    pub(super) cluster: Cluster,
    git_front: FaultProxy,
    sink_front: FaultProxy,
    pub(super) git: GitServer,
    pub(super) sink: WebhookSink,
}

impl World {
    pub(super) async fn start() -> Result<Self> {
        let cluster = Cluster::start().await?;
        let (git, sink) = tokio::try_join!(GitServer::start(), WebhookSink::start())?;
        let git_front = cluster.front_for(host_of(&git.url("any"))?).await?;
        let sink_front = cluster.front_for(host_of(&sink.url("/"))?).await?;
        Ok(Self { cluster, git_front, sink_front, git, sink })
    }

    pub(super) fn plane(&self) -> &ControlPlane {
        self.cluster.plane()
    }

    pub(super) fn registry(&self) -> &Registry {
        self.cluster.registry()
    }

    /// Addresses of the servers as Pods know them.
    pub(super) fn places(&self, repository: &str) -> Result<Places> {
        let (git, chat) = (self.git.url(repository), self.sink.url(CHAT_PATH));
        Ok(Places {
            registry: self.cluster.registry_address(),
            git: git.replace(host_of(&git)?, &self.git_front.address()),
            chat: chat.replace(host_of(&chat)?, &self.sink_front.address()),
        })
    }

    /// Pods with a label `app`, those on their way out excepted.
    pub(super) async fn pods(&self, namespace: &str, app: &str) -> Result<Vec<DynamicObject>> {
        let api = self.api("Pod", namespace).await?;
        let mut pods = api.list(&ListParams::default().labels(&format!("app={app}"))).await?.items;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        Ok(pods)
    }

    /// The address of a service's Pod, of its leader where one stands by.
    pub(super) async fn pod_address(&self, service: &str) -> Result<String> {
        let pods = self.pods(NAMESPACE, service).await?;
        let pod = pods
            .iter()
            .find(|pod| pod.labels().values().any(|value| value == "leader"))
            .or(pods.first())
            .with_context(|| format!("no Pod of {service}"))?;
        Ok(text(&pod.data, "/status/podIP")?.to_owned())
    }

    /// The image that the Pods of a Deployment are to run.
    pub(super) async fn image_of(&self, deployment: &str) -> Result<String> {
        let deployment = self.api("Deployment", NAMESPACE).await?.get(deployment).await?;
        Ok(text(&deployment.data, "/spec/template/spec/containers/0/image")?.to_owned())
    }

    /// Ways on which artifacts, resolutions or events have come to a service, or gone from it, since its Pod was started.
    pub(super) async fn routes(&self, service: &str, payload: Payload) -> Result<Routes> {
        Routes::parse(&self.metrics(service).await?, payload)
    }

    /// Waits until image-automation has the stream of resolutions: the Pods of both start at the same time.
    pub(super) async fn wait_until_followed(&self) -> Result<()> {
        let is_open = async || {
            let metrics = self.metrics("image-automation-controller").await.ok()?;
            metrics.contains("weir_stream_open{payload=\"resolution\"} 1").then_some(())
        };
        Ok(eventually("resolutions to be followed", DEADLINE, is_open).await?)
    }

    async fn metrics(&self, service: &str) -> Result<String> {
        let url = format!("http://{}:8080/metrics", self.pod_address(service).await?);
        let client = reqwest::Client::builder().no_proxy().build()?;
        #[expect(clippy::disallowed_methods, reason = "the answer is our own process's")]
        let metrics = client.get(url).send().await?.text().await?;
        Ok(metrics)
    }

    pub(super) async fn api(&self, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        Ok(self.plane().api(api_version(kind), kind, namespace).await?)
    }

    /// Everything about Pods that explains a failure.
    pub(super) async fn state(&self) -> String {
        let mut parts = Vec::new();
        for arguments in [
            &["get", "pods", "-A", "-o", "wide"][..],
            &["get", "events", "-A", "--sort-by=.lastTimestamp"],
            &[
                "get",
                "gitrepositories,kustomizations,imagerepositories,imagepolicies,imageupdateautomations",
                "-A",
            ],
        ] {
            parts.push(self.plane().kubectl(arguments).await.unwrap_or_else(|error| error.to_string()));
        }
        for service in SERVICES {
            let arguments = ["logs", "-n", NAMESPACE, &format!("deployment/{service}"), "--tail=15"];
            let log = self.plane().kubectl(&arguments).await.unwrap_or_else(|error| error.to_string());
            parts.push(format!("--- {service}\n{log}"));
        }
        parts.join("\n")
    }
}

/// `host:port` of a URL.
pub(super) fn host_of(url: &str) -> Result<&str> {
    url.split('/').nth(2).with_context(|| format!("no host in {url}"))
}
