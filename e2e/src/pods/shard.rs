//! A shard whose processes die: Kubernetes starts them again, and nothing is lost (SHA-01).

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use weir_testkit::wait_for;

use super::long_apply::{LongApply, OBJECTS};
use super::world::World;
use super::{DEADLINE, process, text};
use crate::NAMESPACE;

/// Services of the shard, the one that applies first.
const SERVICES: [&str; 2] = ["kustomize-controller", "source-controller"];
const SHARD: &str = "shard2";

/// Kills both services of the shard in mid-apply. The kubelet starts the containers of the same Pods again, and they finish the
/// apply under the Leases that they had: the artifact is in the Pod's volume. The Pods of the main instances go on as they are.
pub(super) async fn dies(world: &World) -> Result<()> {
    let apply = LongApply::begin(world, "sharded").await?;
    let mut pods = Vec::new();
    for service in SERVICES {
        let app = format!("{service}-{SHARD}");
        let pod = world.pods(NAMESPACE, &app).await?.pop().with_context(|| format!("no Pod of {app}"))?;
        let holder = holder(world, &pod.name_any()).await?;
        process::kill(&pod, service).await?;
        pods.push((pod.name_any(), holder));
    }
    let death = Instant::now();
    let count = apply.count().await?;
    ensure!(count < OBJECTS, "the apply was over before the shard died");
    let api = world.api("Pod", NAMESPACE).await?;
    for (pod, _) in &pods {
        wait_for(&api, pod, "its container to be started again", DEADLINE, was_restarted).await?;
    }
    apply.finish().await?;
    let finished = death.elapsed();
    for (pod, before) in &pods {
        let after = holder(world, pod).await?;
        ensure!(*before == after, "the Lease was held by {before}, and is by {after}");
    }
    for service in SERVICES {
        let main = world.pods(NAMESPACE, service).await?;
        ensure!(!main.iter().any(|pod| was_restarted(Some(pod))), "the Pod of {service} was started again");
    }
    println!(
        "  {count} of {OBJECTS} objects were there at the shard's death; all applied after {:.1} s",
        finished.as_secs_f64()
    );
    Ok(())
}

/// The identity under which a Pod holds its Lease.
async fn holder(world: &World, pod: &str) -> Result<String> {
    let leases = world.api("Lease", NAMESPACE).await?;
    let leases = leases.list(&ListParams::default()).await?.items;
    let mut holders = leases.iter().filter_map(|lease| text(&lease.data, "/spec/holderIdentity").ok());
    let holder = holders.find(|holder| holder.starts_with(pod));
    Ok(holder.with_context(|| format!("no Lease of {pod}"))?.to_owned())
}

fn was_restarted(pod: Option<&DynamicObject>) -> bool {
    let restarts = |pod: &DynamicObject| {
        pod.data.pointer("/status/containerStatuses/0/restartCount").and_then(serde_json::Value::as_u64)
    };
    pod.and_then(restarts).is_some_and(|count| count > 0)
}
