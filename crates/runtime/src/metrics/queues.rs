//! The figures of the queues under the names of client-go's workqueue, read from the queues when they are asked for: they are
//! right also while all workers are busy.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
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

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let queues = self.0.lock();
        let help = "Objects waiting to be reconciled";
        let mut depths = encoder.encode_descriptor("workqueue_depth", help, None, MetricType::Gauge)?;
        for (name, queue) in &*queues {
            let depth = i64::try_from(queue.depth()).unwrap_or(i64::MAX);
            ConstGauge::new(depth).encode(depths.encode_family(&queue_labels(name))?)?;
        }
        let help = "Objects put into the queue";
        let mut adds = encoder.encode_descriptor("workqueue_adds", help, None, MetricType::Counter)?;
        for (name, queue) in &*queues {
            ConstCounter::new(queue.added()).encode(adds.encode_family(&queue_labels(name))?)?;
        }
        Ok(())
    }
}
