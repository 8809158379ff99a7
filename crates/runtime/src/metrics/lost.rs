//! `weir_events_lost_total`: events that nobody will see.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// A destination of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Destination {
    /// The notification service.
    Notification,
    /// The Events of the Kubernetes API.
    Kubernetes,
}

impl Destination {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Notification => "notification",
            Self::Kubernetes => "kubernetes",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    destination: &'static str,
}

/// Counts the events that did not arrive. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LostEvents(Family<Labels, Counter>);

impl LostEvents {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Events that were dropped because too many waited, or that their destination did not take";
        registry.register("weir_events_lost", help, self.0.clone());
    }

    /// The counter of one destination.
    pub(crate) fn to(&self, destination: Destination) -> Lost {
        let counter = self.0.get_or_create(&Labels { destination: destination.name() }).clone();
        Lost { destination, counter }
    }
}

/// Counts what one destination does not get. Clones share it.
#[derive(Clone)]
pub(crate) struct Lost {
    destination: Destination,
    counter: Counter,
}

impl Lost {
    /// The name of the destination.
    pub(crate) fn destination(&self) -> &'static str {
        self.destination.name()
    }

    /// Counts one.
    pub(crate) fn count(&self) {
        self.counter.inc();
    }
}
