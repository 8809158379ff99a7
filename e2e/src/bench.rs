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

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use self::bare::Bare;
use self::fleet::Fleet;
use self::measure::{Meter, Phase};
pub(crate) use self::report::{append, commit, machine};
use self::shapes::Shapes;
use self::stage::Stage;
pub(crate) use self::stage::{Programs, command};
use self::steps::idle;
pub(crate) use self::steps::{create, is_ready, names, number, request, wait_for_all};

/// Measures sources, install, upgrade, resync and deletion of N OCIRepositories and N Kustomizations, rows of dependencies, many
/// folders of one repository, and Kustomizations of many objects.
#[derive(Debug, Parser)]
pub struct Options {
    /// The folder of Weir's programs.
    #[arg(long, default_value = "target/release")]
    weir: PathBuf,
    /// Flux's source controller; without it and the next one Weir is measured alone.
    #[arg(long, env = "FLUX_SOURCE_CONTROLLER", requires = "flux_kustomize")]
    flux_source: Option<PathBuf>,
    /// Flux's kustomize controller.
    #[arg(long, env = "FLUX_KUSTOMIZE_CONTROLLER")]
    flux_kustomize: Option<PathBuf>,
    /// Number of each; may be given several times.
    #[arg(long, default_values_t = [100, 1000, 5000])]
    n: Vec<usize>,
    /// The largest number for which Flux is measured too: at 5,000 it needs most of an hour.
    #[arg(long, default_value_t = 1000)]
    flux_up_to: usize,
    /// Leave the other shapes out.
    #[arg(long)]
    only_units: bool,
    /// Objects of a Kustomization; may be given several times.
    #[arg(long, default_values_t = [1500, 10_000])]
    objects: Vec<usize>,
    /// Kustomizations in a row, each of which depends on the one before.
    #[arg(long, default_value_t = 30)]
    chain: usize,
    /// Kustomizations that share a Git repository.
    #[arg(long, default_value_t = 200)]
    siblings: usize,
    /// Objects of a kind that a service works on at once.
    #[arg(long, default_value_t = 20)]
    concurrent: usize,
    /// Pairs of services that share the objects by the label sharding.fluxcd.io/key.
    #[arg(long, default_value_t = 1)]
    shards: usize,
    /// Print every kind of request, to see where requests go.
    #[arg(long)]
    detail: bool,
    /// Only print; leave docs/ as it is.
    #[arg(long)]
    dry_run: bool,
}

impl Options {
    fn programs(&self) -> Vec<Programs> {
        let (source, kustomize) =
            (self.weir.join("source-controller"), self.weir.join("kustomize-controller"));
        let mut all = vec![Programs { maker: Programs::WEIR, source, kustomize }];
        if let (Some(source), Some(kustomize)) = (self.flux_source.clone(), self.flux_kustomize.clone()) {
            all.push(Programs { maker: Programs::FLUX, source, kustomize });
        }
        all
    }
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
    for programs in &options.programs() {
        let is_wanted = |size: &&usize| programs.maker != Programs::FLUX || **size <= options.flux_up_to;
        for &size in options.n.iter().filter(is_wanted) {
            let title = format!("N = {size}");
            println!("{}, {title}", programs.maker);
            let phases = equal_units(programs, size, options).await?;
            all.push(Series { title, size: Some(size), maker: programs.maker, phases });
        }
        if !options.only_units {
            println!("{}, other shapes", programs.maker);
            let phases = other_shapes(programs, options).await?;
            all.push(Series { title: "Other shapes".to_owned(), size: None, maker: programs.maker, phases });
        }
    }
    let text = report::section(&all, options)?;
    println!("\n{text}");
    if !options.dry_run {
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
