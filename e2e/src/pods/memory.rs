use anyhow::{Context, Result};
use weir_testkit::eventually;

use super::world::World;
use super::{DEADLINE, process};
use crate::{NAMESPACE, SERVICES};

/// Memory that the five Pods together may take at idle, in MiB.
const GOAL: f64 = 60.0;

const MIB: f64 = 1024.0 * 1024.0;

/// Prints the memory of the Pods, and compares it with the goal. No failure: it is a measurement.
///
/// The kubelet counts a page of a file for whoever reads it first. All Pods map the same program, which its figures leave out for that
/// reason; the kernel's proportional share has it, once for all of them.
pub(super) async fn report(world: &World) -> Result<()> {
    let read = async || {
        let path = "/api/v1/nodes/node/proxy/metrics/cadvisor";
        let metrics = world.plane().kubectl(&["get", "--raw", path]).await.ok()?;
        let of = |service| Some((service, rss_and_working_set(&metrics, service).ok()?));
        SERVICES.into_iter().map(of).collect::<Option<Vec<_>>>()
    };
    let all = eventually("the kubelet's figures", DEADLINE, read).await?;
    let (mut kubelet, mut kernel) = (0.0, 0.0);
    for (service, (rss, working_set)) in &all {
        let share = proportional_share(world, service).await?;
        println!(
            "  {service:30} {rss:5.1} MiB of its own, working set {working_set:5.1}, with its share of the program {share:5.1}"
        );
        kubelet += working_set;
        kernel += share;
    }
    let verdict = if kernel <= GOAL { "within" } else { "over" };
    println!("  together {kernel:.1} MiB ({kubelet:.1} by the kubelet): {verdict} the goal of {GOAL} MiB");
    Ok(())
}

/// Memory of a service's process in MiB, of pages that processes share only its share of each.
async fn proportional_share(world: &World, service: &str) -> Result<f64> {
    let pods = world.pods(NAMESPACE, service).await?;
    let pod = pods.first().with_context(|| format!("no Pod of {service}"))?;
    let process = process::find(pod, service)?;
    let usage = std::fs::read_to_string(process.join("smaps_rollup"))?;
    let line = usage.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1024.0)
}

/// Anonymous memory and working set of a service's container, in MiB.
fn rss_and_working_set(metrics: &str, service: &str) -> Result<(f64, f64)> {
    let read = |name: &str| {
        let is_it = |line: &&str| {
            line.starts_with(&format!("{name}{{container=\"manager\""))
                && line.contains(&format!("namespace=\"{NAMESPACE}\""))
                && line.contains(&format!("pod=\"{service}-"))
        };
        let line = metrics.lines().find(is_it).with_context(|| format!("no {name} of {service}"))?;
        let value = line.rsplit("} ").next().and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        Ok::<_, anyhow::Error>(value.parse::<f64>()? / MIB)
    };
    Ok((read("container_memory_rss")?, read("container_memory_working_set_bytes")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_line_of_the_container() {
        let labels = "namespace=\"flux-system\",pod=\"source-controller-1\"";
        let metrics = format!(
            "container_memory_rss{{container=\"\",{labels}}} 9e+09 1\n\
             container_memory_rss{{container=\"manager\",{labels}}} 1.048576e+06 1732\n\
             container_memory_working_set_bytes{{container=\"manager\",{labels}}} 2097152 1732\n"
        );
        assert_eq!(rss_and_working_set(&metrics, "source-controller").unwrap(), (1.0, 2.0));
        assert!(rss_and_working_set(&metrics, "kustomize-controller").is_err());
    }
}
