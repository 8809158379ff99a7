//! A number for each object of a kind.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::Metrics;
use crate::cache::ObjectKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabels {
    name: String,
    namespace: String,
}

impl From<&ObjectKey> for NameLabels {
    fn from(key: &ObjectKey) -> Self {
        Self { name: key.name.clone(), namespace: key.namespace.clone() }
    }
}

/// A number that each object of one kind has, such as the tags of a repository. Clones share it.
#[derive(Clone)]
pub struct ObjectGauge(Family<NameLabels, Gauge>);

impl ObjectGauge {
    /// Registers a metric of one service; called once at start-up.
    pub fn new(metrics: &Metrics, name: &str, help: &str) -> Self {
        let this = Self(Family::default());
        metrics.register(|registry| registry.register(name, help, this.0.clone()));
        this
    }

    /// Sets the number of an object.
    pub fn set(&self, key: &ObjectKey, number: usize) {
        self.0.get_or_create(&key.into()).set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// The object is gone: its series goes too (DEP-OBS-2).
    pub fn forget(&self, key: &ObjectKey) {
        self.0.remove(&key.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_a_number_while_it_is_there() {
        let (metrics, key) = (Metrics::default(), ObjectKey::new("apps", "web"));
        let tags = ObjectGauge::new(&metrics, "tags", "Tags");
        tags.set(&key, 3);
        tags.set(&key, 5);
        let text = metrics.encode().unwrap();
        assert!(text.contains("\ntags{name=\"web\",namespace=\"apps\"} 5\n"), "{text}");
        tags.forget(&key);
        assert!(!metrics.encode().unwrap().contains("tags{"));
    }
}
