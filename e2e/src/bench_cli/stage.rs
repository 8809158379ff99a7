use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, Request};
use kube::{Api, Client};
use serde_json::{Value, json};
use weir_api::{KUSTOMIZE_NAME_LABEL, KUSTOMIZE_NAMESPACE_LABEL};
use weir_testkit::{ControlPlane, Folder};

use crate::bench::{create, names};
use crate::weir_process::crds;

/// Default namespace of both commands.
const NAMESPACE: &str = "flux-system";
/// Requests in flight while the objects are made; the API server's limit for mutating requests is 200.
const IN_FLIGHT: usize = 20;
/// The Kustomization at the root of the tree.
const ROOT: &str = "unit-0";
/// Kustomizations that the root of the tree applies, itself counted, at most.
const CHILDREN: usize = 200;
/// Objects that each of them applies.
const APPLIED: usize = 5;
/// Manifests that the build reads.
const MANIFESTS: usize = 200;

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-NUMBER
  namespace: apps
spec:
  selector:
    matchLabels: {app: app-NUMBER}
  template:
    metadata:
      labels: {app: app-NUMBER}
    spec:
      containers:
      - name: app
        image: registry.example.com/app:1.0.0
";

/// The lists of `get all -A` that are not empty.
const SOURCES: &str = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories";
const KUSTOMIZATIONS: &str = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations";

/// A control plane with objects that look as if services had worked on them, and a folder with manifests.
pub(super) struct Stage {
    plane: ControlPlane,
    folder: Folder,
}

impl Stage {
    /// Makes so many objects: half of them sources, half of them Kustomizations.
    pub(super) async fn prepare(objects: usize) -> Result<Self> {
        let plane = ControlPlane::start().await?;
        plane.apply_crds(&crds()).await?;
        plane.namespace(NAMESPACE).await?;
        let sources = plane.api("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE).await?;
        let kustomizations = plane.api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE).await?;
        let half = (objects / 2).max(1);
        create(&sources, half, source).await?;
        let children: Vec<_> = names(half.min(CHILDREN)).skip(1).collect();
        create(&kustomizations, half, |name| kustomization(name, children.contains(&name.to_owned())))
            .await?;
        report(&sources, half, |_| Value::Null).await?;
        report(&kustomizations, half, |number| inventory(number, half)).await?;
        let folder = Folder::new("bench-cli")?;
        folder.write("unit.yaml", manifests())?;
        Ok(Self { plane, folder })
    }

    /// The invocations to measure, which both commands know.
    pub(super) fn lines(&self) -> Vec<String> {
        let path = self.folder.path().display();
        vec![
            "version --client".to_owned(),
            "get all -A".to_owned(),
            format!("build kustomization {ROOT} --path {path}"),
            format!("tree kustomization {ROOT}"),
        ]
    }

    /// The time that the API server takes for the lists of `get all -A`: both kinds at once, of which nothing is read. The
    /// median of some runs.
    pub(super) async fn lists_alone(&self, runs: usize) -> Result<Duration> {
        let client = self.plane.client()?;
        let mut times = Vec::new();
        for _ in 0..runs.max(1) {
            let start = Instant::now();
            tokio::try_join!(list(&client, SOURCES), list(&client, KUSTOMIZATIONS))?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times.get(times.len() / 2).copied().unwrap_or_default())
    }

    /// Gives a command the words of an invocation, and the cluster.
    pub(super) fn prepare_command(&self, command: &mut Command, line: &str) {
        command.args(line.split(' ')).env("KUBECONFIG", self.plane.kubeconfig_path());
        // Flux keeps the kinds of clusters, as it does for its users.
        command.env("HOME", self.folder.path());
    }
}

async fn list(client: &Client, path: &str) -> Result<()> {
    client.request_text(Request::new(path).list(&ListParams::default())?).await?;
    Ok(())
}

fn source(name: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": { "name": name },
        "spec": { "interval": "10m", "url": "https://git.example.com/org/app", "ref": { "branch": "main" } },
    })
}

/// A Kustomization; a child has the labels that it gets from the root.
fn kustomization(name: &str, is_child: bool) -> Value {
    let labels =
        is_child.then(|| json!({ KUSTOMIZE_NAME_LABEL: ROOT, KUSTOMIZE_NAMESPACE_LABEL: NAMESPACE }));
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": { "name": name, "labels": labels },
        "spec": { "interval": "10m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": name } },
    })
}

/// The root applies Kustomizations, and each of these some objects.
fn inventory(number: usize, all: usize) -> Value {
    let id = |number: usize| format!("{NAMESPACE}_unit-{number}_kustomize.toolkit.fluxcd.io_Kustomization");
    let entry = |id: String, version: &str| json!({ "id": id, "v": version });
    let entries: Vec<_> = if number == 0 {
        (1..all.min(CHILDREN)).map(|child| entry(id(child), "v1")).collect()
    } else {
        (0..APPLIED).map(|object| entry(format!("apps_app-{object}_apps_Deployment"), "v1")).collect()
    };
    json!({ "entries": entries })
}

/// Writes statuses, as the services would.
async fn report(api: &Api<DynamicObject>, size: usize, inventory: impl Fn(usize) -> Value) -> Result<()> {
    let patches = (0..size).map(|number| (format!("unit-{number}"), status(inventory(number))));
    let patched = stream::iter(patches).map(async |(name, status)| {
        let patch = Patch::Merge(json!({ "status": status }));
        anyhow::Ok(api.patch_status(&name, &PatchParams::default(), &patch).await.map(drop)?)
    });
    patched.buffer_unordered(IN_FLIGHT).try_collect().await
}

fn status(inventory: Value) -> Value {
    json!({
        "observedGeneration": 1,
        "inventory": inventory,
        "conditions": [{
            "type": "Ready",
            "status": "True",
            "reason": "Succeeded",
            "observedGeneration": 1,
            "message": "stored artifact for revision 'main@sha1:696f056df216eea4f9401adbee0ff744d4df390f'",
            "lastTransitionTime": "2022-02-03T01:37:54Z",
        }],
    })
}

/// Returns Deployments, one document each.
fn manifests() -> String {
    (0..MANIFESTS)
        .map(|number| format!("---\n{}", DEPLOYMENT.replace("NUMBER", &number.to_string())))
        .collect()
}
