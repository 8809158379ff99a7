//! The benchmark: N OCIRepositories and N Kustomizations of a ServiceAccount, a Service, a Deployment without Pods and
//! an Ingress, with `wait`, an impersonated ServiceAccount and a substitution, as Flux's published one has them.

mod bare;
mod fleet;
mod measure;
mod report;

use anyhow::Result;

use self::bare::Bare;
use self::fleet::{Fleet, SHARD, shard};
pub(crate) use self::fleet::{create, is_ready, patch, wait_for_all};
use self::measure::Meter;
pub use self::measure::Phase;
pub(crate) use self::report::{append, commit, machine};
use crate::{WeirOptions, WeirProcess, World, WorldOptions};

/// The measurement to make.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many OCIRepositories and Kustomizations, one run each.
    pub sizes: Vec<usize>,
    /// How many objects of a kind Weir works on at once; each shard.
    pub concurrent: usize,
    /// How many processes share the objects by their labels.
    pub shards: usize,
    /// True when every kind of request is printed.
    pub detail: bool,
    /// True when docs/benchmarks.md gets the tables.
    pub write: bool,
}

/// Runs the benchmark and writes the tables.
///
/// # Errors
/// When a phase does not end in time.
pub async fn run(options: &Options) -> Result<()> {
    let mut runs = Vec::new();
    for &size in &options.sizes {
        println!("N = {size}");
        let phases = run_size(size, options).await?;
        runs.push((size, phases));
    }
    let text = report::section(&runs, options.concurrent, options.shards)?;
    println!("\n{text}");
    if options.write { report::append(&text) } else { Ok(()) }
}

async fn run_size(size: usize, options: &Options) -> Result<Vec<Phase>> {
    let of_shard = |number: usize| {
        let mut arguments = vec![format!("--concurrent={}", options.concurrent), "--log-level=error".into()];
        if options.shards > 1 {
            arguments.push(format!("--watch-label-selector={SHARD}={}", shard(number)));
        }
        WeirOptions { arguments, ..WeirOptions::default() }
    };
    let world = WorldOptions { audit: true, weir: of_shard(0), ..WorldOptions::default() };
    let world = World::start_with(world).await?;
    let mut others = Vec::new();
    for number in 1..options.shards {
        others.push(WeirProcess::start(world.plane.weir_kubeconfig_path(), of_shard(number)).await?);
    }
    let bare = Bare::prepare(&world, size, options.concurrent).await?.play().await?;
    let fleet = Fleet::prepare(&world, size, options.shards).await?;
    let pids = [&world.weir].into_iter().chain(&others).map(WeirProcess::pid).collect();
    let mut meter = Meter::new(&world, pids, bare, size, options.detail);
    meter.measure("sources", fleet.create_sources()).await?;
    meter.measure("install", fleet.install()).await?;
    meter.measure("upgrade", fleet.upgrade()).await?;
    meter.measure("resync", fleet.resync()).await?;
    meter.measure("deletion", fleet.delete()).await?;
    Ok(meter.into_phases())
}
