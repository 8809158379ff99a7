//! Wiring: caches, pipeline, endpoints, reconcilers.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use tokio::task::JoinHandle;
use weir_access::Secrets;
use weir_api::{Alert, FluxObject, Provider, Receiver};
use weir_auth::Logins;
use weir_proto::notification::v1::events_server::EventsServer;
use weir_runtime::gate::WORKLOAD_IDENTITY;
use weir_runtime::grpc::MAX_MESSAGE_BYTES;
use weir_runtime::{Cache, Cause, Environment, ObjectKey, Program, Queue, Service, ServiceError};

use crate::alert::legacy::{AlertReconciler, ProviderReconciler};
use crate::args::{Args, CONCURRENT, DISABLE_CONFIG_WATCHERS, GATES};
use crate::delivery::{Retry, Sender};
use crate::dispatch::guard::Policy;
use crate::dispatch::{Dispatcher, DispatcherParts};
use crate::intake::{Intake, PipelineState};
use crate::metrics::{DeliveryMetrics, HttpMetrics};
use crate::outbox::{Entry, Outbox};
use crate::receiver::index::PathIndex;
use crate::receiver::oidc::issuer::Issuers;
use crate::receiver::path::PREFIX;
use crate::receiver::reconcile::ReceiverReconciler;
use crate::receiver::target::Marker;
use crate::rpc::Rpc;
use crate::tasks::Tasks;
use crate::webhook_server::{self, Webhooks};
use crate::{event_server, http_server};

const NAME: &str = "notification-controller";
/// Rate limit interval that zero stands for, as in Flux.
const ZERO_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
/// Time for deliveries in flight at a stop, within the Pod's grace period of 10 s (NTF-118).
const DELIVERY_GRACE: Duration = Duration::from_secs(6);

/// The caches that everything reads from.
struct Caches {
    alerts: Cache<Alert>,
    providers: Cache<Provider>,
    receivers: Cache<Receiver>,
}

/// The path of events through the service.
struct Pipeline {
    intake: Arc<Intake>,
    dispatcher: Dispatcher,
    pending: Vec<Entry>,
    writer: JoinHandle<()>,
}

/// Parses a command line of the service. It is not generic, so that the service is compiled here, once for all programs
/// that run it.
///
/// # Errors
/// When it is wrong, or asks for help or the version.
pub fn program(arguments: Vec<OsString>) -> Result<Program, clap::Error> {
    Program::parse(arguments, |args: &Args| &args.runtime, run)
}

/// Runs the service until it is stopped.
///
/// # Errors
/// When flags are wrong, or a part of the service ends in an error.
pub async fn run(args: Args, env: Environment) -> Result<(), ServiceError> {
    let service = Service::start(NAME, &args.runtime, None, env, GATES).await?;
    let logins = service.logins(&args.runtime.default_service_account)?;
    // The endpoints open after this: until the caches are complete, senders are turned away and come again (NTF-24).
    let caches = Caches {
        alerts: service.cache().await?,
        providers: service.cache().await?,
        receivers: service.cache().await?,
    };
    forget_logins(&caches.providers, logins.clone());
    let pipeline = open_pipeline(&args, &service, &caches, logins).await?;
    add_controllers(&args, &service, &caches).await?;
    serve_events(&args, &service, &pipeline)?;
    serve_webhooks(&args, &service, &caches, pipeline.dispatcher.tasks())?;
    let Pipeline { intake, dispatcher, pending, writer } = pipeline;
    let resumed = intake.clone();
    service.spawn(async move { resumed.resume(pending).await });
    let stop = service.shutdown();
    service.spawn_graceful(async move {
        stop.cancelled().await;
        dispatcher.drain(DELIVERY_GRACE).await;
    });
    service.run_until_shutdown().await?;
    // The writer ends with the last handle of the outbox; what it holds is on disk then.
    drop(intake);
    let _ = tokio::time::timeout(Duration::from_secs(1), writer).await;
    Ok(())
}

/// Removes the metrics of the token cache for Providers that are gone.
fn forget_logins(providers: &Cache<Provider>, logins: Logins) {
    providers.on_change(move |change| {
        if let (Some(provider), None) = (&change.old, &change.new) {
            let ObjectKey { namespace, name } = ObjectKey::of(&**provider);
            logins.forget(Provider::KIND, &namespace, &name);
        }
    });
}

async fn open_pipeline(
    args: &Args,
    service: &Service,
    caches: &Caches,
    logins: Logins,
) -> Result<Pipeline, ServiceError> {
    let clock = service.env().clock;
    let interval = SignedDuration::try_from(args.rate_limit_interval.to_std()).unwrap_or(SignedDuration::MAX);
    let interval = if interval.is_zero() { ZERO_INTERVAL } else { interval };
    let opened = Outbox::open(&args.outbox_folder(), interval, clock()).await;
    let (outbox, found, writer) = opened.map_err(|error| ServiceError::Other(error.to_string()))?;
    let client = service.client().clone();
    let dispatcher = Dispatcher::new(DispatcherParts {
        client: client.clone(),
        alerts: caches.alerts.clone(),
        providers: caches.providers.clone(),
        events: service.events(),
        sender: Sender::new(Retry::default()),
        logins,
        outbox: outbox.clone(),
        metrics: DeliveryMetrics::new(service.metrics()),
        policy: Policy {
            no_cross_namespace_refs: args.runtime.no_cross_namespace_refs,
            workload_identity: service.gates().enabled(WORKLOAD_IDENTITY),
        },
        clock,
    });
    let intake = Intake {
        client,
        alerts: caches.alerts.clone(),
        events: service.events(),
        outbox,
        dispatcher: dispatcher.clone(),
        clock,
        state: PipelineState::new(interval),
    };
    // Before the endpoints open: a sender's retry may be the first to come.
    intake.remember(&found.recent);
    Ok(Pipeline { intake: Arc::new(intake), dispatcher, pending: found.pending, writer })
}

async fn add_controllers(args: &Args, service: &Service, caches: &Caches) -> Result<(), ServiceError> {
    let concurrent = args.runtime.concurrent(CONCURRENT);
    service.controller("alert", caches.alerts.clone(), AlertReconciler, concurrent);
    service.controller("provider", caches.providers.clone(), ProviderReconciler, concurrent);
    let receivers = ReceiverReconciler { secrets: Secrets::new(service.client().clone()) };
    let queue = service.controller("receiver", caches.receivers.clone(), receivers, concurrent);
    if service.gates().enabled(DISABLE_CONFIG_WATCHERS) {
        return Ok(());
    }
    let secrets = service.cache_metadata(&args.runtime.watch_configs_label_selector).await?;
    wake_on_secrets(&secrets, &caches.receivers, queue);
    Ok(())
}

/// A Secret with the label wakes the Receivers that take their token from it (NTF-87).
fn wake_on_secrets(secrets: &Cache<PartialObjectMeta<Secret>>, receivers: &Cache<Receiver>, queue: Queue) {
    let by_secret = receivers.index(|receiver| {
        let reference = receiver.spec.secret_ref.as_ref()?;
        Some(ObjectKey::new(
            receiver.metadata.namespace.as_deref().unwrap_or_default(),
            reference.name.as_str(),
        ))
    });
    secrets.on_change(move |change| {
        let Some(secret) = change.latest().map(|secret| ObjectKey::of(&**secret)) else { return };
        queue.wake(by_secret.naming(&secret), Cause::Config);
    });
}

fn serve_events(args: &Args, service: &Service, pipeline: &Pipeline) -> Result<(), ServiceError> {
    let rpc = Rpc {
        intake: pipeline.intake.clone(),
        dispatcher: pipeline.dispatcher.clone(),
        authorizer: service.authorizer(),
        stop: service.shutdown(),
    };
    service.grpc(|server| server.add(EventsServer::new(rpc).max_decoding_message_size(MAX_MESSAGE_BYTES)));
    let Some(listener) = service.listen("events", &args.events_addr)? else { return Ok(()) };
    let metrics = HttpMetrics::new(service.metrics(), "event", "/", args.export_http_path_metrics);
    let intake = pipeline.intake.clone();
    service.spawn_graceful(http_server::serve(listener, metrics, service.shutdown(), move |call| {
        event_server::handle(intake.clone(), call)
    }));
    Ok(())
}

fn serve_webhooks(
    args: &Args,
    service: &Service,
    caches: &Caches,
    tasks: &Tasks,
) -> Result<(), ServiceError> {
    let Some(listener) = service.listen("webhooks", &args.receiver_addr)? else { return Ok(()) };
    let client = service.client().clone();
    let no_cross_namespace_refs = args.runtime.no_cross_namespace_refs;
    let webhooks = Arc::new(Webhooks {
        secrets: Secrets::new(client.clone()),
        receivers: caches.receivers.clone(),
        paths: PathIndex::over(&caches.receivers),
        marker: Marker { client, no_cross_namespace_refs },
        issuers: Issuers::new().map_err(|error| ServiceError::Other(error.to_string()))?,
        tasks: tasks.clone(),
        clock: service.env().clock,
    });
    let metrics = HttpMetrics::new(service.metrics(), "receiver", PREFIX, args.export_http_path_metrics);
    service.spawn_graceful(http_server::serve(listener, metrics, service.shutdown(), move |call| {
        webhook_server::handle(webhooks.clone(), call)
    }));
    Ok(())
}
