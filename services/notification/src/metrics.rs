//! Metrics of the two endpoints, with Flux's names, and of deliveries (NTF-120, NTF-121).

use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use weir_runtime::metrics::Metrics;

/// Prometheus' default buckets, in seconds.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Buckets of response sizes, in bytes.
const BYTES: [f64; 8] = [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    service: &'static str,
    handler: String,
    method: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandlerLabels {
    service: &'static str,
    handler: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    r#type: String,
    outcome: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of one endpoint.
#[derive(Clone)]
pub struct HttpMetrics {
    duration: Histograms<RequestLabels>,
    size: Histograms<RequestLabels>,
    in_flight: Family<HandlerLabels, Gauge>,
    handler: &'static str,
    export_paths: bool,
}

impl HttpMetrics {
    /// Registers `gotk_<endpoint>_http_…`. With `export_paths` the real path is the handler, else the given name: paths
    /// of webhooks are secrets and without bound.
    pub fn new(metrics: &Metrics, endpoint: &str, handler: &'static str, export_paths: bool) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let bytes: fn() -> Histogram = || Histogram::new(BYTES);
        let this = Self {
            duration: Family::new_with_constructor(seconds),
            size: Family::new_with_constructor(bytes),
            in_flight: Family::default(),
            handler,
            export_paths,
        };
        metrics.register(|registry| {
            let name = |what: &str| format!("gotk_{endpoint}_http_{what}");
            registry.register(
                name("request_duration_seconds"),
                "Duration of requests",
                this.duration.clone(),
            );
            registry.register(name("response_size_bytes"), "Size of responses", this.size.clone());
            registry.register(name("requests_inflight"), "Requests being handled", this.in_flight.clone());
        });
        this
    }

    fn handler(&self, path: &str) -> String {
        if self.export_paths { path.to_owned() } else { self.handler.to_owned() }
    }

    /// Counts a request while the guard lives.
    pub fn request_started(&self, path: &str) -> InFlight {
        let labels = HandlerLabels { service: "", handler: self.handler(path) };
        let gauge = self.in_flight.get_or_create(&labels).clone();
        gauge.inc();
        InFlight(gauge)
    }

    /// Observes an answer.
    pub fn request_ended(&self, path: &str, method: &Method, code: StatusCode, took: Duration, size: u64) {
        let labels = RequestLabels {
            service: "",
            handler: self.handler(path),
            method: known(method),
            code: code.as_u16(),
        };
        self.duration.get_or_create(&labels).observe(took.as_secs_f64());
        self.size.get_or_create(&labels).observe(size as f64);
    }
}

/// Methods that anyone may invent are one label.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// A request being handled.
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Metrics of deliveries; neither names nor addresses are labels.
#[derive(Clone)]
pub struct DeliveryMetrics {
    total: Family<DeliveryLabels, Counter>,
    duration: Histograms<DeliveryLabels>,
}

impl DeliveryMetrics {
    /// Registers `weir_notification_…`.
    pub fn new(metrics: &Metrics) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let this = Self { total: Family::default(), duration: Family::new_with_constructor(seconds) };
        metrics.register(|registry| {
            registry.register(
                "weir_notification_deliveries",
                "Deliveries by type and outcome",
                this.total.clone(),
            );
            let help = "Duration of deliveries with all their tries";
            registry.register("weir_notification_delivery_duration_seconds", help, this.duration.clone());
        });
        this
    }

    /// Counts a delivery that has ended.
    pub fn delivered(&self, kind: &str, is_good: bool, took: Duration) {
        let labels =
            DeliveryLabels { r#type: kind.to_owned(), outcome: if is_good { "success" } else { "failure" } };
        self.total.get_or_create(&labels).inc();
        self.duration.get_or_create(&labels).observe(took.as_secs_f64());
    }
}
