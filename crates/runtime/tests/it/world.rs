//! A control plane with the CRDs, and a service whose reconciler marks Receivers ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser};
use futures::future::BoxFuture;
use kube::api::{Api, DynamicObject};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use weir_api::Receiver;
use weir_runtime::args::{EventsArgs, RuntimeArgs};
use weir_runtime::condition::{self, Status};
use weir_runtime::grpc::Peers;
use weir_runtime::{
    Environment, EventDraft, Finalized, Next, Outcome, Reconciler, Run, Service, ServiceError,
};
use weir_testkit::{ControlPlane, repo_path};

pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    runtime: RuntimeArgs,
}

pub(crate) fn flags(more: &[&str]) -> RuntimeArgs {
    let off = ["test", "--metrics-addr=0", "--health-addr=0", "--grpc-addr=0"];
    let matches = Flags::command().args_override_self(true).get_matches_from(off.iter().chain(more));
    Flags::from_arg_matches(&matches).unwrap().runtime
}

/// Marks Receivers ready; panics over those named so, fails once to finalize those named `stuck`, and keeps runs of those named
/// `held`, which look for something new, until they are let go.
pub(crate) struct MarkReady {
    pub(crate) held: Arc<Semaphore>,
    pub(crate) runs: Arc<AtomicUsize>,
    pub(crate) finalized: Arc<AtomicUsize>,
}

impl Default for MarkReady {
    fn default() -> Self {
        Self { held: Arc::new(Semaphore::new(0)), runs: Arc::default(), finalized: Arc::default() }
    }
}

impl Reconciler for MarkReady {
    type Object = Receiver;

    async fn reconcile(&self, run: Run<Receiver>) -> Outcome<Receiver> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        assert!(!run.key.name.starts_with("panic"), "told to panic");
        if run.key.name.starts_with("held") {
            run.looking("at work");
            self.held.acquire().await.unwrap().forget();
        }
        let mut object = (*run.object).clone();
        let generation = object.metadata.generation.unwrap();
        let status = object.status.get_or_insert_default();
        status.observed_generation = generation;
        condition::set(
            &mut status.conditions,
            "Ready",
            Status::True,
            "Succeeded",
            "all good",
            generation,
            run.now,
        );
        Outcome::new(object, Next::Interval(Duration::from_secs(3600)))
            .event(EventDraft::info("Succeeded", "all good"))
    }

    async fn finalize(&self, run: Run<Receiver>) -> Finalized<Receiver> {
        let before = self.finalized.fetch_add(1, Ordering::SeqCst);
        if run.key.name.starts_with("stuck") && before == 0 {
            return Finalized::Retry { object: None, events: Vec::new() };
        }
        Finalized::Done { events: Vec::new() }
    }
}

pub(crate) struct World {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
    pub(crate) env: Environment,
    running: JoinHandle<Result<(), ServiceError>>,
}

impl World {
    /// Starts a service with that reconciler, on a namespace of its own.
    pub(crate) async fn start(args: RuntimeArgs, events: EventsArgs, reconciler: MarkReady) -> Self {
        let namespace = Self::namespace().await;
        let config = ControlPlane::shared().await.unwrap().config().unwrap();
        Self::start_in(namespace, config, args, events, reconciler).await
    }

    /// A namespace, and all that a service needs in it.
    pub(crate) async fn namespace() -> String {
        weir_runtime::service::install_crypto();
        let plane = ControlPlane::shared().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        plane.unique_namespace("runtime").await.unwrap()
    }

    /// As [`World::start`], in a namespace that is there, with the credentials of `config`, as a process of its own.
    pub(crate) async fn start_in(
        namespace: String,
        config: kube::Config,
        args: RuntimeArgs,
        events: EventsArgs,
        reconciler: MarkReady,
    ) -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        let args = RuntimeArgs { watch_all_namespaces: false, ..args };
        let env = Environment {
            peers: Peers::of_service(&args),
            ..Environment::new(config, namespace.clone()).unwrap()
        };
        let service =
            Service::start("test-controller", &args, Some(&events), env.clone(), &[]).await.unwrap();
        let objects = service.cache().await.unwrap();
        service.controller("receiver", objects, reconciler, 4);
        let run: BoxFuture<'static, _> = Box::pin(service.run_until_shutdown());
        #[expect(clippy::disallowed_methods, reason = "stopped and awaited by World::stop")]
        let running = tokio::spawn(run);
        Self { plane, namespace, env, running }
    }

    pub(crate) async fn receivers(&self) -> Api<DynamicObject> {
        self.plane.api("notification.toolkit.fluxcd.io/v1", "Receiver", &self.namespace).await.unwrap()
    }

    pub(crate) async fn receiver(&self, name: &str, more: &str) {
        let yaml = format!(
            "apiVersion: notification.toolkit.fluxcd.io/v1\nkind: Receiver\nmetadata: {{name: {name}}}\n\
             spec: {{type: generic, secretRef: {{name: s}}, resources: [{{kind: GitRepository, name: g}}], {more}}}\n"
        );
        self.plane.apply_yaml(&self.namespace, &yaml).await.unwrap();
    }

    /// The end of a service that nobody stops.
    pub(crate) async fn ended(self) -> Result<(), ServiceError> {
        self.running.await.unwrap()
    }

    pub(crate) async fn stop(self) {
        self.env.shutdown.cancel();
        self.running.await.unwrap().unwrap();
    }
}
