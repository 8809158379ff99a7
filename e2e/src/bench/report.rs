use std::fmt::Write;
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use weir_testkit::repo_path;

use super::Phase;

/// One section of docs/benchmarks.md: machine, date, commit, and a table for each size.
pub(super) fn section(runs: &[(usize, Vec<Phase>)], concurrent: usize, shards: usize) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## {}\n", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC"))?;
    writeln!(
        text,
        "{}; commit {}; `--concurrent={concurrent}`, {} (all five services).\n",
        machine(),
        commit(),
        if shards > 1 { format!("{shards} shards of `weir run`") } else { "`weir run`".to_owned() }
    )?;
    for (size, phases) in runs {
        table(&mut text, *size, phases)?;
    }
    Ok(text)
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn table(text: &mut String, size: usize, phases: &[Phase]) -> Result<()> {
    writeln!(text, "N = {size}\n")?;
    writeln!(
        text,
        "| phase | seconds | x bare | requests a unit | requests by verb | CPU-seconds | API server CPU-s | peak MiB |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|---|")?;
    for phase in phases {
        let verbs: Vec<String> =
            phase.requests.iter().map(|(verb, count)| format!("{verb} {count}")).collect();
        writeln!(
            text,
            "| {} | {:.1} | {} | {:.2} | {} | {:.1} | {:.1} | {:.0} |",
            phase.name,
            phase.seconds,
            phase.bare_seconds.map_or_else(|| "–".to_owned(), |bare| format!("{:.2}", phase.seconds / bare)),
            phase.total_requests() as f64 / size as f64,
            verbs.join(", "),
            phase.cpu_seconds,
            phase.server_cpu_seconds,
            phase.peak_rss_bytes as f64 / f64::from(1 << 20),
        )?;
    }
    writeln!(text)?;
    Ok(())
}

/// Appends a section to docs/benchmarks.md.
pub(crate) fn append(section: &str) -> Result<()> {
    let path = repo_path("docs/benchmarks.md");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).context("open docs/benchmarks.md")?;
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
