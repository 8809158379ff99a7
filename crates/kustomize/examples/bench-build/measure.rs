//! Wall time, CPU time and memory of a build, process start included.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// GNU time, which reports the peak of a program that is over before anybody could look.
const TIME: &str = "/usr/bin/time";
/// Clock ticks per second in `/proc/self/stat`; Linux shows 100 on every architecture it runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The cost of one build.
pub(crate) struct Cost {
    /// The median of the runs.
    pub(crate) wall: Duration,
    /// CPU seconds in user and kernel mode, the mean of the runs.
    pub(crate) cpu_seconds: f64,
    /// Peak resident memory in bytes.
    pub(crate) peak_rss: u64,
}

/// Returns the output of a build.
pub(crate) fn output(program: &Path, directory: &Path) -> Result<Output> {
    let mut build = Command::new(program);
    build.arg("build").arg(directory).output().with_context(|| format!("run {}", program.display()))
}

/// Builds `runs` times, and once more for its memory.
pub(crate) fn measure(program: &Path, directory: &Path, runs: usize) -> Result<Cost> {
    let before = cpu_seconds_of_children()?;
    let mut walls = Vec::with_capacity(runs);
    for _ in 0..runs {
        let mut build = Command::new(program);
        build.arg("build").arg(directory).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        build.status()?;
        walls.push(start.elapsed());
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
    let cpu_seconds = (cpu_seconds_of_children()? - before) / runs as f64;
    walls.sort();
    let wall = walls.get(runs / 2).copied().context("nothing was run")?;
    Ok(Cost { wall, cpu_seconds, peak_rss: peak_rss(program, directory)? })
}

fn peak_rss(program: &Path, directory: &Path) -> Result<u64> {
    let mut timed = Command::new(TIME);
    timed.args(["-q", "-f", "%M"]).arg(program).arg("build").arg(directory).stdout(Stdio::null());
    let output = timed.output().with_context(|| format!("run {TIME} (on Debian, the package time)"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let kib: Option<u64> = text.lines().last().and_then(|line| line.trim().parse().ok());
    Ok(kib.with_context(|| format!("{TIME} said: {text}"))? * 1024)
}

/// The CPU time of all processes that were waited for.
fn cpu_seconds_of_children() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command's name is in parentheses and may hold anything, so fields are counted after the last one.
    let (_, fields) = stat.rsplit_once(')').context("no command in stat")?;
    let ticks: Vec<f64> = fields.split_whitespace().skip(13).take(2).flat_map(str::parse).collect();
    ensure!(ticks.len() == 2, "no cutime and cstime in stat");
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}
