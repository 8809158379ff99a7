//! The runs that go on, under the names of client-go's workqueue: dashboards show from them how long the oldest has taken.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::queue_labels;

/// Starts of the runs of each queue. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<BTreeMap<String, Vec<Instant>>>>);

impl Running {
    /// Makes a queue known, so that its figures are there before its first run.
    pub(super) fn add(&self, queue: &str) {
        self.0.lock().entry(queue.to_owned()).or_default();
    }

    pub(super) fn started(&self, queue: &str, at: Instant) {
        self.0.lock().entry(queue.to_owned()).or_default().push(at);
    }

    pub(super) fn ended(&self, queue: &str, started: Instant) {
        let mut queues = self.0.lock();
        let Some(runs) = queues.get_mut(queue) else { return };
        if let Some(place) = runs.iter().position(|run| *run == started) {
            runs.swap_remove(place);
        }
    }

    /// Seconds that the longest run of each queue has taken so far.
    fn longest(&self) -> Vec<(String, f64)> {
        self.seconds(|runs| runs.fold(0.0, f64::max))
    }

    /// Seconds that all runs of each queue have taken so far, together.
    fn all(&self) -> Vec<(String, f64)> {
        // The sum of nothing is -0.0, which `sum` would begin with.
        self.seconds(|runs| runs.fold(0.0, |all, run| all + run))
    }

    fn seconds(&self, of: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Vec<(String, f64)> {
        let queues = self.0.lock();
        let figures = queues.iter().map(|(queue, runs)| {
            let mut seconds = runs.iter().map(|started| started.elapsed().as_secs_f64());
            (queue.clone(), of(&mut seconds))
        });
        figures.collect()
    }
}

impl Collector for Running {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, figures) in [
            ("longest_running_processor", "Time that the longest run has taken so far", self.longest()),
            ("unfinished_work", "Time that all runs have taken so far, together", self.all()),
        ] {
            let name = format!("workqueue_{name}_seconds");
            let mut family = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
            for (queue, seconds) in figures {
                ConstGauge::new(seconds).encode(family.encode_family(&queue_labels(&queue))?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_runs_that_go_on_count() {
        let running = Running::default();
        running.add("idle");
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let (long, short) = (ago(300), ago(100));
        running.started("busy", long);
        running.started("busy", short);
        let figures = |all: Vec<(String, f64)>| -> Vec<f64> {
            all.into_iter().map(|(_, seconds)| seconds.floor()).collect()
        };
        assert_eq!(figures(running.longest()), [300.0, 0.0]);
        assert_eq!(figures(running.all()), [400.0, 0.0]);
        running.ended("busy", long);
        assert_eq!(figures(running.longest()), [100.0, 0.0]);
        assert_eq!(figures(running.all()), [100.0, 0.0]);
        // Dashboards that divide by it would show -0.
        assert!(running.all().iter().all(|(_, seconds)| seconds.is_sign_positive()));
    }
}
