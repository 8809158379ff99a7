//! Entries read from stored indexes, kept for the next chart (SRC-HRP-9).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use weir_helm::index::Release;
use weir_runtime::{ObjectKey, Service};

/// The versions of a chart.
pub(super) type Releases = Arc<Vec<Release>>;

/// Charts of an index that were looked up.
type Charts = Arc<Mutex<HashMap<String, Releases>>>;

/// The indexes kept in memory, of each only the charts that were looked up: all of a large one would be ten times its
/// size. Their key is the path in the store, which names owner and content, so that nobody gets another tenant's
/// (SRC-SCK-12).
#[derive(Clone)]
pub(super) struct IndexCache {
    indexes: Option<Cache<String, Charts>>,
    events: Family<EventLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event_type: &'static str,
    name: String,
    namespace: String,
}

impl IndexCache {
    /// Keeps at most `capacity` indexes, each until it was not used for `life`; none is kept for 0.
    pub(super) fn new(capacity: usize, life: Duration) -> Self {
        let cache = || Cache::builder().max_capacity(capacity as u64).time_to_idle(life).build();
        Self { indexes: (capacity > 0).then(cache), events: Family::default() }
    }

    /// Adds the metric of the cache (SRC-MET-1).
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Looks into the cache of Helm indexes";
        registry.register("gotk_cache_events", help, self.events.clone());
    }

    /// Frees the memory of indexes that are over, every `interval`; without it that is done when the cache is used.
    pub(super) fn purge(&self, service: &Service, interval: Duration) {
        let Some(indexes) = self.indexes.clone().filter(|_| !interval.is_zero()) else { return };
        service.spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            loop {
                ticks.tick().await;
                indexes.run_pending_tasks();
            }
        });
    }

    /// The versions of a chart in the index at `path`. The metric counts this for `owner`: the repository of the index, or
    /// the chart that has a dependency in it.
    pub(super) fn get(&self, owner: &ObjectKey, path: &str, chart: &str) -> Option<Releases> {
        let found = self.indexes.as_ref()?.get(path).and_then(|charts| charts.lock().get(chart).cloned());
        let event_type = if found.is_some() { "cache_hit" } else { "cache_miss" };
        let labels = EventLabels { event_type, name: owner.name.clone(), namespace: owner.namespace.clone() };
        self.events.get_or_create(&labels).inc();
        found
    }

    pub(super) fn put(&self, path: &str, chart: &str, releases: &Releases) {
        if let Some(indexes) = &self.indexes {
            let charts = indexes.get_with(path.to_owned(), Charts::default);
            charts.lock().insert(chart.to_owned(), releases.clone());
        }
    }

    /// A chart or repository is gone, and its series go with it (SRC-MET-2).
    pub(super) fn forget(&self, owner: &ObjectKey) {
        for event_type in ["cache_hit", "cache_miss"] {
            let (name, namespace) = (owner.name.clone(), owner.namespace.clone());
            self.events.remove(&EventLabels { event_type, name, namespace });
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn releases(version: &str) -> Releases {
        Arc::new(vec![Release { version: version.to_owned(), ..Release::default() }])
    }

    /// SRC-SCK-12: the same chart of another tenant's repository, or of an older index, is not found.
    #[test]
    fn an_index_is_found_by_its_own_path_only() {
        let cache = IndexCache::new(10, Duration::from_secs(60));
        let owner = ObjectKey::new("tenant", "app");
        cache.put("helmrepository/tenant/repo/index-a.yaml", "app", &releases("1.0.0"));
        let found = |path: &str, chart: &str| cache.get(&owner, path, chart);
        assert_eq!(found("helmrepository/tenant/repo/index-a.yaml", "app"), Some(releases("1.0.0")));
        assert_eq!(found("helmrepository/tenant/repo/index-a.yaml", "other"), None);
        assert_eq!(found("helmrepository/tenant/repo/index-b.yaml", "app"), None);
        assert_eq!(found("helmrepository/other/repo/index-a.yaml", "app"), None);
        let mut registry = Registry::default();
        cache.register(&mut registry);
        let shown = || {
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text
        };
        let series = |event: &str, count: u32| {
            format!(
                "gotk_cache_events_total{{event_type=\"{event}\",name=\"app\",namespace=\"tenant\"}} {count}"
            )
        };
        assert!(
            shown().contains(&series("cache_hit", 1)) && shown().contains(&series("cache_miss", 3)),
            "{}",
            shown()
        );
        cache.forget(&owner);
        assert!(!shown().contains("tenant"));
    }

    #[test]
    fn whole_indexes_count_and_old_ones_go() {
        let cache = IndexCache::new(2, Duration::from_secs(60));
        for (path, chart) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1")] {
            cache.put(path, chart, &releases("1.0.0"));
        }
        let indexes = cache.indexes.as_ref().unwrap();
        indexes.run_pending_tasks();
        assert_eq!(indexes.entry_count(), 2);
        for path in ["c", "d", "e"] {
            cache.put(path, "1", &releases("1.0.0"));
        }
        indexes.run_pending_tasks();
        assert_eq!(indexes.entry_count(), 2, "as many as allowed");
        let none = IndexCache::new(0, Duration::from_secs(60));
        none.put("a", "1", &releases("1.0.0"));
        assert_eq!(none.get(&ObjectKey::new("n", "a"), "a", "1"), None);
    }
}
