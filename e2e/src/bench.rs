//! The benchmark: a source and a kustomize service of Weir, and of Flux in the same run where its programs are named, with
//! N OCIRepositories and N Kustomizations as Flux's published benchmark has them, and with other shapes that users have.

mod bare;
mod chart;
mod fleet;
mod measure;
mod report;
pub(crate) mod scenarios;
mod shapes;
mod stage;
mod steps;

use std::process::ExitCode;

use anyhow::Result;

use self::bare::Bare;
use self::fleet::Fleet;
use self::measure::Meter;
pub use self::measure::Phase;
pub(crate) use self::report::{append, commit, machine};
use self::shapes::Shapes;
pub use self::stage::Programs;
use self::stage::Stage;
pub(crate) use self::stage::command;
use self::steps::idle;
pub(crate) use self::steps::{create, is_ready, names, number, request, wait_for_all};

/// The measurement to make.
#[derive(Debug, Clone)]
pub struct Options {
    /// Programs to measure, one after the other.
    pub programs: Vec<Programs>,
    /// Numbers of OCIRepositories and Kustomizations, one run each.
    pub sizes: Vec<usize>,
    /// The largest of these numbers for which Flux is measured too: at 5,000 it needs most of an hour.
    pub flux_up_to: usize,
    /// True when the other shapes are measured too.
    pub shapes: bool,
    /// Objects of the Kustomizations that have many, one run each.
    pub objects: Vec<usize>,
    /// Kustomizations in a row, each of which depends on the one before.
    pub chain: usize,
    /// Kustomizations of one Git repository.
    pub siblings: usize,
    /// Objects of a kind that a service works on at once; each shard.
    pub concurrent: usize,
    /// Pairs of services that share the objects by their labels.
    pub shards: usize,
    /// True when every kind of request is printed.
    pub detail: bool,
    /// True when docs/benchmarks.md gets the tables, and the charts are drawn anew.
    pub write: bool,
}

/// Phases of one table, with the programs of one project.
struct Series {
    /// The title of the table.
    title: String,
    /// Equal units, if that is what the table is about.
    size: Option<usize>,
    /// The name of the project.
    maker: &'static str,
    phases: Vec<Phase>,
}

impl Series {
    fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }
}

/// The end of a benchmark's program; tells of an error.
#[must_use]
pub fn ended(result: &Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The benchmark failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark; writes the tables and draws the charts.
///
/// # Errors
/// When a phase does not end in time.
pub async fn run(options: &Options) -> Result<()> {
    let mut all = Vec::new();
    for programs in &options.programs {
        let is_wanted = |size: &&usize| programs.maker != Programs::FLUX || **size <= options.flux_up_to;
        for &size in options.sizes.iter().filter(is_wanted) {
            let title = format!("N = {size}");
            println!("{}, {title}", programs.maker);
            let phases = equal_units(programs, size, options).await?;
            all.push(Series { title, size: Some(size), maker: programs.maker, phases });
        }
        if options.shapes {
            println!("{}, other shapes", programs.maker);
            let phases = other_shapes(programs, options).await?;
            all.push(Series { title: "Other shapes".to_owned(), size: None, maker: programs.maker, phases });
        }
    }
    let text = report::section(&all, options)?;
    println!("\n{text}");
    if options.write {
        append(&text)?;
        chart::draw(&all)?;
    }
    Ok(())
}

async fn equal_units(programs: &Programs, size: usize, options: &Options) -> Result<Vec<Phase>> {
    let stage = Stage::start(programs, options.shards, options.concurrent).await?;
    let bare = Bare::prepare(&stage, size, options.concurrent).await?;
    // Before and after: an API server gets slower with what it has done.
    let before = bare.play().await?;
    let fleet = Fleet::prepare(&stage, size, options.shards).await?;
    let mut meter = Meter::new(&stage, options.detail);
    meter.measure("sources", size, fleet.create_sources()).await?;
    meter.measure("install", size, fleet.install()).await?;
    meter.measure("a minute of nothing", size, idle()).await?;
    meter.measure("upgrade", size, fleet.upgrade()).await?;
    meter.measure("resync", size, fleet.resync()).await?;
    meter.measure("deletion", size, fleet.delete()).await?;
    let after = bare.play().await?;
    Ok(meter.into_phases_beside(&before, &after))
}

async fn other_shapes(programs: &Programs, options: &Options) -> Result<Vec<Phase>> {
    let stage = Stage::start(programs, 1, options.concurrent).await?;
    let shapes = Shapes { stage: &stage, meter: Meter::new(&stage, options.detail) };
    shapes.play(options).await
}
