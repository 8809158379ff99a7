//! Metrics of this service alone.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use weir_runtime::metrics::Metrics;

/// `weir_unwatched_kinds`: changes of their objects are seen by requests, a second way that takes longer and costs more.
struct UnwatchedKinds<C>(C);

impl<C> fmt::Debug for UnwatchedKinds<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnwatchedKinds")
    }
}

impl<C: Fn() -> usize + Send + Sync + 'static> Collector for UnwatchedKinds<C> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Kinds of applied objects that are not watched, or not in all of their namespaces";
        let metric = encoder.encode_descriptor("weir_unwatched_kinds", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from((self.0)()).unwrap_or(i64::MAX)).encode(metric)
    }
}

/// Registers the metrics; `unwatched` returns the number of kinds that are not watched now.
pub(crate) fn register(metrics: &Metrics, unwatched: impl Fn() -> usize + Send + Sync + 'static) {
    metrics.register(|registry| registry.register_collector(Box::new(UnwatchedKinds(unwatched))));
}

/// Registers `weir_inventory_overflows_total`, the count of a second way: objects that are made before their inventory names them.
pub(crate) fn unnamed(metrics: &Metrics) -> Counter {
    let counter = Counter::default();
    let help = "Stages of applies whose objects had no room in the inventory before they were made";
    metrics.register(|registry| registry.register("weir_inventory_overflows", help, counter.clone()));
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_a_watch_are_counted() {
        let metrics = Metrics::default();
        register(&metrics, || 3);
        let text = metrics.encode().unwrap();
        assert!(text.contains("# TYPE weir_unwatched_kinds gauge\nweir_unwatched_kinds 3\n"), "{text}");
    }

    #[test]
    fn inventories_without_room_are_counted() {
        let metrics = Metrics::default();
        unnamed(&metrics).inc();
        let text = metrics.encode().unwrap();
        assert!(text.contains("\nweir_inventory_overflows_total 1\n"), "{text}");
    }
}
