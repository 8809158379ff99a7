//! The table.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;

use super::{Measured, Options, Results};
use crate::bench::{commit, machine};

/// One section of docs/benchmarks.md.
pub(super) fn section(results: &Results, options: &Options) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## Sources, {}\n", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let limit =
        options.memory.map(|mebibytes| format!(" within {mebibytes} MiB of memory")).unwrap_or_default();
    writeln!(
        text,
        "{}, load {} at the end; commit {}; `source-controller --concurrent=20` alone{limit}; {} OCIRepositories and \
         GitRepositories, repositories of\n{} MiB of which one folder (monorepo) or all (whole) is the artifact, an index of {} MiB, {} objects.\n",
        machine(),
        load.split(' ').next().unwrap_or_default(),
        commit(),
        options.size,
        options.monorepo,
        options.index,
        options.objects,
    )?;
    writeln!(
        text,
        "| scenario | program | seconds | requests a unit | CPU-seconds | peak MiB | Flux's time, CPU, memory by Weir's |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|")?;
    let scenarios: BTreeSet<_> = results.keys().map(|(scenario, _)| *scenario).collect();
    for scenario in scenarios {
        let (weir, flux) = (results.get(&(scenario, "Weir")), results.get(&(scenario, "Flux")));
        row(&mut text, scenario, "Weir", weir, ratios(weir, flux))?;
        row(&mut text, scenario, "Flux", flux, String::new())?;
    }
    Ok(text)
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn row(
    text: &mut String,
    scenario: &str,
    name: &str,
    measured: Option<&Measured>,
    ratios: String,
) -> Result<()> {
    let Some(measured) = measured else { return Ok(()) };
    let mebibytes = measured.peak_rss_bytes as f64 / f64::from(1 << 20);
    writeln!(
        text,
        "| {scenario} | {name} | {:.2} | {:.2} | {:.2} | {mebibytes:.0} | {ratios} |",
        measured.seconds, measured.requests, measured.cpu_seconds
    )?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn ratios(weir: Option<&Measured>, flux: Option<&Measured>) -> String {
    let (Some(weir), Some(flux)) = (weir, flux) else { return String::new() };
    let by = |flux: f64, weir: f64| format!("{:.1}x", flux / weir.max(0.01));
    let memory = by(flux.peak_rss_bytes as f64, weir.peak_rss_bytes as f64);
    [by(flux.seconds, weir.seconds), by(flux.cpu_seconds, weir.cpu_seconds), memory].join(", ")
}
