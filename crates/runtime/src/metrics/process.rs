//! `process_*` figures from /proc, read when they are scraped (DEP-OBS-1), and two that Flux's dashboards know by Go's names.

use std::time::SystemTime;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Labels of `go_info`. There is no Go in the process, and so no version of it.
const NO_GO: [(&str, &str); 1] = [("version", "none")];

/// Clock ticks of a second in /proc/self/stat: `USER_HZ`, which Linux fixes at 100 for every architecture we ship on.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct ProcessCollector {
    started: f64,
}

impl Default for ProcessCollector {
    fn default() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self { started: since_epoch.map(|time| time.as_secs_f64()).unwrap_or_default() }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let cpu = ConstCounter::new(cpu_seconds().unwrap_or_default());
        let memory = ConstGauge::new(resident_bytes().unwrap_or_default());
        let started = ConstGauge::new(self.started);
        let files = std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or_default();
        let files = ConstGauge::new(i64::try_from(files).unwrap_or(i64::MAX));
        add(&mut encoder, "process_cpu_seconds", "CPU time used by the process", &cpu)?;
        add(&mut encoder, "process_resident_memory_bytes", "Memory held by the process", &memory)?;
        add(&mut encoder, "process_start_time_seconds", "Start of the process since the epoch", &started)?;
        add(&mut encoder, "process_open_fds", "Open file descriptors", &files)?;
        // Flux's dashboard of the control plane counts the services by the one, and shows their memory by the other.
        add(&mut encoder, "go_memstats_alloc_bytes", "Memory held by the process, under Go's name", &memory)?;
        let mut info = encoder.encode_descriptor("go_info", "1 in each process", None, MetricType::Gauge)?;
        ConstGauge::new(1_i64).encode(info.encode_family(&NO_GO)?)
    }
}

fn add(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    figure: &impl EncodeMetric,
) -> Result<(), std::fmt::Error> {
    figure.encode(encoder.encode_descriptor(name, help, None, figure.metric_type())?)
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The command name may hold spaces; what follows its closing parenthesis does not. utime and stime are fields 14, 15.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
