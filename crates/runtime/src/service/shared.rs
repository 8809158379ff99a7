//! Several services in one process (`weir run`): one gRPC server, one set of probes and metrics, shared watches.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_auth::Logins;

use super::error::stopped_is_ok;
use super::{RuntimeArgs, STOP_DEADLINE, ServiceError, serve_grpc, serve_http};
use crate::environment::Environment;
use crate::grpc::{Authorizer, GrpcServer, StatusRegistry};
use crate::issuer;
use crate::probe::{self, Readiness};

/// Servers, and logins, that the services of one process share.
#[derive(Clone)]
pub struct SharedServers {
    grpc: Arc<Mutex<GrpcServer>>,
    status: StatusRegistry,
    logins: Arc<Mutex<Option<Logins>>>,
    registered: Arc<Barrier>,
}

impl SharedServers {
    fn new(services: usize) -> Self {
        Self {
            grpc: Arc::default(),
            status: StatusRegistry::default(),
            logins: Arc::default(),
            registered: Arc::new(Barrier::new(services + 1)),
        }
    }

    pub(super) fn status(&self) -> StatusRegistry {
        self.status.clone()
    }

    /// The logins of the process, once a service has made them.
    pub(super) fn logins(&self) -> &Mutex<Option<Logins>> {
        &self.logins
    }

    pub(super) fn grpc(&self, add: impl FnOnce(&mut GrpcServer)) {
        add(&mut self.grpc.lock());
    }

    /// A service has added all it serves; returns when every other one has as well.
    pub(super) async fn registered(&self) {
        self.registered.wait().await;
    }
}

/// A service, given its surroundings.
pub type Entry = Box<dyn FnOnce(Environment) -> BoxFuture<'static, Result<(), ServiceError>> + Send>;

/// Runs services together until the process is stopped, or one of them fails, which stops the others.
///
/// # Errors
/// The error of the service that failed first.
pub async fn run_together(
    args: &RuntimeArgs,
    mut env: Environment,
    services: Vec<Entry>,
) -> Result<(), ServiceError> {
    args.validate()?;
    args.tell_of_no_effect();
    let shared = SharedServers::new(services.len());
    env.shared = Some(shared.clone());
    let stop = env.shutdown.clone();
    // Outlives the services, so that their last calls to each other still arrive.
    let stop_serving = CancellationToken::new();
    let tasks = TaskTracker::new();
    if let Some(task) = issuer::task(args, &env) {
        tasks.spawn(task);
    }
    let readiness = Readiness::default();
    let probes = probe::probes(readiness.clone()).merge(probe::metrics(env.metrics.clone()));
    for addr in [&args.metrics_addr, &args.health_addr] {
        serve_http(addr, probes.clone(), &tasks, stop.clone())?;
    }
    let serve = async {
        if stop.run_until_cancelled(shared.registered()).await.is_none() {
            return Ok(());
        }
        let mut grpc = std::mem::take(&mut *shared.grpc.lock());
        let authorizer = Authorizer::new(env.client.clone(), env.peers.clone());
        grpc.add(shared.status().into_service(authorizer, stop.clone()));
        let served = serve_grpc(grpc, args, &tasks, stop_serving.clone()).await;
        match &served {
            Ok(()) => readiness.declare(),
            // The services would go on without anybody who can ask them.
            Err(_) => stop.cancel(),
        }
        served
    };
    let running = services.into_iter().map(|start| {
        let (stop, running) = (stop.clone(), start(env.clone()));
        async move {
            let outcome = stopped_is_ok(running.await);
            stop.cancel();
            outcome
        }
    });
    // In the order in which they end, so that the reported error is the one that stopped the others.
    let running: FuturesUnordered<_> = running.collect();
    let (served, outcomes) = tokio::join!(serve, running.collect::<Vec<_>>());
    stop_serving.cancel();
    tasks.close();
    let _ = tokio::time::timeout(STOP_DEADLINE, tasks.wait()).await;
    served.and(outcomes.into_iter().collect())
}
