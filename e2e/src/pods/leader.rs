use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, DynamicObject};
use weir_testkit::wait_for;

use super::long_apply::{LongApply, OBJECTS};
use super::world::World;
use super::{DEADLINE, text};
use crate::NAMESPACE;

const SERVICE: &str = "kustomize-controller";

/// Two Pods of kustomize-controller; the leader's is deleted without grace when the first object of an apply is there. The other Pod
/// finishes the apply.
pub(super) async fn dies(world: &World) -> Result<()> {
    let seconds = format!("--timeout={}s", DEADLINE.as_secs());
    world.plane().kubectl(&["scale", "-n", NAMESPACE, "deployment", SERVICE, "--replicas=2"]).await?;
    world.plane().kubectl(&["rollout", "status", "-n", NAMESPACE, "deployment", SERVICE, &seconds]).await?;

    let leader = leader(world).await?;
    let apply = LongApply::begin(world, "many").await?;
    let pods = world.api("Pod", NAMESPACE).await?;
    pods.delete(&leader, &DeleteParams::default().grace_period(0)).await?;
    let death = Instant::now();
    let count = apply.count().await?;
    ensure!(count < OBJECTS, "the apply was over before the leader died");

    let leases = world.api("Lease", NAMESPACE).await?;
    let is_other = |lease: Option<&DynamicObject>| {
        let holder = lease.and_then(|lease| text(&lease.data, "/spec/holderIdentity").ok());
        holder.is_some_and(|holder| !holder.is_empty() && !holder.starts_with(&leader))
    };
    wait_for(&leases, &lease_name(), "another leader", DEADLINE, is_other).await?;
    let takeover = death.elapsed();
    apply.finish().await?;
    let finished = death.elapsed();
    println!(
        "  {count} of {OBJECTS} objects were there at the leader's death; another leader after {:.1} s, all applied after {:.1} s",
        takeover.as_secs_f64(),
        finished.as_secs_f64()
    );
    Ok(())
}

/// The name of the Pod that leads: the lease's holder is the Pod's name and a unique id.
async fn leader(world: &World) -> Result<String> {
    let leases = world.api("Lease", NAMESPACE).await?;
    let lease = leases.get(&lease_name()).await?;
    let holder = text(&lease.data, "/spec/holderIdentity")?;
    let pods = world.pods(NAMESPACE, SERVICE).await?;
    let names = pods.into_iter().filter_map(|pod| pod.metadata.name);
    names
        .into_iter()
        .find(|name| holder.starts_with(name.as_str()))
        .with_context(|| format!("no Pod is {holder}"))
}

fn lease_name() -> String {
    format!("{SERVICE}-leader-election")
}
