//! The frame of a service: starts what all services have, runs its controllers while it leads, and stops in order.

mod error;
mod listen;
mod logins;
mod main;
mod shared;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::error::ServiceError;
pub use self::listen::bind;
use self::listen::{listen, serve_grpc, serve_http};
pub use self::main::{
    Program, cancel_at_signal, forbid_core_dumps, install_crypto, service_main, single_threaded_runtime,
    tokio_runtime,
};
pub use self::shared::{Entry, SharedServers, run_together};
use crate::args::{EventsArgs, RuntimeArgs};
use crate::cache::{Cache, Cached, Scope};
use crate::controller::{Controller, Reconciler, ReportSettings, RetryDelays};
use crate::environment::Environment;
use crate::event::{EventSink, Outbox, Peer};
use crate::gate::Gates;
use crate::grpc::{Authorizer, GrpcServer, Peers, StatusRegistry};
use crate::issuer;
use crate::leader::Election;
use crate::metrics::Metrics;
use crate::probe::{self, Readiness};
use crate::queue::Queue;

/// Time that servers and deliveries have to end at a stop.
const STOP_DEADLINE: Duration = Duration::from_secs(15);

type Start = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>;

/// A service that is being put together; [`Service::run_until_shutdown`] sets it going.
pub struct Service {
    name: &'static str,
    args: RuntimeArgs,
    env: Environment,
    gates: Gates,
    events: EventSink,
    outbox: Outbox,
    tasks: TaskTracker,
    controllers: Mutex<Vec<Start>>,
    grpc: Mutex<GrpcServer>,
    status: StatusRegistry,
    authorizer: Authorizer,
    leader: watch::Sender<bool>,
    readiness: Readiness,
    /// The first error of a task without which the service is none.
    failure: Arc<Mutex<Option<ServiceError>>>,
}

impl Service {
    /// Checks the flags, opens metrics and probes. `gates` is the service's table of feature gates with their defaults.
    ///
    /// # Errors
    /// When flags are wrong, or an address cannot be bound.
    pub async fn start(
        name: &'static str,
        args: &RuntimeArgs,
        events: Option<&EventsArgs>,
        env: Environment,
        gates: &[(&'static str, bool)],
    ) -> Result<Self, ServiceError> {
        args.validate()?;
        let gates = Gates::parse(gates, &args.feature_gates.join(","))?;
        let peer = events.map(|events| peer_of(events, &env.peers)).transpose()?.flatten();
        let (events, outbox) = EventSink::new(env.client.clone(), name, peer, &env.metrics)?;
        let authorizer = Authorizer::new(env.client.clone(), env.peers.clone());
        let service = Self {
            name,
            args: args.clone(),
            gates,
            events,
            outbox,
            tasks: TaskTracker::new(),
            controllers: Mutex::default(),
            grpc: Mutex::default(),
            status: env.shared.as_ref().map(SharedServers::status).unwrap_or_default(),
            authorizer,
            leader: watch::Sender::new(false),
            readiness: Readiness::default(),
            failure: Arc::default(),
            env,
        };
        if service.env.shared.is_none() {
            args.tell_of_no_effect();
            service.serve_probes()?;
            if let Some(task) = issuer::task(args, &service.env) {
                service.tasks.spawn(task);
            }
        }
        tracing::info!(
            logger = "setup",
            service = name,
            version = env!("CARGO_PKG_VERSION"),
            "starting manager"
        );
        Ok(service)
    }

    /// All objects of a kind in the namespaces that this service watches.
    ///
    /// # Errors
    /// When the first list fails for good.
    pub async fn cache<K>(&self) -> Result<Cache<K>, ServiceError>
    where
        K: Cached + kube::Resource<Scope = NamespaceResourceScope>,
    {
        self.cache_labelled("").await
    }

    /// The objects of a kind that belong to this shard (`--watch-label-selector`).
    ///
    /// # Errors
    /// As [`Service::cache`].
    pub async fn cache_sharded<K>(&self) -> Result<Cache<K>, ServiceError>
    where
        K: Cached + kube::Resource<Scope = NamespaceResourceScope>,
    {
        self.cache_labelled(&self.args.watch_label_selector).await
    }

    /// The objects of a kind that a label selector selects.
    ///
    /// # Errors
    /// As [`Service::cache`].
    async fn cache_labelled<K>(&self, labels: &str) -> Result<Cache<K>, ServiceError>
    where
        K: Cached + kube::Resource<Scope = NamespaceResourceScope>,
    {
        Ok(self.env.caches.get(&self.env.client, self.scope(labels), &self.env.shutdown).await?)
    }

    /// The metadata of the objects of a kind that a label selector selects; their content is never sent.
    ///
    /// # Errors
    /// As [`Service::cache`].
    pub async fn cache_metadata<K>(&self, labels: &str) -> Result<Cache<PartialObjectMeta<K>>, ServiceError>
    where
        K: Cached + Default + kube::Resource<Scope = NamespaceResourceScope>,
    {
        Ok(self.env.caches.get_metadata(&self.env.client, self.scope(labels), &self.env.shutdown).await?)
    }

    fn scope(&self, labels: &str) -> Scope {
        let namespace = (!self.args.watch_all_namespaces).then(|| self.env.runtime_namespace.clone());
        Scope { namespace, labels: labels.to_owned() }
    }

    /// Adds the loop of one kind; it runs while this replica leads. `name` is the kind in lower case.
    pub fn controller<R: Reconciler>(
        &self,
        name: &str,
        objects: Cache<R::Object>,
        reconciler: R,
        concurrent: usize,
    ) -> Queue {
        let settings = ReportSettings {
            client: self.env.client.clone(),
            field_manager: R::FIELD_MANAGER.unwrap_or(self.name).to_owned(),
            events: self.events.clone(),
            metrics: self.env.metrics.controller(name, concurrent),
            retry_delays: RetryDelays {
                min: self.args.min_retry_delay.to_std(),
                max: self.args.max_retry_delay.to_std(),
                jitter_percent: self.args.interval_jitter_percentage,
            },
            clock: self.env.clock,
        };
        self.status.add(objects.clone());
        let (controller, queue) = Controller::new(reconciler, objects, concurrent, settings);
        self.controllers.lock().push(Box::new(move |stop| Box::pin(controller.run(stop))));
        queue
    }

    /// Shows a kind that has no controller in the status API.
    pub fn show<K>(&self, objects: Cache<K>)
    where
        K: weir_api::FluxObject + kube::Resource<DynamicType = ()>,
    {
        self.status.add(objects);
    }

    /// Adds services to the gRPC server.
    pub fn grpc(&self, add: impl FnOnce(&mut GrpcServer)) {
        match &self.env.shared {
            Some(shared) => shared.grpc(add),
            None => add(&mut self.grpc.lock()),
        }
    }

    /// Runs a task until it ends or the service stops.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.env.shutdown.clone().run_until_cancelled_owned(task));
    }

    /// Runs a task that watches for the stop itself, because it has something to finish.
    pub fn spawn_graceful(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs a task without which the service is none: its error stops the service, and is the service's.
    pub fn spawn_essential(&self, task: impl Future<Output = Result<(), ServiceError>> + Send + 'static) {
        let (failure, shutdown) = (Arc::clone(&self.failure), self.env.shutdown.clone());
        self.tasks.spawn(async move {
            if let Err(error) = task.await {
                failure.lock().get_or_insert(error);
                shutdown.cancel();
            }
        });
    }

    /// The tasks that the service waits for at its end, for those that come while it runs.
    pub fn tasks(&self) -> TaskTracker {
        self.tasks.clone()
    }

    /// Opens a listener; `None` when the address switches it off.
    ///
    /// # Errors
    /// When the address is none, or cannot be bound.
    pub fn listen(&self, what: &'static str, addr: &str) -> Result<Option<TcpListener>, ServiceError> {
        listen(what, addr)
    }

    /// Name of the controller, such as `source-controller`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The client of the service's own account.
    pub fn client(&self) -> &kube::Client {
        &self.env.client
    }

    /// The surroundings.
    pub fn env(&self) -> &Environment {
        &self.env
    }

    /// The sink of events.
    pub fn events(&self) -> EventSink {
        self.events.clone()
    }

    /// Metrics of the process.
    pub fn metrics(&self) -> &Metrics {
        &self.env.metrics
    }

    /// Feature gates in force.
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Cancelled when the service is to stop.
    pub fn shutdown(&self) -> CancellationToken {
        self.env.shutdown.clone()
    }

    /// Checks callers of gRPC methods.
    pub fn authorizer(&self) -> Authorizer {
        self.authorizer.clone()
    }

    /// Becomes true when this replica leads.
    pub fn leader(&self) -> watch::Receiver<bool> {
        self.leader.subscribe()
    }

    /// Serves, waits for the Lease if asked to, runs the controllers, and at the stop ends runs first, then deliveries and
    /// servers. Boxed, so that it is compiled here, and not once more with each service (docs/adr/0021).
    ///
    /// # Errors
    /// When a server or the Lease fails.
    pub fn run_until_shutdown(self) -> BoxFuture<'static, Result<(), ServiceError>> {
        Box::pin(self.run())
    }

    async fn run(self) -> Result<(), ServiceError> {
        let tell_stop = CancellationToken::new();
        self.tasks.spawn(self.outbox.run(tell_stop.clone()));
        match &self.env.shared {
            Some(shared) => {
                // A service that fails to start stops the others, which then wait for it no longer.
                let _ = self.env.shutdown.run_until_cancelled(shared.registered()).await;
            }
            None => {
                let mut grpc = std::mem::take(&mut *self.grpc.lock());
                grpc.add(
                    self.status.clone().into_service(self.authorizer.clone(), self.env.shutdown.clone()),
                );
                serve_grpc(grpc, &self.args, &self.tasks, tell_stop.clone()).await?;
                self.readiness.declare();
            }
        }
        let controllers = std::mem::take(&mut *self.controllers.lock());
        let election = self
            .args
            .enable_leader_election
            .then(|| Election::new(self.name, &self.env.runtime_namespace, &self.args));
        let outcome = lead(election, controllers, &self.leader, &self.env).await;
        tell_stop.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(STOP_DEADLINE, self.tasks.wait()).await;
        outcome.and(self.failure.lock().take().map_or(Ok(()), Err))
    }

    fn serve_probes(&self) -> Result<(), ServiceError> {
        let stop = self.env.shutdown.clone();
        let routers = [
            (&self.args.metrics_addr, probe::metrics(self.env.metrics.clone())),
            (&self.args.health_addr, probe::probes(self.readiness.clone())),
        ];
        for (addr, router) in routers {
            serve_http(addr, router, &self.tasks, stop.clone())?;
        }
        Ok(())
    }
}

/// Runs the controllers under the Lease, or without one.
async fn lead(
    election: Option<Election>,
    controllers: Vec<Start>,
    leader: &watch::Sender<bool>,
    env: &Environment,
) -> Result<(), ServiceError> {
    let stop = env.shutdown.clone();
    if let Some(election) = &election
        && !election.acquire(&env.client, &stop).await
    {
        return Ok(());
    }
    leader.send_replace(true);
    let stop_controllers = stop.child_token();
    let running =
        futures::future::join_all(controllers.into_iter().map(|start| start(stop_controllers.clone())));
    let working = async {
        running.await;
        // The stop is the end of a service without controllers, too.
        stop_controllers.cancelled().await;
    };
    let Some(election) = election else {
        working.await;
        return Ok(());
    };
    // Another replica leads now, or soon: consumers are not to be sent here any more, and nothing goes on but runs that end.
    let resign = || {
        leader.send_replace(false);
        stop.cancel();
    };
    if election.hold(&env.client, working, resign).await {
        return Ok(());
    }
    Err(ServiceError::LeaseLost(election.lease))
}

/// Returns the ways to the notification service that the flags name.
fn peer_of(args: &EventsArgs, peers: &Peers) -> Result<Option<Peer>, ServiceError> {
    let EventsArgs { events_addr, events_grpc_addr } = args;
    let mut peer = Peer { grpc: None, http: None };
    if !events_grpc_addr.is_empty() {
        peer.grpc = Some(peers.connect(events_grpc_addr)?);
    }
    if !events_addr.is_empty() {
        let url =
            reqwest::Url::parse(events_addr).map_err(|_| ServiceError::EventsAddr(events_addr.clone()))?;
        peer.http = Some(url);
    }
    Ok((peer.grpc.is_some() || peer.http.is_some()).then_some(peer))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{controller, leader};

    /// Seconds after the signal at which kubelet kills the Pods, one for each `deployment.yaml` in a folder.
    fn grace_periods(folder: &Path, found: &mut Vec<u64>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                grace_periods(&entry.path(), found);
            } else if entry.file_name() == "deployment.yaml" {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let field = "terminationGracePeriodSeconds: ";
                let value = text.lines().find_map(|line| line.trim().strip_prefix(field));
                found.push(value.unwrap().parse().unwrap());
            }
        }
    }

    /// Runs, the Lease, what the service has to finish, and what the process has, where services share one.
    #[test]
    fn a_stop_ends_within_the_grace_period() {
        let longest = controller::STOP_DEADLINE + leader::RELEASE_DEADLINE + 2 * STOP_DEADLINE;
        let mut found = Vec::new();
        let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kustomize");
        grace_periods(&manifests, &mut found);
        assert_eq!(found.len(), 6, "five services, and the one that is all of them");
        assert!(found.iter().all(|grace| longest.as_secs() < *grace), "{longest:?}: {found:?}");
    }
}
