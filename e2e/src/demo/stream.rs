use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use k8s_openapi::api::rbac::v1::PolicyRule;
use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_proto::status::v1::WatchResponse;

use crate::{StatusClient, World};

/// The last revision is on the stream as soon as it is applied.
const DEADLINE: Duration = Duration::from_secs(30);

/// A gRPC watch of all Kustomizations that runs beside the demo and keeps the revisions it has seen.
pub(super) struct Stream {
    revisions: watch::Receiver<BTreeSet<String>>,
    _task: JoinSet<()>,
}

impl Stream {
    /// Opens the watch as a ServiceAccount that may do nothing else.
    pub(super) async fn open(world: &World) -> Result<Self> {
        let rule = PolicyRule {
            api_groups: Some(vec!["kustomize.toolkit.fluxcd.io".into()]),
            resources: Some(vec!["kustomizations".into()]),
            verbs: ["get", "list", "watch"].map(str::to_owned).into(),
            ..Default::default()
        };
        world.plane.service_account("flux-system", "viewer", &[rule]).await?;
        let token = world.plane.service_account_token("flux-system", "viewer").await?;
        let client = StatusClient::connect(&world.weir.grpc_address(), &token).await?;
        let mut changes = client.watch("Kustomization", "flux-system").await?;
        let (seen, revisions) = watch::channel(BTreeSet::new());
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(Ok(change)) = changes.next().await {
                show(&change);
                if let Some(object) = change.object {
                    seen.send_modify(|revisions| {
                        revisions.insert(object.revision);
                    });
                }
            }
        });
        Ok(Self { revisions, _task: task })
    }

    /// Waits until the watch has seen the commits applied.
    pub(super) async fn saw(mut self, commits: &[&str]) -> Result<()> {
        let wanted: BTreeSet<String> = commits.iter().map(|commit| format!("main@sha1:{commit}")).collect();
        let all_seen = self.revisions.wait_for(|seen| seen.is_superset(&wanted));
        let waited = tokio::time::timeout(DEADLINE, all_seen).await.map(|seen| seen.map(drop));
        match waited {
            Ok(seen) => seen.context("the stream ended"),
            Err(_) => bail!("it saw only {:?}", *self.revisions.borrow()),
        }
    }
}

fn show(change: &WatchResponse) {
    let Some(object) = &change.object else { return };
    let Some(ready) = object.conditions.iter().find(|condition| condition.r#type == "Ready") else { return };
    println!("  · {}/{} Ready={} {}", object.namespace, object.name, ready.status, ready.message);
}
