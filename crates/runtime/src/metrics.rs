//! Metrics with the names and labels of Flux's dashboards (cli.md §16), and the process's own figures.

mod lost;
mod object;
mod process;
mod queues;
mod route;
mod running;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use self::lost::{Destination, Lost, LostEvents};
pub use self::object::ObjectGauge;
use self::queues::Queues;
use self::route::RouteFamily;
pub use self::route::{Payload, Route, RouteMetrics};
use self::running::Running;
use crate::cache::ObjectKey;
use crate::controller::Next;
use crate::queue::Queue;

/// Buckets of the reconcile duration, in seconds: ten, exponential from 10 ms to 30 min (KS-MET-1).
const RECONCILE_BUCKETS: [f64; 10] =
    [0.01, 0.038364, 0.147176, 0.564622, 2.166091, 8.309901, 31.879757, 122.302172, 469.194959, 1800.0];

/// Buckets of the duration of a controller's reconciles, in seconds, as controller-runtime has them.
const TIME_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// Buckets of queue and work durations, in seconds, as controller-runtime has them.
const QUEUE_BUCKETS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];

const SUCCESS: &str = "success";
const ERROR: &str = "error";
const REQUEUE: &str = "requeue";
const REQUEUE_AFTER: &str = "requeue_after";
/// Results of a run, under controller-runtime's names.
const RESULTS: [&str; 4] = [SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    kind: &'static str,
    name: String,
    namespace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    controller: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: u16,
    method: String,
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The labels of a queue: as in controller-runtime, it has its controller's name.
fn queue_labels(name: &str) -> [(&'static str, &str); 2] {
    [("controller", name), ("name", name)]
}

/// All metrics of a process.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    families: Arc<Families>,
}

struct Families {
    duration: Histograms<ObjectLabels>,
    total: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabels, Counter>,
    panics: Family<ControllerLabels, Counter>,
    time: Histograms<ControllerLabels>,
    active: Family<ControllerLabels, Gauge>,
    workers: Family<ControllerLabels, Gauge>,
    queues: Queues,
    waited: Histograms<QueueLabels>,
    worked: Histograms<QueueLabels>,
    running: Running,
    retries: Family<QueueLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    absent: Family<KindLabels, Gauge>,
    routes: RouteFamily,
    lost: LostEvents,
}

impl Default for Metrics {
    fn default() -> Self {
        let reconcile: fn() -> Histogram = || Histogram::new(RECONCILE_BUCKETS);
        let time: fn() -> Histogram = || Histogram::new(TIME_BUCKETS);
        let queue: fn() -> Histogram = || Histogram::new(QUEUE_BUCKETS);
        let families = Families {
            duration: Family::new_with_constructor(reconcile),
            total: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            time: Family::new_with_constructor(time),
            active: Family::default(),
            workers: Family::default(),
            queues: Queues::default(),
            waited: Family::new_with_constructor(queue),
            worked: Family::new_with_constructor(queue),
            running: Running::default(),
            retries: Family::default(),
            requests: Family::default(),
            absent: Family::default(),
            routes: RouteFamily::default(),
            lost: LostEvents::default(),
        };
        let mut registry = Registry::default();
        families.register(&mut registry);
        registry.register_collector(Box::new(process::ProcessCollector::default()));
        Self { registry: Arc::new(Mutex::new(registry)), families: Arc::new(families) }
    }
}

impl Families {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "gotk_reconcile_duration_seconds",
            "Duration of a reconcile",
            self.duration.clone(),
        );
        registry.register("controller_runtime_reconcile", "Reconciles by result", self.total.clone());
        registry.register("controller_runtime_reconcile_errors", "Failed reconciles", self.errors.clone());
        registry.register(
            "controller_runtime_reconcile_panics",
            "Reconciles that panicked",
            self.panics.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "Duration of reconciles",
            self.time.clone(),
        );
        registry.register("controller_runtime_active_workers", "Reconciles running now", self.active.clone());
        registry.register(
            "controller_runtime_max_concurrent_reconciles",
            "Reconciles that may run at once",
            self.workers.clone(),
        );
        registry.register_collector(Box::new(self.queues.clone()));
        registry.register("workqueue_queue_duration_seconds", "Time in the queue", self.waited.clone());
        registry.register("workqueue_work_duration_seconds", "Time of a run", self.worked.clone());
        registry.register_collector(Box::new(self.running.clone()));
        registry.register("workqueue_retries", "Retries after failures", self.retries.clone());
        registry.register("rest_client_requests", "Requests to the Kubernetes API", self.requests.clone());
        registry.register(
            "weir_kind_absent",
            "1 while a kind is left out: its CRD is missing, or the account may not list it",
            self.absent.clone(),
        );
        self.routes.register(registry);
        self.lost.register(registry);
    }
}

impl Metrics {
    /// Adds metrics of one service; called once at start-up.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock());
    }

    /// The handle of one controller, such as `kustomization`, with its number of workers.
    pub fn controller(&self, name: &str, workers: usize) -> ControllerMetrics {
        let metrics = ControllerMetrics { families: self.families.clone(), controller: name.to_owned() };
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        self.families.workers.get_or_create(&metrics.labels()).set(workers);
        // There from the start, so that the first failure is an increase and not the first point of a series.
        for result in RESULTS {
            self.families.total.get_or_create(&metrics.result(result)).inc_by(0);
        }
        self.families.errors.get_or_create(&metrics.labels()).inc_by(0);
        self.families.panics.get_or_create(&metrics.labels()).inc_by(0);
        self.families.running.add(name);
        metrics
    }

    /// The handle of a Kubernetes client.
    pub fn requests(&self) -> RequestMetrics {
        RequestMetrics { requests: self.families.requests.clone() }
    }

    /// The handle of the watches of a kind.
    pub(crate) fn kind(&self, kind: &str) -> KindMetrics {
        KindMetrics { absent: self.families.absent.clone(), kind: kind.to_owned() }
    }

    /// The handle of what counts the ways of a payload.
    pub fn routes(&self, payload: Payload) -> RouteMetrics {
        self.families.routes.of(payload)
    }

    /// The handle of what counts the events that a destination does not get.
    pub(crate) fn lost_events(&self, destination: Destination) -> Lost {
        self.families.lost.to(destination)
    }

    /// The OpenMetrics text of everything.
    ///
    /// # Errors
    /// Only when a value cannot be written as text.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry.lock())?;
        Ok(text)
    }
}

/// The metrics of a Kubernetes client.
#[derive(Clone)]
pub struct RequestMetrics {
    requests: Family<RequestLabels, Counter>,
}

impl RequestMetrics {
    pub(crate) fn sent(&self, method: &http::Method, code: http::StatusCode, host: &str) {
        let labels = RequestLabels { code: code.as_u16(), method: method.to_string(), host: host.to_owned() };
        self.requests.get_or_create(&labels).inc();
    }
}

/// The metric of the watches of a kind.
#[derive(Clone)]
pub(crate) struct KindMetrics {
    absent: Family<KindLabels, Gauge>,
    kind: String,
}

impl KindMetrics {
    pub(crate) fn is_absent(&self, absent: bool) {
        self.absent.get_or_create(&KindLabels { kind: self.kind.clone() }).set(absent.into());
    }
}

/// The metrics of one kind's reconcile loop.
#[derive(Clone)]
pub struct ControllerMetrics {
    families: Arc<Families>,
    controller: String,
}

impl ControllerMetrics {
    fn labels(&self) -> ControllerLabels {
        ControllerLabels { controller: self.controller.clone() }
    }

    fn result(&self, result: &'static str) -> ResultLabels {
        ResultLabels { controller: self.controller.clone(), result }
    }

    fn queue(&self) -> QueueLabels {
        QueueLabels { controller: self.controller.clone(), name: self.controller.clone() }
    }

    /// Shows the figures of the controller's queue from now on.
    pub(crate) fn show(&self, queue: Queue) {
        self.families.queues.add(&self.controller, queue);
    }

    /// A run begins; returns what [`Self::run_ended`] is to be given.
    pub(crate) fn run_started(&self, waited: Duration) -> Instant {
        self.families.waited.get_or_create(&self.queue()).observe(waited.as_secs_f64());
        self.families.active.get_or_create(&self.labels()).inc();
        let started = Instant::now();
        self.families.running.started(&self.controller, started);
        started
    }

    pub(crate) fn run_ended(&self, started: Instant) {
        self.families.active.get_or_create(&self.labels()).dec();
        self.families.running.ended(&self.controller, started);
        self.families.worked.get_or_create(&self.queue()).observe(started.elapsed().as_secs_f64());
    }

    pub(crate) fn panicked(&self) {
        self.families.panics.get_or_create(&self.labels()).inc();
    }

    pub(crate) fn reconciled(&self, kind: &'static str, key: &ObjectKey, took: Duration, next: Next) {
        let labels = ObjectLabels { kind, name: key.name.clone(), namespace: key.namespace.clone() };
        self.families.duration.get_or_create(&labels).observe(took.as_secs_f64());
        self.families.time.get_or_create(&self.labels()).observe(took.as_secs_f64());
        let result = match next {
            Next::Stop => SUCCESS,
            Next::Interval(_) | Next::Unchanged(_) | Next::After(_) | Next::Wait { .. } => REQUEUE_AFTER,
            Next::Superseded => REQUEUE,
            Next::Backoff | Next::BackoffFrom(_) => ERROR,
        };
        self.families.total.get_or_create(&self.result(result)).inc();
        if result == ERROR {
            self.families.errors.get_or_create(&self.labels()).inc();
            self.families.retries.get_or_create(&self.queue()).inc();
        }
    }

    pub(crate) fn forget(&self, kind: &'static str, key: &ObjectKey) {
        let labels = ObjectLabels { kind, name: key.name.clone(), namespace: key.namespace.clone() };
        self.families.duration.remove(&labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Cause;

    #[test]
    fn names_and_labels_are_those_of_the_dashboards() {
        let metrics = Metrics::default();
        let controller = metrics.controller("kustomization", 4);
        let key = ObjectKey::new("apps", "web");
        controller.reconciled("Kustomization", &key, Duration::from_millis(20), Next::Backoff);
        controller.run_ended(controller.run_started(Duration::ZERO));
        let text = metrics.encode().unwrap();
        for line in [
            r#"gotk_reconcile_duration_seconds_bucket{le="0.038364",kind="Kustomization",name="web",namespace="apps"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="kustomization"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_bucket{le="60.0",controller="kustomization"} 1"#,
            r#"workqueue_queue_duration_seconds_bucket{le="1e-8",controller="kustomization",name="kustomization"} 1"#,
            r#"workqueue_work_duration_seconds_bucket{le="1000.0",controller="kustomization",name="kustomization"} 1"#,
            r#"controller_runtime_reconcile_total{controller="kustomization",result="error"} 1"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="kustomization"} 4"#,
            r#"controller_runtime_reconcile_total{controller="kustomization",result="success"} 0"#,
            r#"controller_runtime_reconcile_errors_total{controller="kustomization"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="kustomization"} 0"#,
            r#"workqueue_longest_running_processor_seconds{controller="kustomization",name="kustomization"} 0.0"#,
            r#"workqueue_unfinished_work_seconds{controller="kustomization",name="kustomization"} 0.0"#,
            r#"workqueue_work_duration_seconds_count{controller="kustomization",name="kustomization"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert!(text.contains("process_resident_memory_bytes"));
        // Panels of Flux's dashboard that no metric of a process without Go would fill.
        assert!(
            text.contains("\ngo_info{version=\"none\"} 1\n") && text.contains("\ngo_memstats_alloc_bytes "),
            "{text}"
        );
    }

    /// KS-MET-3: a service whose workers are all busy shows how many objects wait for them.
    #[tokio::test]
    async fn queues_are_read_when_they_are_asked_for() {
        let (metrics, queue) = (Metrics::default(), Queue::default());
        metrics.controller("kustomization", 4).show(queue.clone());
        let shows = |depth: u32, adds: u32| {
            let text = metrics.encode().unwrap();
            for line in [
                format!("workqueue_depth{{controller=\"kustomization\",name=\"kustomization\"}} {depth}\n"),
                format!(
                    "workqueue_adds_total{{controller=\"kustomization\",name=\"kustomization\"}} {adds}\n"
                ),
            ] {
                assert!(text.contains(&line), "{line} is missing in\n{text}");
            }
        };
        shows(0, 0);
        for name in ["a", "b", "b"] {
            queue.enqueue(ObjectKey::new("apps", name), Cause::Spec);
        }
        shows(2, 2);
        let ticket = queue.next().await;
        shows(1, 2);
        queue.enqueue(ticket.key.clone(), Cause::Health);
        queue.done(&ticket.key, None);
        shows(2, 3);
    }

    #[test]
    fn ways_are_counted_by_payload() {
        let metrics = Metrics::default();
        metrics.routes(Payload::Artifact).took(Route::Http);
        let text = metrics.encode().unwrap();
        assert!(text.contains(r#"weir_route_total{payload="artifact",route="http"} 1"#), "{text}");
        assert!(text.contains(r#"weir_route_total{payload="artifact",route="grpc"} 0"#), "{text}");
    }

    #[test]
    fn the_series_of_a_deleted_object_goes() {
        let metrics = Metrics::default();
        let controller = metrics.controller("kustomization", 4);
        let key = ObjectKey::new("apps", "web");
        controller.reconciled("Kustomization", &key, Duration::from_millis(20), Next::Stop);
        controller.forget("Kustomization", &key);
        assert!(!metrics.encode().unwrap().contains(r#"name="web""#));
    }
}
