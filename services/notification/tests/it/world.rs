//! One controller process over objects of its own.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use weir_testkit::{
    ControlPlane, FaultProxy, Folder, Process, WebhookSink, eventually, free_port, repo_path,
};

pub const DEADLINE: Duration = Duration::from_secs(90);

/// Objects first, then the controller: its endpoints open when it knows them all.
pub struct World {
    pub plane: &'static ControlPlane,
    pub namespace: String,
    pub sink: WebhookSink,
    pub http: Client,
    pub controller: Process,
    folder: Folder,
    ports: [u16; 3],
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// A world that is not started yet.
pub struct Setup {
    plane: &'static ControlPlane,
    pub namespace: String,
    pub sink: WebhookSink,
    folder: Folder,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Setup {
    pub async fn new() -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        Self {
            plane,
            namespace: plane.unique_namespace("notify").await.unwrap(),
            sink: WebhookSink::start().await.unwrap(),
            folder: Folder::new("notify").unwrap(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    pub async fn apply(&self, yaml: &str) {
        self.plane.apply_yaml(&self.namespace, yaml).await.unwrap();
    }

    /// A Provider of the sink's path `/<name>` and an Alert for all Kustomizations, with further fields of the Provider.
    pub async fn provider(&self, name: &str, kind: &str, fields: Value) {
        let spec = json!({"type": kind, "address": self.sink.url(&format!("/{name}"))});
        self.object("Provider", name, spec, fields).await;
        self.alert(name, json!({})).await;
    }

    /// An Alert for all Kustomizations and the Provider of the same name, with further or other fields.
    pub async fn alert(&self, name: &str, fields: Value) {
        let sources = json!([{"kind": "Kustomization", "name": "*"}]);
        let spec = json!({"providerRef": {"name": name}, "eventSources": sources});
        self.object("Alert", name, spec, fields).await;
    }

    async fn object(&self, kind: &str, name: &str, mut spec: Value, fields: Value) {
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let version = "notification.toolkit.fluxcd.io/v1beta3";
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        self.apply(&object.to_string()).await;
    }

    pub fn flag(&mut self, flag: &str) {
        self.arguments.push(flag.to_owned());
    }

    pub fn env(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// A proxy between the controller and the API server.
    pub async fn proxied(&mut self) -> FaultProxy {
        let (account, namespace) = ("notification", self.namespace.as_str());
        let kind = "ClusterRoleBinding";
        let rights = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        });
        self.apply(&format!("{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {account}}}}}")).await;
        self.apply(&rights.to_string()).await;
        let token = self.plane.service_account_token(namespace, account).await.unwrap();
        let token = self.folder.write("token", token).unwrap();
        let proxy = FaultProxy::api_server(self.plane).await.unwrap();
        let kubeconfig = self.plane.kubeconfig_with(&format!("http://{}", proxy.address()), &token).unwrap();
        self.env("KUBECONFIG", &kubeconfig.display().to_string());
        proxy
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub async fn start(self) -> World {
        let ports = [free_port().unwrap(), free_port().unwrap(), free_port().unwrap()];
        let controller = launch(self.plane, &self.folder, ports, &self.arguments, &self.environment);
        let mut world = World {
            plane: self.plane,
            namespace: self.namespace,
            sink: self.sink,
            http: Client::new(),
            controller,
            folder: self.folder,
            ports,
            arguments: self.arguments,
            environment: self.environment,
        };
        world.wait_until_open().await;
        world
    }
}

fn launch(
    plane: &ControlPlane,
    folder: &Folder,
    [events, webhooks, grpc]: [u16; 3],
    arguments: &[String],
    environment: &[(String, String)],
) -> Process {
    weir_runtime::service::install_crypto();
    let mut command = Command::new(env!("CARGO_BIN_EXE_notification-controller"));
    command
        .env("KUBECONFIG", plane.kubeconfig_path())
        .env("RUNTIME_NAMESPACE", "flux-system")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .arg(format!("--events-addr=127.0.0.1:{events}"))
        .arg(format!("--receiverAddr=127.0.0.1:{webhooks}"))
        .arg(format!("--grpc-addr=127.0.0.1:{grpc}"))
        .args(["--metrics-addr=0", "--health-addr=0", "--log-encoding=console"])
        .arg(format!("--outbox-path={}", folder.path().join("outbox").display()))
        .args(arguments);
    Process::start("notification-controller", &mut command, &folder.path().join("log")).unwrap()
}

impl World {
    async fn wait_until_open(&mut self) {
        let [events, webhooks, _] = self.ports;
        let is_open = |port| TcpStream::connect(("127.0.0.1", port)).is_ok();
        let opened = eventually("the endpoints to open", DEADLINE, || async move {
            (is_open(events) && is_open(webhooks)).then_some(())
        });
        if opened.await.is_err() {
            panic!("{}", self.controller.log_tail());
        }
    }

    /// Starts the controller again, after it was killed.
    pub async fn start_again(&mut self) {
        self.controller.kill();
        self.controller = launch(self.plane, &self.folder, self.ports, &self.arguments, &self.environment);
        self.wait_until_open().await;
    }

    pub fn events_url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.ports[0])
    }

    pub fn webhook_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[1])
    }

    pub fn grpc_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[2])
    }

    /// An event about a Kustomization of the world's namespace.
    pub fn event(&self, message: &str, severity: &str) -> Value {
        json!({
            "involvedObject": {
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "web",
                "namespace": self.namespace, "uid": "7d0cdc51-ddcf-4743-b223-83ca5c699632",
            },
            "severity": severity,
            "timestamp": "2026-01-02T03:04:05Z",
            "message": message,
            "reason": "ReconciliationSucceeded",
            "metadata": {"kustomize.toolkit.fluxcd.io/revision": "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e736"},
            "reportingController": "kustomize-controller",
        })
    }

    /// Posts an event; returns the status code.
    pub async fn post(&self, event: &Value) -> u16 {
        self.http.post(self.events_url()).json(event).send().await.unwrap().status().as_u16()
    }

    /// Waits until an event with this message has come to the sink.
    pub async fn delivered(&self, message: &str) {
        self.sink.wait_for(message, DEADLINE, |request| request.json()["message"] == message).await.unwrap();
    }

    /// Waits for a Kubernetes event on an Alert and returns its message.
    pub async fn failure_of(&self, alert: &str) -> String {
        self.event_on(alert, |_| true).await
    }

    /// Waits for a Kubernetes event of this reason on an object and returns its message.
    pub async fn event_of(&self, object: &str, reason: &str) -> String {
        self.event_on(object, |event| event.data["reason"] == reason).await
    }

    /// Waits for a Kubernetes event of this reason on an object and returns all of it.
    pub async fn event_object(&self, object: &str, reason: &str) -> Value {
        self.found_event(object, |event| event.data["reason"] == reason).await
    }

    async fn event_on(&self, object: &str, is_it: impl Fn(&kube::api::DynamicObject) -> bool) -> String {
        let event = self.found_event(object, is_it).await;
        event["message"].as_str().unwrap_or_default().to_owned()
    }

    async fn found_event(&self, object: &str, is_it: impl Fn(&kube::api::DynamicObject) -> bool) -> Value {
        let api = self.plane.api("v1", "Event", &self.namespace).await.unwrap();
        let found = eventually("an event on the object", DEADLINE, || async {
            let events = api.list(&Default::default()).await.ok()?.items;
            let mut events = events.iter().filter(|event| event.data["involvedObject"]["name"] == object);
            Some(events.find(|event| is_it(event))?.data.clone())
        });
        found.await.unwrap()
    }
}
