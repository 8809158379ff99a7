use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Error;

/// GNU time, which reports the peak of a program that is over before anybody could look.
const TIME: &str = "/usr/bin/time";
/// Clock ticks per second in `/proc/self/stat`; Linux shows 100 on every architecture it runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The cost of a program that does one thing and ends, its start included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Wall time, the median of the runs.
    pub wall: Duration,
    /// CPU seconds in user and kernel mode, the mean of the runs.
    pub cpu_seconds: f64,
    /// Peak resident memory in bytes.
    pub peak_rss: u64,
}

impl Cost {
    /// Runs a program `runs` times, and once more for its memory; `prepare` gives it arguments. Exit codes do not matter: what
    /// refuses its input has a cost, too.
    ///
    /// # Errors
    /// When the program or GNU time cannot be started.
    pub fn of(program: &Path, runs: usize, prepare: impl Fn(&mut Command)) -> Result<Self, Error> {
        let before = cpu_seconds_of_children()?;
        let mut walls = Vec::with_capacity(runs);
        for _ in 0..runs.max(1) {
            let mut command = Command::new(program);
            prepare(&mut command);
            let start = Instant::now();
            quietly(&mut command)?;
            walls.push(start.elapsed());
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
        let cpu_seconds = (cpu_seconds_of_children()? - before) / walls.len() as f64;
        walls.sort();
        let wall = walls.get(walls.len() / 2).copied().unwrap_or_default();
        Ok(Self { wall, cpu_seconds, peak_rss: peak_rss(program, prepare)? })
    }

    /// Wall time in milliseconds.
    #[must_use]
    pub fn millis(&self) -> f64 {
        self.wall.as_secs_f64() * 1000.0
    }

    /// Returns milliseconds, milliseconds of the CPU and MiB as cells of a table in Markdown.
    #[must_use]
    pub fn cells(&self) -> String {
        format!("{:.1} | {:.1} | {:.1}", self.millis(), self.cpu_seconds * 1000.0, self.mebibytes())
    }

    /// Peak resident memory in MiB.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    pub fn mebibytes(&self) -> f64 {
        self.peak_rss as f64 / f64::from(1 << 20)
    }
}

fn quietly(command: &mut Command) -> Result<ExitStatus, Error> {
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.map_err(|source| Error::Spawn { program: command.get_program().to_string_lossy().into(), source })
}

fn peak_rss(program: &Path, prepare: impl Fn(&mut Command)) -> Result<u64, Error> {
    let mut timed = Command::new(TIME);
    timed.args(["-q", "-f", "%M"]).arg(program);
    prepare(&mut timed);
    let hint = "on Debian, the package time has it";
    let output = timed.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let output = output.map_err(|_| Error::ProgramMissing { program: TIME.into(), hint })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let kib: Option<u64> = text.lines().last().and_then(|line| line.trim().parse().ok());
    let failed = || Error::Command {
        command: format!("{TIME} {}", program.display()),
        status: output.status.to_string(),
        output: text.to_string(),
    };
    Ok(kib.ok_or_else(failed)? * 1024)
}

/// The CPU time of all processes that were waited for.
fn cpu_seconds_of_children() -> Result<f64, Error> {
    let path = Path::new("/proc/self/stat");
    let stat = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.into(), source })?;
    // The command's name is in parentheses and may hold anything, so fields are counted after the last one.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: f64 = fields.split_whitespace().skip(13).take(2).flat_map(str::parse::<f64>).sum();
    Ok(ticks / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_takes_time_and_memory() {
        let cost = Cost::of(Path::new("/bin/sh"), 3, |command| {
            command.args(["-c", "exit 1"]);
        })
        .unwrap();
        assert!(!cost.wall.is_zero() && cost.peak_rss > 100 * 1024, "{cost:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(Cost::of(Path::new("/nonexistent"), 1, |_| ()).is_err());
    }
}
