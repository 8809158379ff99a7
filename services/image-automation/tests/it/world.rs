//! One controller process over a namespace of its own; policies are suspended objects whose status the test writes.

use std::process::Command;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, core::DynamicObject};
use serde_json::{Value, json};
use weir_testkit::{
    ControlPlane, Folder, GitRepo, GitServer, Process, eventually, free_port, repo_path, touch_requested_at,
    wait_for, wait_not_ready,
};

pub const DEADLINE: Duration = Duration::from_secs(90);

const IMAGE: &str = "image.toolkit.fluxcd.io/v1";

pub struct World {
    pub plane: &'static ControlPlane,
    pub namespace: String,
    pub git: GitServer,
    pub grpc: u16,
    pub metrics: u16,
    pub controller: Process,
    folder: Folder,
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(|_| Vec::new(), &[]).await
    }

    /// Starts with environment variables, made of the world's folder, and further flags.
    pub async fn start_with(
        environment: impl Fn(&Folder) -> Vec<(&'static str, String)>,
        flags: &[String],
    ) -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        let namespace = plane.unique_namespace("auto").await.unwrap();
        let folder = Folder::new("auto").unwrap();
        let ports @ [grpc, metrics] = [free_port().unwrap(), free_port().unwrap()];
        let controller = launch(plane, &folder, &namespace, ports, environment(&folder), flags);
        Self { plane, namespace, git: GitServer::start().await.unwrap(), grpc, metrics, controller, folder }
    }

    /// Kills the controller, if it still lives, and starts it again with environment variables.
    pub fn start_again(&mut self, environment: impl Fn(&Folder) -> Vec<(&'static str, String)>) {
        self.controller.kill();
        let (environment, ports) = (environment(&self.folder), [self.grpc, self.metrics]);
        self.controller = launch(self.plane, &self.folder, &self.namespace, ports, environment, &[]);
    }

    /// The environment of a controller that is killed once, after the push of a branch.
    pub fn killed_after_the_push(folder: &Folder) -> Vec<(&'static str, String)> {
        let marker = folder.path().join("killed").display().to_string();
        vec![("WEIR_KILL_POINT", "after-push".to_owned()), ("WEIR_KILL_FILE", marker)]
    }

    pub async fn apply(&self, object: Value) {
        self.plane.apply(&self.namespace, object).await.unwrap();
    }

    /// A policy that has selected a tag.
    pub async fn select(&self, policy: &str, image: &str, tag: &str) {
        let spec =
            json!({"suspend": true, "imageRepositoryRef": {"name": "none"}, "policy": {"alphabetical": {}}});
        self.apply(
            json!({"apiVersion": IMAGE, "kind": "ImagePolicy", "metadata": {"name": policy}, "spec": spec}),
        )
        .await;
        let status = json!({"status": {"latestRef": {"name": image, "tag": tag}}});
        let api = self.api("ImagePolicy").await;
        api.patch_status(policy, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    /// A repository `app` whose `web.yaml` is marked and has another image than the policy `web` selects, and its GitRepository.
    pub async fn app(&self) -> GitRepo {
        let repo = self.git.repo("app").unwrap();
        repo.commit("main", "first", &[("web.yaml", &self.manifest("old:1", "web"))]).unwrap();
        self.select("web", "r/web", "1.0.0").await;
        self.repository("app").await;
        repo
    }

    pub async fn secret(&self, name: &str, data: Value) {
        let metadata = json!({"name": name});
        self.apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}))
            .await;
    }

    /// A GitRepository of the HTTP server's repository.
    pub async fn repository(&self, name: &str) {
        self.repository_at(name, &self.git.url(name), json!({})).await;
    }

    pub async fn repository_at(&self, name: &str, url: &str, more: Value) {
        let mut spec = json!({"url": url, "interval": "1h", "suspend": true, "ref": {"branch": "main"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let version = "source.toolkit.fluxcd.io/v1";
        self.apply(
            json!({"apiVersion": version, "kind": "GitRepository", "metadata": {"name": name}, "spec": spec}),
        )
        .await;
    }

    /// An automation of the repository of the same name; `git` is merged into its Git section.
    pub async fn automation(&self, name: &str, git: Value) {
        self.automation_of(name, git, json!({"strategy": "Setters"})).await;
    }

    /// The same with an update section.
    pub async fn automation_of(&self, name: &str, git: Value, update: Value) {
        let mut section = json!({"commit": {"author": {"name": "bot", "email": "bot@example.com"}}});
        json_patch::merge(&mut section, &git);
        let source = json!({"kind": "GitRepository", "name": name});
        let spec = json!({"interval": "1h", "sourceRef": source, "git": section, "update": update});
        let metadata = json!({"name": name});
        self.apply(
            json!({"apiVersion": IMAGE, "kind": "ImageUpdateAutomation", "metadata": metadata, "spec": spec}),
        )
        .await;
    }

    pub async fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.plane.api(IMAGE, kind, &self.namespace).await.unwrap()
    }

    /// Waits until the automation's status is as wanted; returns it.
    pub async fn until(&self, name: &str, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let api = self.api("ImageUpdateAutomation").await;
        let holds =
            |object: Option<&DynamicObject>| object.is_some_and(|object| is_wanted(&object.data["status"]));
        match wait_for(&api, name, what, DEADLINE, holds).await {
            Ok(object) => object.unwrap().data["status"].clone(),
            Err(error) => panic!("{error}\n{:?}\n{}", api.get(name).await, self.controller.log_tail()),
        }
    }

    /// Waits until the automation has seen the tag of a policy in a successful run.
    pub async fn until_seen(&self, name: &str, policy: &str, tag: &str) -> Value {
        let what = format!("{name} to have seen {policy}:{tag}");
        self.until(name, &what, |status| status["observedPolicies"][policy]["tag"] == tag).await
    }

    /// Waits until the automation fails with a message that contains the text.
    pub async fn until_failed(&self, name: &str, text: &str) {
        let failed = wait_not_ready(&self.api("ImageUpdateAutomation").await, name, text, DEADLINE).await;
        failed.unwrap_or_else(|error| panic!("{error}\n{}", self.controller.log_tail()));
    }

    /// Requests a run of an automation.
    pub async fn touch(&self, name: &str) {
        touch_requested_at(&self.api("ImageUpdateAutomation").await, name).await.unwrap();
    }

    /// True when the service has asked for a run of the GitRepository.
    pub async fn is_source_requested(&self, name: &str) -> bool {
        let api =
            self.plane.api("source.toolkit.fluxcd.io/v1", "GitRepository", &self.namespace).await.unwrap();
        let source = api.get(name).await.unwrap();
        source.metadata.annotations.is_some_and(|all| all.contains_key(weir_api::REQUESTED_AT_ANNOTATION))
    }

    pub async fn until_open(&self) {
        let is_open = || std::net::TcpStream::connect(("127.0.0.1", self.grpc)).is_ok();
        eventually("the gRPC port to open", DEADLINE, || async move { is_open().then_some(()) })
            .await
            .unwrap();
    }

    /// A manifest with a marked image.
    pub fn manifest(&self, image: &str, policy: &str) -> String {
        let marker = format!("# {{\"$imagepolicy\": \"{}:{policy}\"}}", self.namespace);
        format!("kind: Deployment\nmetadata:\n  name: web\nspec:\n  image:   {image}   {marker}\n")
    }
}

fn launch(
    plane: &ControlPlane,
    folder: &Folder,
    namespace: &str,
    [grpc, metrics]: [u16; 2],
    environment: Vec<(&'static str, String)>,
    flags: &[String],
) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-automation-controller"));
    command
        .env("KUBECONFIG", plane.kubeconfig_path())
        .env("RUNTIME_NAMESPACE", namespace)
        .envs(environment)
        .arg(format!("--grpc-addr=127.0.0.1:{grpc}"))
        .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .args(["--watch-all-namespaces=false", "--health-addr=0", "--log-encoding=console"])
        .args(flags);
    Process::start("image-automation-controller", &mut command, &folder.path().join("log")).unwrap()
}
