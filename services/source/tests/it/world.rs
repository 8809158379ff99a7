//! One controller process over a namespace of its own.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kube::{Api, core::DynamicObject};
use serde_json::{Value, json};
use weir_artifact::fetch::Fetcher;
use weir_artifact::{FileMap, Limits};
use weir_testkit::{
    ControlPlane, Folder, Process, condition, eventually, free_port, repo_path, touch_requested_at, wait_for,
    wait_not_ready,
};

pub const DEADLINE: Duration = Duration::from_secs(90);
pub const SOURCE: &str = "source.toolkit.fluxcd.io/v1";

pub struct World {
    pub namespace: String,
    pub grpc: u16,
    pub http: u16,
    pub metrics: u16,
    pub controller: Process,
    pub folder: Folder,
    setup: Setup,
    // Fields drop in order: the controller goes before what it talks to.
    pub plane: Plane,
}

/// The control plane of a world.
pub enum Plane {
    /// One that all tests share.
    Shared(&'static ControlPlane),
    /// One that ends with the world.
    Own(Box<ControlPlane>),
}

impl Deref for Plane {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        match self {
            Self::Shared(plane) => plane,
            Self::Own(plane) => plane,
        }
    }
}

/// Settings of a controller that differ from the usual ones.
#[derive(Default)]
pub struct Setup {
    /// Variables of its environment.
    pub environment: Vec<(&'static str, String)>,
    /// Further flags.
    pub arguments: Vec<String>,
    /// Another way to the control plane.
    pub kubeconfig: Option<PathBuf>,
    /// Preparation of the storage folder before the start.
    pub prepare: Option<fn(&Path)>,
}

impl World {
    pub async fn start() -> Self {
        Self::start_as(Setup::default()).await
    }

    /// Starts with flags and surroundings of its own.
    pub async fn start_as(setup: Setup) -> Self {
        Self::start_on(Plane::Shared(ControlPlane::shared().await.unwrap()), setup).await
    }

    /// Starts on a given control plane.
    pub async fn start_on(plane: Plane, setup: Setup) -> Self {
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        let namespace = plane.unique_namespace("source").await.unwrap();
        Self::start_in(plane, namespace, setup)
    }

    /// Starts the controller in a namespace of this control plane that holds what it needs from its first request on.
    pub fn start_in(plane: Plane, namespace: String, setup: Setup) -> Self {
        let folder = Folder::new("source").unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        if let Some(prepare) = setup.prepare {
            prepare(&data);
        }
        let (grpc, http, metrics) = (free_port().unwrap(), free_port().unwrap(), free_port().unwrap());
        let controller = launch(&plane, folder.path(), &namespace, [grpc, http, metrics], &setup);
        Self { namespace, grpc, http, metrics, controller, folder, setup, plane }
    }

    /// Starts the controller again, after it was killed, with these variables in its environment.
    pub fn start_again(&mut self, environment: &[(&'static str, &str)]) {
        self.controller.kill();
        self.setup.environment =
            environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let ports = [self.grpc, self.http, self.metrics];
        self.controller = launch(&self.plane, self.folder.path(), &self.namespace, ports, &self.setup);
    }

    /// Starts the controller again in another way.
    pub fn start_as_again(&mut self, setup: Setup) {
        self.setup = setup;
        let ports = [self.grpc, self.http, self.metrics];
        self.controller = launch(&self.plane, self.folder.path(), &self.namespace, ports, &self.setup);
    }

    /// Starts a further replica, with flags and a disk of its own; gives it and the port of its artifacts.
    pub fn replica(&self, setup: &Setup) -> (Process, u16) {
        let folder = self.folder.path().join("replica");
        std::fs::create_dir_all(folder.join("data")).unwrap();
        let ports = [free_port().unwrap(), free_port().unwrap(), free_port().unwrap()];
        (launch(&self.plane, &folder, &self.namespace, ports, setup), ports[1])
    }

    /// Asks for a reconcile and waits until it is handled; returns the status.
    pub async fn reconciled(&self, kind: &str, name: &str) -> Value {
        let token = touch_requested_at(&self.api(kind).await, name).await.unwrap();
        let handled = |object: &DynamicObject| object.data["status"]["lastHandledReconcileAt"] == token;
        self.until(kind, name, "request handled", handled).await
    }

    /// Applies an object of this world's namespace.
    pub async fn apply(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({"apiVersion": SOURCE, "kind": kind, "metadata": {"name": name}, "spec": spec});
        self.plane.apply(&self.namespace, object).await.unwrap();
    }

    pub async fn git(&self, name: &str, url: &str, more: Value) {
        let mut spec = json!({"url": url, "interval": "1h", "ref": {"branch": "main"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.apply("GitRepository", name, spec).await;
    }

    pub async fn oci(&self, name: &str, url: &str, more: Value) {
        let mut spec = json!({"url": url, "interval": "1h", "insecure": true});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.apply("OCIRepository", name, spec).await;
    }

    pub async fn bucket(&self, name: &str, endpoint: &str, bucket: &str, more: Value) {
        let mut spec =
            json!({"endpoint": endpoint, "bucketName": bucket, "interval": "1h", "insecure": true});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.apply("Bucket", name, spec).await;
    }

    pub async fn secret(&self, name: &str, kind: &str, data: Value) {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name}, "stringData": data,
        });
        self.plane.apply(&self.namespace, object).await.unwrap();
    }

    /// Checks that the process has logged, and nowhere in its log a secret.
    pub fn logs_without(&self, secret: &str) {
        let log = self.controller.log();
        assert!(log.contains("reconcil"), "nothing was logged: {log}");
        assert!(!log.contains(secret), "{log}");
    }

    pub async fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.plane.api(SOURCE, kind, &self.namespace).await.unwrap()
    }

    /// Waits until the object satisfies `is_so`; returns its status.
    pub async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&DynamicObject) -> bool,
    ) -> Value {
        let api = self.api(kind).await;
        let what = format!("{kind}/{name}: {what}");
        match wait_for(&api, name, &what, DEADLINE, |object: Option<&DynamicObject>| {
            object.is_some_and(&is_so)
        })
        .await
        {
            Ok(object) => object.unwrap().data["status"].clone(),
            Err(error) => panic!("{error}\n{:?}\n{}", api.get(name).await, self.controller.log_tail()),
        }
    }

    /// Waits until the object is Ready about its newest generation; returns its status.
    pub async fn ready(&self, kind: &str, name: &str) -> Value {
        self.until(kind, name, "Ready", |object| {
            let is_current =
                object.data["status"]["observedGeneration"].as_i64() == object.metadata.generation;
            is_current && condition(object, "Ready").is_some_and(|ready| ready.status == "True")
        })
        .await
    }

    /// Waits until the object has failed; returns reason and message of Ready.
    pub async fn failure(&self, kind: &str, name: &str) -> (String, String) {
        let failed =
            |object: &DynamicObject| condition(object, "Ready").is_some_and(|ready| ready.status == "False");
        self.until(kind, name, "not Ready", failed).await;
        let object = self.api(kind).await.get(name).await.unwrap();
        let ready = condition(&object, "Ready").unwrap();
        (ready.reason, ready.message)
    }

    /// Waits until Ready is False with a message that holds `part`; returns reason and message.
    pub async fn failure_of(&self, kind: &str, name: &str, part: &str) -> (String, String) {
        let ready = wait_not_ready(&self.api(kind).await, name, part, DEADLINE).await.unwrap();
        (ready.reason, ready.message)
    }

    /// Waits until the artifact's revision ends with `end`; returns the status.
    pub async fn at(&self, kind: &str, name: &str, end: &str) -> Value {
        self.until(kind, name, &format!("artifact of {end}"), |object| {
            let revision = object.data["status"]["artifact"]["revision"].as_str();
            revision.is_some_and(|revision| revision.ends_with(end))
        })
        .await
    }

    pub async fn until_served(&self) {
        for port in [self.grpc, self.http] {
            let is_open = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
            eventually("a port to open", DEADLINE, || async move { is_open().then_some(()) }).await.unwrap();
        }
    }
}

/// The files of the artifact that a status advertises, as a consumer gets them.
pub async fn files(status: &Value) -> FileMap {
    let artifact = &status["artifact"];
    let (url, digest) = (artifact["url"].as_str().unwrap(), artifact["digest"].as_str().unwrap());
    Fetcher::new(Limits::default(), None).unwrap().files(url, digest).await.unwrap()
}

pub async fn paths(status: &Value) -> Vec<String> {
    files(status).await.keys().map(ToString::to_string).collect()
}

fn launch(
    plane: &ControlPlane,
    folder: &Path,
    namespace: &str,
    [grpc, http, metrics]: [u16; 3],
    setup: &Setup,
) -> Process {
    let kubeconfig = setup.kubeconfig.as_deref().unwrap_or(plane.weir_kubeconfig_path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_source-controller"));
    command
        .env("KUBECONFIG", kubeconfig)
        .env("RUNTIME_NAMESPACE", namespace)
        .envs(setup.environment.iter().map(|(name, value)| (name, value)))
        .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .arg(format!("--storage-path={}", folder.join("data").display()))
        .args(["--watch-all-namespaces=false", "--health-addr=0", "--log-encoding=console"])
        .args(&setup.arguments);
    for (flag, port) in [("--grpc-addr", grpc), ("--storage-addr", http)] {
        if !setup.arguments.iter().any(|argument| argument.starts_with(flag)) {
            command.arg(format!("{flag}=127.0.0.1:{port}"));
        }
    }
    Process::start("source-controller", &mut command, &folder.join("log")).unwrap()
}
