use std::fmt::Write;
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use weir_testkit::repo_path;

use super::measure::BesideBare;
use super::{Options, Phase, Programs, Series};

/// One section of docs/benchmarks-log.md: machine, date, commit, and a table for each title.
pub(super) fn section(all: &[Series], options: &Options) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## {}\n", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))?;
    let shards = match options.shards {
        1 => String::new(),
        shards => format!(" in {shards} shards"),
    };
    writeln!(
        text,
        "{}; commit {}; a source and a kustomize service{shards}, `--concurrent={}`.\n",
        machine(),
        commit(),
        options.concurrent,
    )?;
    for weir in all.iter().filter(|series| series.maker == Programs::WEIR) {
        let other = all.iter().find(|other| other.maker != weir.maker && other.title == weir.title);
        table(&mut text, weir, other)?;
    }
    Ok(text)
}

fn table(text: &mut String, weir: &Series, other: Option<&Series>) -> Result<()> {
    writeln!(text, "{}\n", weir.title)?;
    writeln!(
        text,
        "| phase | program | seconds | x bare | requests a unit | CPU-seconds | API server CPU-s | bare | peak MiB: kustomize | source | Flux's time, \
         CPU, memory by Weir's |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for phase in &weir.phases {
        let other = other.and_then(|other| other.phase(&phase.name));
        row(text, phase, weir.maker, &other.map(|other| ratios(phase, other)).unwrap_or_default())?;
        if let Some(other) = other {
            row(text, other, Programs::FLUX, "")?;
        }
    }
    writeln!(text)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn row(text: &mut String, phase: &Phase, maker: &str, ratios: &str) -> Result<()> {
    let bare = |text: &dyn Fn(BesideBare) -> String| phase.bare.map_or_else(|| "–".to_owned(), text);
    writeln!(
        text,
        "| {} | {maker} | {:.1} | {} | {:.2} | {:.1} | {:.1} | {} | {:.0} | {:.0} | {ratios} |",
        phase.name,
        phase.seconds,
        bare(&|bare| format!(
            "{:.2} ({:.2}, {:.2})",
            phase.seconds / bare.seconds(),
            phase.seconds / bare.before.seconds,
            phase.seconds / bare.after.seconds
        )),
        phase.requests_a_unit(),
        phase.cpu_seconds,
        phase.server_cpu_seconds,
        bare(&|bare| format!("{:.1}, {:.1}", bare.before.server_cpu_seconds, bare.after.server_cpu_seconds)),
        phase.kustomize_mebibytes(),
        phase.source_rss_bytes as f64 / f64::from(1 << 20),
    )?;
    Ok(())
}

fn ratios(weir: &Phase, flux: &Phase) -> String {
    let by = |flux: f64, weir: f64| format!("{:.1}x", flux / weir.max(0.01));
    let memory = by(flux.kustomize_mebibytes(), weir.kustomize_mebibytes());
    [by(flux.seconds, weir.seconds), by(flux.cpu_seconds, weir.cpu_seconds), memory].join(", ")
}

/// Appends a section to docs/benchmarks-log.md.
pub(crate) fn append(section: &str) -> Result<()> {
    let path = repo_path("docs/benchmarks-log.md");
    let mut file =
        std::fs::OpenOptions::new().append(true).open(&path).context("open docs/benchmarks-log.md")?;
    write!(file, "\n{}\n", section.trim_end())?;
    Ok(())
}

/// The machine, for people.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let model = model.trim_start_matches(['\t', ' ', ':']).trim();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = read("/proc/meminfo");
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let kib: u64 = memory.trim().trim_end_matches("kB").trim().parse().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{model}, {cores} cores, {} GiB, Linux {}", kib >> 20, kernel.trim())
}

/// The commit that is measured.
pub(crate) fn commit() -> String {
    let output =
        Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(repo_path(".")).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".into())
}
