//! The benchmark of the command: each invocation is a process of its own, in turn with the stock command where there is one.

mod report;
mod stage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use weir_testkit::Cost;

use self::stage::Stage;

/// The measurement to make, with its sizes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Weir's command.
    pub weir: PathBuf,
    /// Flux's command; without it, that of the PATH.
    pub flux: Option<PathBuf>,
    /// Objects in the cluster.
    pub objects: usize,
    /// Runs of each invocation.
    pub runs: usize,
    /// True when docs/benchmarks-log.md gets the table.
    pub write: bool,
}

/// One invocation, measured with each command.
struct Measured {
    /// Its words.
    line: String,
    weir: Cost,
    flux: Option<Cost>,
}

/// Measures all invocations and writes the table.
///
/// # Errors
/// When the control plane does not start, or an invocation fails.
pub async fn run(options: &Options) -> Result<()> {
    let found = options.weir.canonicalize();
    let weir = found.with_context(|| format!("{} (--weir)", options.weir.display()))?;
    let flux = options.flux.clone().or_else(on_path).map(|program| {
        let found = program.canonicalize();
        found.with_context(|| format!("{} (--flux)", program.display()))
    });
    let flux = flux.transpose()?;
    let stage = Stage::prepare(options.objects).await?;
    let mut all = Vec::new();
    for line in stage.lines() {
        let weir = measure(&weir, &stage, &line, options.runs)?;
        let flux = flux.as_deref().map(|flux| measure(flux, &stage, &line, options.runs)).transpose()?;
        println!("  {line:<60} {:>8.1} ms {:>6.1} MiB", weir.millis(), weir.mebibytes());
        all.push(Measured { line, weir, flux });
    }
    let lists_alone = stage.lists_alone(options.runs).await?;
    let text = report::section(&all, lists_alone, options)?;
    println!("\n{text}");
    if options.write { crate::bench::append(&text) } else { Ok(()) }
}

/// Measures an invocation, which has to succeed first.
fn measure(program: &Path, stage: &Stage, line: &str, runs: usize) -> Result<Cost> {
    let prepare = |command: &mut Command| stage.prepare_command(command, line);
    let mut once = Command::new(program);
    prepare(&mut once);
    let output = once.stdin(Stdio::null()).output().with_context(|| program.display().to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} {line}: {said}", program.display());
    Ok(Cost::of(program, runs, prepare)?)
}

/// Flux's command on the PATH.
fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("flux")).find(|program| program.is_file())
}
