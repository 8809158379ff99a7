//! Metrics of the cache, under Flux's names (SRC-MET-1).

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::identity::Caller;
use crate::operation::Operation;

const HIT: &str = "cache_hit";
const MISS: &str = "cache_miss";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event_type: &'static str,
    kind: &'static str,
    name: String,
    namespace: String,
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    events: Family<EventLabels, Counter>,
    requests: Family<StatusLabels, Counter>,
    evictions: Counter,
    items: Gauge,
}

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("gotk_token_cache_events", "Token cache hits and misses", self.events.clone());
        registry.register("gotk_token_cache_requests", "Token cache requests", self.requests.clone());
        registry.register("gotk_token_cache_evictions", "Tokens that were evicted", self.evictions.clone());
        registry.register("gotk_token_cached_items", "Tokens in the cache", self.items.clone());
    }

    pub(super) fn hit(&self, caller: &Caller<'_>, operation: Operation) {
        let labels = labels(HIT, caller.kind, caller.namespace, caller.name, operation);
        self.events.get_or_create(&labels).inc();
        self.request(true);
    }

    pub(super) fn miss(&self, caller: &Caller<'_>, operation: Operation, is_made: bool, items: u64) {
        let labels = labels(MISS, caller.kind, caller.namespace, caller.name, operation);
        self.events.get_or_create(&labels).inc();
        self.request(is_made);
        self.items.set(i64::try_from(items).unwrap_or(i64::MAX));
    }

    pub(super) fn evicted(&self) {
        self.evictions.inc();
    }

    pub(super) fn forget(&self, kind: &'static str, namespace: &str, name: &str) {
        for event_type in [HIT, MISS] {
            for operation in Operation::ALL {
                self.events.remove(&labels(event_type, kind, namespace, name, operation));
            }
        }
    }

    fn request(&self, is_successful: bool) {
        let status = if is_successful { "success" } else { "failure" };
        self.requests.get_or_create(&StatusLabels { status }).inc();
    }
}

fn labels(
    event_type: &'static str,
    kind: &'static str,
    namespace: &str,
    name: &str,
    operation: Operation,
) -> EventLabels {
    let (name, namespace) = (name.to_owned(), namespace.to_owned());
    EventLabels { event_type, kind, name, namespace, operation: operation.name() }
}
