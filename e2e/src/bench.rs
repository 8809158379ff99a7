//! The benchmark: N OCIRepositories and N Kustomizations of a ServiceAccount, a Service, a Deployment without Pods and
//! an Ingress, with `wait`, an impersonated ServiceAccount and a substitution, as Flux's published one has them.

mod fleet;
mod measure;
mod report;

use anyhow::Result;

use self::fleet::Fleet;
pub(crate) use self::fleet::{create, is_ready, patch, wait_for_all};
use self::measure::Meter;
pub use self::measure::Phase;
pub(crate) use self::report::{append, commit, machine};
use crate::{WeirOptions, World, WorldOptions};

/// The measurement to make.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many OCIRepositories and Kustomizations, one run each.
    pub sizes: Vec<usize>,
    /// How many objects of a kind Weir works on at once.
    pub concurrent: usize,
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
    let text = report::section(&runs, options.concurrent)?;
    println!("\n{text}");
    if options.write { report::append(&text) } else { Ok(()) }
}

async fn run_size(size: usize, options: &Options) -> Result<Vec<Phase>> {
    let arguments = vec![format!("--concurrent={}", options.concurrent), "--log-level=error".into()];
    let weir = WeirOptions { arguments, ..WeirOptions::default() };
    let world = World::start_with(WorldOptions { audit: true, weir, ..WorldOptions::default() }).await?;
    let fleet = Fleet::prepare(&world, size).await?;
    let mut meter = Meter::new(&world, size, options.detail);
    meter.measure("sources", fleet.create_sources()).await?;
    meter.measure("install", fleet.install()).await?;
    meter.measure("upgrade", fleet.upgrade()).await?;
    meter.measure("resync", fleet.resync()).await?;
    meter.measure("deletion", fleet.delete()).await?;
    Ok(meter.into_phases())
}
