//! A section for docs/benchmarks-log.md.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_testkit::Cost;

/// One tree, built by both.
pub(crate) struct Comparison {
    pub(crate) name: &'static str,
    pub(crate) reference: Cost,
    pub(crate) weir: Cost,
}

/// The findings of one run.
pub(crate) struct Report {
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) sizes: Vec<(usize, Cost)>,
    pub(crate) hostile: Vec<(&'static str, Cost)>,
}

impl Report {
    pub(crate) fn text(&self) -> String {
        let header = format!(
            "## Builds, {}\n\n{}; commit {}.\n",
            first_line("date", &["-u", "+%F %H:%M UTC"]),
            machine(),
            commit()
        );
        [header, self.comparison_table(), self.size_table(), self.hostile_table()].join("\n")
    }

    fn comparison_table(&self) -> String {
        let head = "| build | reference: ms | CPU-ms | MiB | Weir: ms | CPU-ms | MiB | faster | of the memory |\n|---|---|---|---|---|---|---|---|---|\n";
        self.comparisons.iter().fold(head.to_owned(), |mut text, Comparison { name, reference, weir }| {
            let faster = reference.millis() / weir.millis();
            let memory = 100.0 * weir.mebibytes() / reference.mebibytes();
            let (theirs, ours) = (reference.cells(), weir.cells());
            let _infallible = writeln!(text, "| {name} | {theirs} | {ours} | {faster:.0}x | {memory:.0} % |");
            text
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    fn size_table(&self) -> String {
        let head = "| resources | ms | CPU-ms | MiB | CPU-µs a resource |\n|---|---|---|---|---|\n";
        self.sizes.iter().fold(head.to_owned(), |mut text, (count, cost)| {
            let each = cost.cpu_seconds * 1e6 / *count as f64;
            let _infallible = writeln!(text, "| {count} | {} | {each:.0} |", cost.cells());
            text
        })
    }

    fn hostile_table(&self) -> String {
        let head = "| refused | ms | CPU-ms | MiB |\n|---|---|---|---|\n";
        self.hostile.iter().fold(head.to_owned(), |mut text, (name, cost)| {
            let _infallible = writeln!(text, "| {name} | {} |", cost.cells());
            text
        })
    }
}

/// Appends a section.
pub(crate) fn append(document: &Path, section: &str) -> Result<()> {
    let file = std::fs::OpenOptions::new().append(true).open(document);
    let mut file = file.with_context(|| format!("open {}", document.display()))?;
    write!(file, "\n{}\n", section.trim_end())?;
    Ok(())
}

/// Processor, cores and how busy they were, because others may work on the machine.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let model = model.trim_start_matches(['\t', ' ', ':']).trim();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or("unknown");
    format!("{model}, {cores} cores, load {load} at the end")
}

fn commit() -> String {
    first_line("git", &["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "--short", "HEAD"])
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}
