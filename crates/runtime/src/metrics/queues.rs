//! The figures of the queues under the names of client-go's workqueue, read from the queues when they are asked for: they are
//! right also while all workers are busy.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::queue_labels;
use crate::queue::Queue;

/// The queues by name. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Queues(Arc<Mutex<BTreeMap<String, Queue>>>);

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}

impl Queues {
    /// Makes a queue known.
    pub(super) fn add(&self, name: &str, queue: Queue) {
        self.0.lock().insert(name.to_owned(), queue);
    }
}

/// Objects that wait.
struct Depths<'a>(&'a Queues);

impl EncodeMetric for Depths<'_> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, queue) in &*self.0.0.lock() {
            let depth = i64::try_from(queue.depth()).unwrap_or(i64::MAX);
            ConstGauge::new(depth).encode(encoder.encode_family(&queue_labels(name))?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// Objects that have been queued since the start.
struct Adds<'a>(&'a Queues);

impl EncodeMetric for Adds<'_> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, queue) in &*self.0.0.lock() {
            ConstCounter::new(queue.added()).encode(encoder.encode_family(&queue_labels(name))?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (depth, adds) = ("Objects waiting to be reconciled", "Objects put into the queue");
        Depths(self).encode(encoder.encode_descriptor(
            "workqueue_depth",
            depth,
            None,
            MetricType::Gauge,
        )?)?;
        Adds(self).encode(encoder.encode_descriptor("workqueue_adds", adds, None, MetricType::Counter)?)
    }
}
