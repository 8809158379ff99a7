use anyhow::{Context, Result};

/// Clock ticks per second in `/proc/<pid>/stat`; Linux shows 100 on every architecture it runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The resources that a process has used so far, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// CPU time in user and kernel mode, in seconds.
    pub cpu_seconds: f64,
    /// The most resident memory since the start or the last [`Usage::reset_peak`], in bytes.
    pub peak_rss_bytes: u64,
}

impl Usage {
    /// Reads the usage of a process.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn of(pid: u32) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        Ok(Self { cpu_seconds: cpu_seconds(&stat)?, peak_rss_bytes: peak_rss_bytes(&status)? })
    }

    /// Makes the peak start anew from what is resident now.
    ///
    /// # Errors
    /// When there is no such process or it belongs to someone else.
    pub fn reset_peak(pid: u32) -> Result<()> {
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5").context("reset the peak of resident memory")
    }
}

fn cpu_seconds(stat: &str) -> Result<f64> {
    // The command's name is in parentheses and may hold anything, so fields are counted after the last one.
    let (_, fields) = stat.rsplit_once(')').context("no command in stat")?;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    let user = fields.next().context("no utime in stat")??;
    let system = fields.next().context("no stime in stat")??;
    Ok((user + system) / TICKS_PER_SECOND)
}

fn peak_rss_bytes(status: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_a_name_with_spaces_and_parentheses() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 99 0 0";
        assert_eq!(cpu_seconds(stat).unwrap(), 2.0);
    }

    #[test]
    fn the_peak_is_in_bytes() {
        assert_eq!(peak_rss_bytes("Name:\tweir\nVmHWM:\t    2048 kB\n").unwrap(), 2048 * 1024);
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(Usage::of(std::process::id()).unwrap().peak_rss_bytes > 0);
    }
}
