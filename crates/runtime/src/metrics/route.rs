//! `weir_route_total`: how services reached each other. Where one way replaces another, this shows which one was taken.
//! `weir_stream_open`: the streams over which that is told without a question.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Something that travels from one service to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The files of a source, whole and verified.
    Artifact,
    /// The image that a policy selects.
    Resolution,
    /// An event that the notification service has taken.
    Event,
}

/// A way between two services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// A call or a stream of Weir's own API.
    Grpc,
    /// A request as Flux's controllers make it.
    Http,
    /// The watch of the Kubernetes API.
    Api,
}

impl Payload {
    fn name(self) -> &'static str {
        match self {
            Self::Artifact => "artifact",
            Self::Resolution => "resolution",
            Self::Event => "event",
        }
    }

    /// The ways that this can take.
    fn routes(self) -> [Route; 2] {
        match self {
            Self::Artifact | Self::Event => [Route::Grpc, Route::Http],
            Self::Resolution => [Route::Grpc, Route::Api],
        }
    }
}

impl Route {
    fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::Api => "api",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    payload: &'static str,
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StreamLabels {
    payload: &'static str,
}

fn labels(payload: Payload, route: Route) -> Labels {
    Labels { payload: payload.name(), route: route.name() }
}

/// The metrics of all payloads.
#[derive(Clone, Default)]
pub(super) struct RouteFamily {
    taken: Family<Labels, Counter>,
    open: Family<StreamLabels, Gauge>,
}

impl RouteFamily {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help =
            "Artifacts and resolutions that arrived, and events that were delivered, by the way they took";
        registry.register("weir_route", help, self.taken.clone());
        let help = "Streams from another service: 1 while it is open";
        registry.register("weir_stream_open", help, self.open.clone());
    }

    pub(super) fn of(&self, payload: Payload) -> RouteMetrics {
        for route in payload.routes() {
            // There from the start, so that the first is an increase and not the first point of a series.
            self.taken.get_or_create(&labels(payload, route)).inc_by(0);
        }
        RouteMetrics { family: self.clone(), payload }
    }
}

/// Metrics of the ways that one payload takes. Clones share them.
#[derive(Clone)]
pub struct RouteMetrics {
    family: RouteFamily,
    payload: Payload,
}

impl RouteMetrics {
    /// Counts one that came the whole way.
    pub fn took(&self, route: Route) {
        self.family.taken.get_or_create(&labels(self.payload, route)).inc();
    }

    /// Shows if the stream is there that this comes over.
    pub fn streams(&self, is_open: bool) {
        self.family.open.get_or_create(&StreamLabels { payload: self.payload.name() }).set(is_open.into());
    }
}
