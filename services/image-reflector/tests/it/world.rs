//! One controller process over a namespace of its own.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use kube::{Api, core::DynamicObject};
use serde_json::{Value, json};
use weir_testkit::{ControlPlane, Folder, Process, eventually, free_port, repo_path, wait_for};

pub const DEADLINE: Duration = Duration::from_secs(90);

pub const IMAGE: &str = "image.toolkit.fluxcd.io/v1";

pub struct World {
    pub plane: &'static ControlPlane,
    pub namespace: String,
    pub grpc: u16,
    pub controller: Process,
    folder: Folder,
    flags: Vec<String>,
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(&["--watch-all-namespaces=false"]).await
    }

    /// Starts with these flags about what is watched, and others.
    pub async fn start_with(flags: &[&str]) -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        let namespace = plane.unique_namespace("reflect").await.unwrap();
        let (folder, grpc) = (Folder::new("reflect").unwrap(), free_port().unwrap());
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let controller = launch(plane, &folder, &namespace, grpc, &flags);
        Self { plane, namespace, grpc, controller, folder, flags }
    }

    /// Starts the controller again, after it was killed.
    pub fn start_again(&mut self) {
        self.controller.kill();
        self.controller = launch(self.plane, &self.folder, &self.namespace, self.grpc, &self.flags);
    }

    /// The folder of the tag database.
    pub fn storage(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub async fn apply(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({"apiVersion": IMAGE, "kind": kind, "metadata": {"name": name}, "spec": spec});
        self.plane.apply(&self.namespace, object).await.unwrap();
    }

    pub async fn repository(&self, name: &str, image: &str, more: Value) {
        let mut spec = json!({"image": image, "interval": "1h", "insecure": true});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.apply("ImageRepository", name, spec).await;
    }

    pub async fn policy(&self, name: &str, repository: &str, policy: Value) {
        self.apply(
            "ImagePolicy",
            name,
            json!({"imageRepositoryRef": {"name": repository}, "policy": policy}),
        )
        .await;
    }

    pub async fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.plane.api(IMAGE, kind, &self.namespace).await.unwrap()
    }

    /// Waits until the object's Ready condition has this message, or one that ends with it; returns the status.
    pub async fn until(&self, kind: &str, name: &str, message: &str) -> Value {
        let api = self.api(kind).await;
        let what = format!("{kind}/{name} to say '{message}'");
        let says = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| ready_message(object).is_some_and(|text| text.contains(message)))
        };
        match wait_for(&api, name, &what, DEADLINE, says).await {
            Ok(object) => object.unwrap().data["status"].clone(),
            Err(error) => panic!("{error}\n{:?}\n{}", api.get(name).await, self.controller.log_tail()),
        }
    }

    pub async fn until_open(&self) {
        let is_open = || std::net::TcpStream::connect(("127.0.0.1", self.grpc)).is_ok();
        eventually("the gRPC port to open", DEADLINE, || async move { is_open().then_some(()) })
            .await
            .unwrap();
    }
}

fn ready_message(object: &DynamicObject) -> Option<&str> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Ready")?["message"].as_str()
}

fn launch(plane: &ControlPlane, folder: &Folder, namespace: &str, grpc: u16, flags: &[String]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-reflector-controller"));
    command
        .env("KUBECONFIG", plane.kubeconfig_path())
        .env("RUNTIME_NAMESPACE", namespace)
        .arg(format!("--grpc-addr=127.0.0.1:{grpc}"))
        .arg(format!("--storage-path={}", folder.path().join("data").display()))
        .args(["--metrics-addr=0", "--health-addr=0", "--log-encoding=console"])
        .args(flags);
    Process::start("image-reflector-controller", &mut command, &folder.path().join("log")).unwrap()
}
