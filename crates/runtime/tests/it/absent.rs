//! Kinds that the API server does not serve, or does not show to the account.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;
use tokio::task::JoinHandle;
use weir_api::Receiver;
use weir_runtime::{Cache, Environment, Service, ServiceError};
use weir_testkit::{ControlPlane, eventually, free_port, repo_path, wait_ready};

use crate::world::{DEADLINE, MarkReady, flags};

const API: &str = "notification.toolkit.fluxcd.io/v1";
const CRD: &str = "receivers.notification.toolkit.fluxcd.io";
const NAMESPACE: &str = "tenant";

/// A service for Receivers that reads ConfigMaps too, in one namespace.
struct Running {
    env: Environment,
    health: u16,
    receivers: Cache<Receiver>,
    task: JoinHandle<Result<(), ServiceError>>,
}

impl Running {
    async fn start(config: kube::Config, reconciler: MarkReady) -> Self {
        weir_runtime::service::install_crypto();
        let health = free_port().unwrap();
        let args = flags(&[&format!("--health-addr=127.0.0.1:{health}"), "--watch-all-namespaces=false"]);
        let env = Environment::new(config, NAMESPACE.to_owned()).unwrap();
        let service = Service::start("test-controller", &args, None, env.clone(), &[]).await.unwrap();
        service.cache::<ConfigMap>().await.unwrap();
        let receivers = service.cache::<Receiver>().await.unwrap();
        service.controller("receiver", receivers.clone(), reconciler, 4);
        #[expect(clippy::disallowed_methods, reason = "stopped and awaited by Running::stop")]
        let task = tokio::spawn(service.run_until_shutdown());
        let running = Self { env, health, receivers, task };
        running.wait_until_ready().await;
        running
    }

    async fn is_ready(&self) -> bool {
        let answer = reqwest::get(format!("http://127.0.0.1:{}/readyz", self.health)).await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    async fn wait_until_ready(&self) {
        eventually("the service to be ready", DEADLINE, async || self.is_ready().await.then_some(()))
            .await
            .unwrap();
    }

    fn shows(&self, kind: &str, absent: u8) -> bool {
        let line = format!("weir_kind_absent{{kind=\"{kind}\"}} {absent}\n");
        self.env.metrics.encode().unwrap().contains(&line)
    }

    async fn wait_until_shown(&self, absent: u8) {
        let shown = async || self.shows("Receiver", absent).then_some(());
        eventually(&format!("weir_kind_absent to be {absent}"), DEADLINE, shown).await.unwrap();
    }

    async fn stop(self) {
        self.env.shutdown.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// SHA-01: nothing is retried that can never be, and the API server's words say what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_label_selector_that_is_none_ends_the_start_at_once() {
    weir_runtime::service::install_crypto();
    let plane = ControlPlane::shared().await.unwrap();
    let env = Environment::new(plane.config().unwrap(), "default".to_owned()).unwrap();
    let args = flags(&["--watch-label-selector=a b"]);
    let service = Service::start("test-controller", &args, None, env, &[]).await.unwrap();
    let started = std::time::Instant::now();
    let refused = service.cache_sharded::<ConfigMap>().await.err().unwrap().to_string();
    assert!(started.elapsed() < DEADLINE / 3, "a first list may take a minute");
    let start = "unable to configure watch label selector: couldn't parse the selector string \"a b\": ";
    assert!(refused.starts_with(start) && refused.contains("found 'b'"), "{refused}");
}

async fn receiver(plane: &ControlPlane, name: &str) {
    let spec = json!({"type": "generic", "secretRef": {"name": "s"}, "resources": [{"kind": "GitRepository", "name": "g"}]});
    let object = json!({"apiVersion": API, "kind": "Receiver", "metadata": {"name": name}, "spec": spec});
    plane.apply(NAMESPACE, object).await.unwrap();
    let api = plane.api(API, "Receiver", NAMESPACE).await.unwrap();
    wait_ready(&api, name, DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_is_left_out_until_its_crd_comes_and_after_it_goes() {
    let plane = ControlPlane::start().await.unwrap();
    plane.namespace(NAMESPACE).await.unwrap();
    let reconciler = MarkReady::default();
    let finalized = reconciler.finalized.clone();
    let running = Running::start(plane.config().unwrap(), reconciler).await;
    assert!(running.shows("Receiver", 1) && running.shows("ConfigMap", 0));
    assert!(running.receivers.is_whole(), "without a CRD there are no objects");

    let file = repo_path("deploy/kustomize/crds/notification.toolkit.fluxcd.io_receivers.yaml");
    let file = file.to_str().unwrap();
    for round in 1..=2 {
        plane.kubectl(&["apply", "--server-side", "-f", file]).await.unwrap();
        plane.kubectl(&["wait", "--for=condition=established", &format!("crd/{CRD}")]).await.unwrap();
        running.wait_until_shown(0).await;
        receiver(&plane, "web").await;
        // Its objects go first, and their finalizers are still served.
        plane.kubectl(&["delete", "crd", CRD]).await.unwrap();
        running.wait_until_shown(1).await;
        assert!(running.receivers.is_empty() && running.is_ready().await);
        assert_eq!(finalized.load(std::sync::atomic::Ordering::SeqCst), round);
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_may_not_be_listed_is_left_out_until_it_may() {
    let plane = ControlPlane::start().await.unwrap();
    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
    plane.namespace(NAMESPACE).await.unwrap();
    let may = |group: &str, resources: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.iter().map(|name| (*name).to_owned()).collect()),
        verbs: ["get", "list", "watch", "patch"].map(str::to_owned).to_vec(),
        ..PolicyRule::default()
    };
    let config_maps = may("", &["configmaps"]);
    let receivers = may("notification.toolkit.fluxcd.io", &["receivers", "receivers/status"]);
    plane.service_account(NAMESPACE, "least", std::slice::from_ref(&config_maps)).await.unwrap();
    let mut config = plane.config().unwrap();
    config.auth_info.token = Some(plane.service_account_token(NAMESPACE, "least").await.unwrap().into());
    let running = Running::start(config, MarkReady::default()).await;
    assert!(running.shows("Receiver", 1) && running.shows("ConfigMap", 0));
    assert!(!running.receivers.is_whole(), "there may be objects that are not shown");

    plane.service_account(NAMESPACE, "least", &[config_maps, receivers]).await.unwrap();
    running.wait_until_shown(0).await;
    receiver(&plane, "web").await;
    running.stop().await;
}
