//! A namespace of one's own, sessions in it, and a count of the requests that they make.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::DynamicObject;
use kube::client::Body;
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use weir_ssa::{
    ApplyFailure, ChangeSet, IgnoreRules, Ledger, Manifest, Mapper, Notice, ObjectId, Owner, Session,
    Settings, Watches,
};
use weir_testkit::{ControlPlane, FaultProxy};

pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct World {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) ns: String,
    pub(crate) session: Session,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notices: mpsc::Receiver<Notice>,
    requests: Arc<AtomicUsize>,
    interruption: Interruption,
}

/// Done once, just before a request of a kind reaches the server.
type Interruption = Arc<Mutex<Option<(IsMeant, BoxFuture<'static, ()>)>>>;
type IsMeant = fn(&http::Request<Body>) -> bool;

impl World {
    pub(crate) async fn new() -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        Self::watching_by(plane, plane.client().unwrap()).await
    }

    /// A world whose watches meet the API server through a proxy.
    pub(crate) async fn behind_proxy() -> (Self, FaultProxy) {
        let plane = ControlPlane::shared().await.unwrap();
        let proxy = FaultProxy::api_server(plane).await.unwrap();
        let mut config = plane.config().unwrap();
        config.cluster_url = format!("http://{}", proxy.address()).parse().unwrap();
        (Self::watching_by(plane, Client::try_from(config).unwrap()).await, proxy)
    }

    async fn watching_by(plane: &'static ControlPlane, own: Client) -> Self {
        let ns = plane.unique_namespace("ssa").await.unwrap();
        let (tell, notices) = mpsc::channel(64);
        let notify = move |_: &Owner, _: &ObjectId, notice| {
            let _ = tell.try_send(notice);
        };
        let ledger = Arc::new(Ledger::new("kustomize-controller", &[], notify));
        let shutdown = CancellationToken::new();
        let label = "kustomize.toolkit.fluxcd.io/name".to_owned();
        let watches = Watches::new(own.clone(), Arc::clone(&ledger), label, shutdown);
        let requests = Arc::new(AtomicUsize::new(0));
        let interruption = Interruption::default();
        let client = counted(plane.client().unwrap(), Arc::clone(&requests), Arc::clone(&interruption));
        let mapper = Arc::new(Mapper::new(own));
        let session = Session::watched(client, mapper, Arc::clone(&ledger), watches);
        Self { plane, ns, session, ledger, notices, requests, interruption }
    }

    /// Does something just before the next deletion reaches the server.
    pub(crate) fn before_delete(&self, action: impl Future<Output = ()> + Send + 'static) {
        *self.interruption.lock() =
            Some((|request| request.method() == http::Method::DELETE, action.boxed()));
    }

    /// Does something just before the next change of the managers of fields reaches the server.
    pub(crate) fn before_takeover(&self, action: impl Future<Output = ()> + Send + 'static) {
        let is_meant: IsMeant = |request| {
            request.headers().get("content-type").is_some_and(|kind| kind == "application/json-patch+json")
        };
        *self.interruption.lock() = Some((is_meant, action.boxed()));
    }

    /// Does something just before the next dry run of the ConfigMap `a` reaches the server.
    pub(crate) fn before_trial_of_a(&self, action: impl Future<Output = ()> + Send + 'static) {
        let is_meant: IsMeant = |request| {
            let is_trial = request.uri().query().is_some_and(|query| query.contains("dryRun"));
            is_trial && request.uri().path().ends_with("/configmaps/a")
        };
        *self.interruption.lock() = Some((is_meant, action.boxed()));
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner {
            group: "kustomize.toolkit.fluxcd.io".into(),
            name: self.ns.clone(),
            namespace: "flux-system".into(),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            field_manager: "kustomize-controller".into(),
            owner: self.owner(),
            overridden_managers: Vec::new(),
            custom_stage: Vec::new(),
            concurrency: 4,
            force: false,
            ignored: IgnoreRules::default(),
            migrates_versions: false,
            leaves_ended: false,
            is_correction: false,
            time: PATIENCE,
            judge: None,
        }
    }

    pub(crate) async fn apply(&self, manifests: &[Value]) -> Result<ChangeSet, ApplyFailure> {
        self.apply_with(manifests, &self.settings()).await
    }

    pub(crate) async fn apply_with(
        &self,
        manifests: &[Value],
        settings: &Settings,
    ) -> Result<ChangeSet, ApplyFailure> {
        self.apply_recorded(manifests, settings, &Recorded::default()).await
    }

    /// Applies with a record of the objects that are about to be written.
    pub(crate) async fn apply_recorded(
        &self,
        manifests: &[Value],
        settings: &Settings,
        record: &Recorded,
    ) -> Result<ChangeSet, ApplyFailure> {
        let manifests = manifests.iter().cloned().map(|value| Manifest::try_from(value).unwrap()).collect();
        self.session.apply(manifests, settings, &CancellationToken::new(), record).await
    }

    /// The requests that were made through the session since the last call.
    pub(crate) fn requests(&self) -> usize {
        self.requests.swap(0, Ordering::SeqCst)
    }

    /// Waits until the watches vouch for everything that was applied.
    pub(crate) async fn proved(&self, changes: &ChangeSet) {
        weir_testkit::eventually("the ledger proves the inventory", PATIENCE, async || {
            self.ledger.proves(&self.owner(), &changes.inventory()).then_some(())
        })
        .await
        .unwrap();
    }

    pub(crate) async fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        self.plane.api(api_version, kind, &self.ns).await.unwrap()
    }

    pub(crate) async fn config_map(&self, name: &str) -> Option<DynamicObject> {
        self.api("v1", "ConfigMap").await.get_opt(name).await.unwrap()
    }

    pub(crate) fn cm(&self, name: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": self.ns},
            "data": {"k": value}})
    }

    pub(crate) fn deployment(&self, name: &str, label: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": self.ns},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": label}}, "template": {
                "metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "c", "image": "example.com/c:1", "ports": [{"containerPort": 80}]}]}}}})
    }
}

pub(crate) fn lines(changes: &ChangeSet) -> String {
    changes.lines()
}

fn counted(base: Client, requests: Arc<AtomicUsize>, interruption: Interruption) -> Client {
    let namespace = base.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        requests.fetch_add(1, Ordering::SeqCst);
        let base = base.clone();
        let before = interruption.lock().take_if(|(is_meant, _)| is_meant(&request));
        async move {
            if let Some((_, before)) = before {
                before.await;
            }
            base.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// The objects that an apply was about to write.
#[derive(Default)]
pub(crate) struct Recorded(pub(crate) parking_lot::Mutex<Vec<weir_ssa::Entry>>);

impl weir_ssa::Record for Recorded {
    async fn add(&self, written: Vec<weir_ssa::Entry>) -> bool {
        self.0.lock().extend(written);
        true
    }
}
