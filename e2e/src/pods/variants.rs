//! Other shapes of the same installation, each applied over the one before: what is applied to the cluster stays as it is.

use std::time::Instant;

use anyhow::{Result, ensure};
use kube::api::DynamicObject;
use weir_testkit::{touch_requested_at, wait_for, wait_ready};

use super::deployment::{Deployment, Images};
use super::main_loop::MainLoop;
use super::world::World;
use super::{DEADLINE, text};
use crate::{NAMESPACE, Payload, SERVICES, StatusClient};

/// Objects whose identity and state a change of the installation leaves alone.
const APPLIED: [(&str, &str, &str); 4] = [
    ("Deployment", "default", "app"),
    ("Kustomization", NAMESPACE, "app"),
    ("GitRepository", NAMESPACE, "app"),
    ("ImagePolicy", NAMESPACE, "app"),
];

/// An application that Weir keeps up to date while its installation changes.
pub(super) struct Variants<'a> {
    world: &'a World,
    images: &'a Images,
    main_loop: &'a MainLoop<'a>,
}

impl<'a> Variants<'a> {
    pub(super) fn new(world: &'a World, images: &'a Images, main_loop: &'a MainLoop<'a>) -> Self {
        Self { world, images, main_loop }
    }

    /// TLS between the services, with certificates that Weir issues itself, and two source-controllers of which one stands by.
    pub(super) async fn tls(&self) -> Result<Deployment> {
        let components = ["tls-self-signed", "source-standby", "workload-identity"];
        let deployment = unchanged(self.world, async || {
            let deployment = self.world.deploy(self.images, "default", &components).await?;
            self.world.wait_for_rollout().await?;
            Ok(deployment)
        })
        .await?;
        self.wait_until_streamed().await?;
        self.main_loop.release("1.0.2").await?;
        self.plain_text_is_refused("kustomize-controller").await?;
        Ok(deployment)
    }

    /// One Deployment in place of five, in the steps of docs/install.md, with the certificates that it issues itself.
    pub(super) async fn single(&self) -> Result<()> {
        unchanged(self.world, async || {
            self.world.deploy(self.images, "single", &["tls-self-signed"]).await?;
            self.delete("deployment", &SERVICES).await?;
            let unused =
                ["kustomize-controller", "image-reflector-controller", "image-automation-controller"];
            self.delete("service", &unused).await?;
            self.world.wait_for_rollout().await
        })
        .await?;
        let pods = self.world.pods(NAMESPACE, "weir").await?;
        ensure!(pods.len() == 1, "{} Pods of weir", pods.len());
        self.plain_text_is_refused("weir").await?;
        self.main_loop.release("1.0.4").await
    }

    /// Five Deployments again, and two shards of the source and kustomize services beside them; the application's objects move to one.
    pub(super) async fn sharded(&self) -> Result<Deployment> {
        let deployment = unchanged(self.world, async || {
            self.delete("deployment", &["weir"]).await?;
            let deployment = self.world.deploy(self.images, "sharded", &[]).await?;
            for kind in ["service", "serviceaccount"] {
                self.delete(kind, &["weir"]).await?;
            }
            self.world.wait_for_rollout().await?;
            Ok(deployment)
        })
        .await?;
        for kind in ["gitrepository", "kustomization"] {
            let key = "sharding.fluxcd.io/key=shard2";
            self.world.plane().kubectl(&["label", "-n", NAMESPACE, kind, "app", key]).await?;
        }
        self.main_loop.release("1.0.5").await?;
        let source = self.world.api("GitRepository", NAMESPACE).await?;
        let source = source.get("app").await?;
        let url = text(&source.data, "/status/artifact/url")?;
        ensure!(url.contains("source-controller-shard2."), "the artifact is at {url}");
        Ok(deployment)
    }

    /// Commits until an artifact comes over gRPC: while the Pods are exchanged one by one the source service may be lost, and then it
    /// is left alone for a while.
    async fn wait_until_streamed(&self) -> Result<()> {
        let artifacts = async || self.world.routes("kustomize-controller", Payload::Artifact).await;
        let begun = Instant::now();
        for number in 0.. {
            let before = artifacts().await?;
            self.main_loop.commit_settings(&format!("hello-{number}")).await?;
            let taken = artifacts().await?.since(before);
            if taken.is_grpc_only() {
                break;
            }
            ensure!(begun.elapsed() < DEADLINE, "artifacts still come as {taken:?}");
        }
        Ok(())
    }

    /// A token that a service would take is not taken without TLS.
    async fn plain_text_is_refused(&self, service: &str) -> Result<()> {
        let address = format!("{}:9393", self.world.pod_address(service).await?);
        let token = self.world.plane().service_account_token(NAMESPACE, service).await?;
        let answered = match StatusClient::connect(&address, &token).await {
            Ok(client) => client.list("Kustomization", NAMESPACE).await.is_ok(),
            Err(_) => false,
        };
        ensure!(!answered, "{service} took a token over plain text");
        Ok(())
    }

    async fn delete(&self, kind: &str, names: &[&str]) -> Result<()> {
        let delete = [&["delete", "-n", NAMESPACE, kind][..], names].concat();
        self.world.plane().kubectl(&delete).await?;
        Ok(())
    }
}

/// Changes the installation, has the Kustomization run once, and compares what is applied with what was.
pub(super) async fn unchanged<T>(world: &World, change: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
    let before = applied(world).await?;
    let changed = change().await?;
    let kustomizations = world.api("Kustomization", NAMESPACE).await?;
    let asked = touch_requested_at(&kustomizations, "app").await?;
    let has_run = |object: Option<&DynamicObject>| {
        let handled = object.and_then(|object| text(&object.data, "/status/lastHandledReconcileAt").ok());
        handled == Some(asked.as_str())
    };
    wait_for(&kustomizations, "app", "a run", DEADLINE, has_run).await?;
    wait_ready(&kustomizations, "app", DEADLINE).await?;
    let after = applied(world).await?;
    ensure!(after == before, "changed by the installation: {before:?} is {after:?}");
    Ok(changed)
}

/// Identity and generation: a status changes with each run, and the Deployment's with its Pods.
async fn applied(world: &World) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (kind, namespace, name) in APPLIED {
        let meta = world.api(kind, namespace).await?.get(name).await?.metadata;
        all.push(format!("{kind}/{name} {:?} {:?}", meta.uid, meta.generation));
    }
    Ok(all)
}
