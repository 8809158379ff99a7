use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use weir_testkit::Cost;

use super::{Measured, Options};
use crate::bench::{commit, machine};

/// One section of docs/benchmarks-log.md.
pub(super) fn section(all: &[Measured], lists_alone: Duration, options: &Options) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## The command, {}\n", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    writeln!(
        text,
        "{}, load {} at the end; commit {}; {} objects in the cluster, the median of {} runs.\n",
        machine(),
        load.split(' ').next().unwrap_or_default(),
        commit(),
        options.objects,
        options.runs,
    )?;
    writeln!(
        text,
        "| invocation | Weir: ms | CPU-ms | MiB | Flux: ms | CPU-ms | MiB | Flux's time, CPU, memory by Weir's |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|---|")?;
    for Measured { line, weir, flux } in all {
        // The folder of the manifests has another name in each run.
        let line = line.split(" --path").next().unwrap_or_default();
        let theirs = flux.as_ref().map_or_else(|| "– | – | –".to_owned(), Cost::cells);
        let ratios = flux.as_ref().map_or_else(String::new, |flux| ratios(weir, flux));
        writeln!(text, "| `{line}` | {} | {theirs} | {ratios} |", weir.cells())?;
    }
    writeln!(
        text,
        "\nThe lists of `get all -A` take {:.1} ms alone, over connections that are open and with nothing read of them.",
        lists_alone.as_secs_f64() * 1000.0
    )?;
    Ok(text)
}

fn ratios(weir: &Cost, flux: &Cost) -> String {
    // Clock ticks are coarse: a mean below one is none.
    let by =
        |flux: f64, weir: f64| if weir > 0.0 { format!("{:.1}x", flux / weir) } else { "–".to_owned() };
    let pairs = [
        (flux.millis(), weir.millis()),
        (flux.cpu_seconds, weir.cpu_seconds),
        (flux.mebibytes(), weir.mebibytes()),
    ];
    pairs.map(|(flux, weir)| by(flux, weir)).join(", ")
}
