//! Main instances and a shard on one cluster, with the arguments of the overlay `sharded`: each works on its own objects
//! (SHA-01).

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use weir_e2e::{Installation, NAMESPACE, Overlay};
use weir_testkit::object::{git_repository, kustomization, with_spec};
use weir_testkit::{
    ControlPlane, Controller, GitRepo, GitServer, built_program, free_port, repo_path, storage_flags,
    touch_requested_at, wait_for, wait_ready,
};

const DEADLINE: Duration = Duration::from_secs(90);
const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io/v1";

/// Leases whose names Flux makes of the selectors (FLG-02).
const LEASES: [&str; 2] =
    ["source-controller-leader-election-42da7484", "source-controller-leader-election-73fdc1be"];

struct Cluster {
    plane: ControlPlane,
    sharded: Installation,
}

impl Cluster {
    /// Starts a service with the arguments of a Deployment. Addresses of Services lead nowhere here and are left out:
    /// artifacts come over HTTP by the URL in the status.
    async fn start(&self, service: &str, shard: &str, more: &[String]) -> Result<Controller> {
        let mut arguments = self.sharded.arguments(&format!("{service}{shard}"))?;
        arguments.retain(|argument| !argument.contains("$(") && !argument.starts_with("--storage-path"));
        // A killed process keeps its Lease until this time is over.
        arguments.extend(
            ["lease-duration=4s", "renew-deadline=3s", "retry-period=1s"]
                .map(|flag| format!("--leader-election-{flag}")),
        );
        arguments.push(format!("--grpc-addr=127.0.0.1:{}", free_port()?));
        arguments.extend_from_slice(more);
        Ok(Controller::start(Command::new(built_program(service)?), &self.plane, NAMESPACE, &arguments)
            .await?)
    }

    async fn apply(&self, mut object: Value, shard: Option<&str>) -> Result<()> {
        if let Some(shard) = shard {
            object["metadata"]["labels"] = json!({"sharding.fluxcd.io/key": shard});
        }
        self.plane.apply("default", object).await?;
        Ok(())
    }

    /// Waits until a Kustomization has applied a commit.
    async fn wait_until_applied(&self, name: &str, commit: &str) -> Result<()> {
        let kustomizations = self.plane.api(KUSTOMIZE, "Kustomization", "default").await?;
        let applied = |object: Option<&DynamicObject>| {
            let revision = object.and_then(|object| object.data["status"]["lastAppliedRevision"].as_str());
            revision.is_some_and(|revision| revision.ends_with(commit))
        };
        wait_for(&kustomizations, name, &format!("{commit} to be applied"), DEADLINE, applied).await?;
        Ok(())
    }

    /// Makes both sources look at Git, and waits until they have a commit.
    async fn wait_until_fetched(&self, commit: &str) -> Result<()> {
        let sources = self.plane.api(SOURCE, "GitRepository", "default").await?;
        let stored = |object: Option<&DynamicObject>| {
            let revision = object.and_then(|object| object.data["status"]["artifact"]["revision"].as_str());
            revision.is_some_and(|revision| revision.ends_with(commit))
        };
        for name in ["main", "shard1"] {
            touch_requested_at(&sources, name).await?;
            wait_for(&sources, name, &format!("{commit} to be stored"), DEADLINE, stored).await?;
        }
        Ok(())
    }
}

/// Commits a ConfigMap for each of both.
fn commit(repo: &GitRepo, value: &str) -> Result<String> {
    let object = |name| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: '{value}'}}\n")
    };
    let files = [("main/app.yaml", object("main")), ("shard1/app.yaml", object("shard1"))];
    Ok(repo.commit("main", value, &files.each_ref().map(|(path, text)| (*path, text.as_str())))?)
}

#[tokio::test]
async fn each_shard_works_on_its_objects_and_loses_none_when_it_dies() -> Result<()> {
    let (plane, git) = tokio::try_join!(ControlPlane::start(), GitServer::start())?;
    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await?;
    plane.namespace(NAMESPACE).await?;
    let sharded =
        Installation::of(Overlay { base: "sharded", components: &[], patches: "[]", images: "[]" })?;
    let cluster = Cluster { plane, sharded };
    let repo = git.repo("app")?;
    let first = commit(&repo, "first")?;

    let (main_storage, shard_storage) = (storage_flags()?, storage_flags()?);
    let _sources = (
        cluster.start("source-controller", "", &main_storage).await?,
        cluster.start("source-controller", "-shard1", &shard_storage).await?,
    );
    let _main = cluster.start("kustomize-controller", "", &[]).await?;
    let shard = cluster.start("kustomize-controller", "-shard1", &[]).await?;
    for (name, label) in [("main", None), ("shard1", Some("shard1"))] {
        cluster.apply(git_repository(name, &git.url("app")), label).await?;
        let object = kustomization(name, "GitRepository", name, &format!("./{name}"));
        cluster.apply(with_spec(object, json!({"targetNamespace": "default"})), label).await?;
        cluster.wait_until_applied(name, &first).await?;
    }

    let sources = cluster.plane.api(SOURCE, "GitRepository", "default").await?;
    for (name, storage) in [("main", &main_storage), ("shard1", &shard_storage)] {
        let source = wait_ready(&sources, name, DEADLINE).await?;
        let host = storage.last().and_then(|flag| flag.split('=').nth(1)).context("no address")?;
        let url = source.data["status"]["artifact"]["url"].as_str().context("no artifact")?;
        assert!(url.starts_with(&format!("http://{host}/")), "{name}: {url}");
    }
    let leases = cluster.plane.kubectl(&["get", "leases", "-n", NAMESPACE, "-o", "name"]).await?;
    assert!(LEASES.iter().all(|lease| leases.contains(lease)), "{leases}");

    drop(shard);
    let second = commit(&repo, "second")?;
    cluster.wait_until_fetched(&second).await?;
    cluster.wait_until_applied("main", &second).await?;
    let left = cluster.plane.api(KUSTOMIZE, "Kustomization", "default").await?.get("shard1").await?;
    let revision = left.data["status"]["lastAppliedRevision"].as_str().context("no revision")?;
    assert!(revision.ends_with(&first), "nobody else works on objects of the shard: {revision}");
    let _again = cluster.start("kustomize-controller", "-shard1", &[]).await?;
    cluster.wait_until_applied("shard1", &second).await
}
