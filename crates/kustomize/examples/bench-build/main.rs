//! `make bench-build`: `weir build` beside the reference implementation, in one run on one machine.
//!
//! The outputs are compared first: a time counts only for the right bytes. Trees, and the reference when it is not
//! there yet, are made in a scratch folder (`WEIR_BENCH_SCRATCH`, else below the temporary folder).
#![allow(clippy::print_stdout, missing_docs)]

mod measure;
mod report;
mod scratch;
mod trees;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use weir_testkit::Cost;

use self::measure::measure;
use self::report::{Comparison, Report};
use self::scratch::Scratch;

/// Number of runs of a build; slow ones less often. The median counts.
const RUNS: usize = 3;
/// Builds of one small tree are over in milliseconds, so that many are needed to see them through the noise.
const RUNS_OF_SMALL: usize = 41;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(weir), Some(document)) = (arguments.next(), arguments.next()) else {
        bail!("usage: bench-build WEIR DOCUMENT");
    };
    let weir = weir.canonicalize().with_context(|| format!("no program at {}", weir.display()))?;
    let scratch = Scratch::open()?;
    let reference = scratch.reference()?;

    let report = Report {
        comparisons: compare(&weir, &reference, &scratch)?,
        sizes: sizes(&weir, &scratch)?,
        hostile: hostile(&weir, &scratch)?,
    };
    let text = report.text();
    println!("\n{text}");
    report::append(&document, &text)
}

/// Weir and the reference, in turn, over the same trees.
fn compare(weir: &Path, reference: &Path, scratch: &Scratch) -> Result<Vec<Comparison>> {
    let mut cases =
        vec![("hello-world", trees::hello_world(&scratch.folder("hello-world")?)?, RUNS_OF_SMALL)];
    if let Some(perf) = scratch.generated()? {
        cases.push(("many-small, one overlay", perf.join("many-small/overlays/o-007"), RUNS_OF_SMALL));
        cases.push(("many-small, all 300", perf.join("many-small/all"), RUNS));
        cases.push(("large-base", perf.join("large-base/overlays/prod"), RUNS));
        cases.push(("crd-heavy", perf.join("crd-heavy/overlay"), RUNS));
    }
    let mut comparisons = Vec::new();
    for (name, directory, runs) in cases {
        println!("{name} …");
        let expected = measure::output(reference, &directory)?;
        ensure!(expected.status.success(), "the reference does not build {name}");
        ensure!(measure::output(weir, &directory)?.stdout == expected.stdout, "{name}: the outputs differ");
        let (reference, weir) = (measure(reference, &directory, runs)?, measure(weir, &directory, runs)?);
        comparisons.push(Comparison { name, reference, weir });
    }
    Ok(comparisons)
}

/// Measures the cost of a build of so many resources.
fn sizes(weir: &Path, scratch: &Scratch) -> Result<Vec<(usize, Cost)>> {
    let mut sizes = Vec::new();
    for count in [100, 500, 1_000, 5_000] {
        println!("{count} resources …");
        let directory = trees::of_size(&scratch.folder(&format!("size-{count}"))?, count)?;
        ensure!(measure::output(weir, &directory)?.status.success(), "{count} resources cannot be built");
        sizes.push((count, measure(weir, &directory, RUNS * 3)?));
    }
    Ok(sizes)
}

/// Measures the cost of refusing input that is meant to hurt.
fn hostile(weir: &Path, scratch: &Scratch) -> Result<Vec<(&'static str, Cost)>> {
    let mut refused = Vec::new();
    for (name, resource) in trees::hostile() {
        println!("{name} …");
        let directory = trees::around(&scratch.folder("hostile")?, &resource)?;
        let output = measure::output(weir, &directory)?;
        ensure!(!output.status.success() && !output.stderr.is_empty(), "{name} is not refused");
        refused.push((name, measure(weir, &directory, RUNS)?));
    }
    Ok(refused)
}
