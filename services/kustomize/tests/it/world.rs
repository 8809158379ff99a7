//! One control plane, one artifact server and one running service for all tests; each test has a namespace of its own.
//! Tests that start the service as a process share another control plane, which no service of this one looks at.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, oneshot};
use weir_kustomize_controller::args::Args;
use weir_testkit::{ControlPlane, Folder, Process, SinkAnswer, WebhookSink};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The program of the service.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kustomize-controller");

type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

struct Shared {
    /// The service ends with it.
    _running: Option<oneshot::Sender<Infallible>>,
    plane: ControlPlane,
    sink: WebhookSink,
    files: Files,
    grpc: u16,
}

static SHARED: OnceCell<Arc<Shared>> = OnceCell::const_new();
static SERVICELESS: OnceCell<Arc<Shared>> = OnceCell::const_new();

pub(crate) struct World {
    shared: Arc<Shared>,
    pub(crate) ns: String,
}

/// A control plane, and a server of artifacts.
async fn surroundings() -> (ControlPlane, WebhookSink, Files) {
    let plane = ControlPlane::options().audit().start().await.unwrap();
    plane.apply_crds(&weir_testkit::repo_path("deploy/kustomize/crds")).await.unwrap();
    let (sink, files) = (WebhookSink::start().await.unwrap(), Files::default());
    let served = Arc::clone(&files);
    sink.answer_with(move |request| match served.lock().get(&request.path) {
        Some(body) => SinkAnswer { body: body.clone().into(), ..SinkAnswer::default() },
        None => SinkAnswer { status: http::StatusCode::NOT_FOUND, ..SinkAnswer::default() },
    });
    (plane, sink, files)
}

/// Starts everything, and with flags the service too.
async fn start(flags: Option<&'static [&'static str]>) -> Arc<Shared> {
    let (tell, started) = oneshot::channel();
    let (running, ended) = oneshot::channel();
    // The service outlives the runtime of the test that happens to be first.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let (plane, sink, files) = surroundings().await;
            let grpc = weir_testkit::free_port().unwrap();
            let grpc_addr = format!("--grpc-addr=127.0.0.1:{grpc}");
            let usual = [
                "kustomize-controller",
                "--metrics-addr=0",
                "--health-addr=0",
                &grpc_addr,
                "--requeue-dependency=2s",
                "--concurrent=8",
            ];
            let args = flags.map(|flags| Args::parse_from(usual.iter().chain(flags)));
            // A user of its own separates the service's requests from those of the tests.
            let kubeconfig = Kubeconfig::read_from(plane.weir_kubeconfig_path()).unwrap();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .unwrap();
            let env = weir_runtime::Environment::new(config, "flux-system".into()).unwrap();
            let _ = tell.send(Arc::new(Shared { _running: Some(running), plane, sink, files, grpc }));
            let service = async {
                match args {
                    Some(args) => weir_kustomize_controller::run(args, env).await.unwrap(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = service => {}
                _ = ended => {}
            }
        });
    });
    started.await.unwrap()
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::over(Arc::clone(SHARED.get_or_init(|| start(Some(&[]))).await)).await
    }

    /// A world that no other test has a part in, to count requests. It ends with its test, as do the other worlds of one test.
    pub(crate) async fn alone() -> Self {
        Self::with_flags(&[]).await
    }

    /// A world without a service.
    pub(crate) async fn without_service() -> Self {
        Self::over(Arc::clone(SERVICELESS.get_or_init(|| start(None)).await)).await
    }

    /// A world whose service has more flags.
    pub(crate) async fn with_flags(flags: &'static [&'static str]) -> Self {
        Self::over(start(Some(flags)).await).await
    }

    /// A world that no other test has a part in, whose service is started by [`World::launch`].
    pub(crate) async fn idle() -> Self {
        let (plane, sink, files) = surroundings().await;
        let grpc = weir_testkit::free_port().unwrap();
        Self::over(Arc::new(Shared { _running: None, plane, sink, files, grpc })).await
    }

    /// A world whose service is a process of its own.
    pub(crate) async fn process(flags: &[&str]) -> (Self, Process) {
        let world = Self::idle().await;
        let process = world.launch(Command::new(PROGRAM), flags);
        (world, process)
    }

    /// A world whose service is a process of its own, of a user with this home directory.
    pub(crate) async fn process_of_user(flags: &[&str], home: &Path) -> (Self, Process) {
        let world = Self::idle().await;
        let mut command = Command::new(PROGRAM);
        command.env("HOME", home);
        let process = world.launch(command, flags);
        (world, process)
    }

    /// Starts the service of an idle world, or another one in the place of one that has ended.
    pub(crate) fn launch(&self, mut command: Command, flags: &[&str]) -> Process {
        command
            .env("KUBECONFIG", self.plane().weir_kubeconfig_path())
            .args(["--metrics-addr=0", "--health-addr=0", "--log-encoding=console"])
            .arg(format!("--grpc-addr=127.0.0.1:{}", self.shared.grpc))
            .args(flags);
        let folder: &'static Folder = Box::leak(Box::new(Folder::new("kustomize").unwrap()));
        Process::start("kustomize-controller", &mut command, &folder.path().join("log")).unwrap()
    }

    async fn over(shared: Arc<Shared>) -> Self {
        let ns = shared.plane.unique_namespace("ks").await.unwrap();
        Self { shared, ns }
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.shared.plane
    }

    pub(crate) fn grpc_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.shared.grpc)
    }

    pub(crate) async fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        self.shared.plane.api(api_version, kind, &self.ns).await.unwrap()
    }

    pub(crate) async fn kustomizations(&self) -> Api<DynamicObject> {
        self.api("kustomize.toolkit.fluxcd.io/v1", "Kustomization").await
    }

    /// A GitRepository whose artifact holds these files; the revision is made of `version`.
    pub(crate) async fn source(&self, name: &str, version: u32, content: &[(&str, &str)]) -> String {
        let spec = json!({"interval": "1h", "url": "https://example.com/x"});
        let revision = format!("main@sha1:{version}");
        self.source_of("GitRepository", name, spec, &revision, content).await;
        revision
    }

    /// A source of any kind that advertises these files as this revision.
    pub(crate) async fn source_of(
        &self,
        kind: &str,
        name: &str,
        spec: Value,
        revision: &str,
        content: &[(&str, &str)],
    ) {
        let content: Vec<_> = content.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        self.advertise(kind, name, spec, revision, archive(&content)).await;
    }

    /// A source of any kind that advertises this archive.
    pub(crate) async fn advertise(
        &self,
        kind: &str,
        name: &str,
        spec: Value,
        revision: &str,
        archive: Vec<u8>,
    ) {
        let digest = weir_artifact::Digest::of(weir_artifact::Algorithm::Sha256, &archive);
        let path = format!("/{}/{kind}/{name}/{}.tar.gz", self.ns, digest.hex());
        self.shared.files.lock().insert(path.clone(), archive);
        let api = self.api("source.toolkit.fluxcd.io/v1", kind).await;
        let object = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind,
            "metadata": {"name": name}, "spec": spec});
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await.unwrap();
        let status = json!({"status": {"artifact": {"path": "../../etc/passwd", "url": self.shared.sink.url(&path),
            "digest": digest.to_string(), "revision": revision, "lastUpdateTime": "2026-01-01T00:00:00Z"}}});
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    /// A Kustomization over the source `src` that applies into the test's namespace.
    pub(crate) async fn kustomization(&self, name: &str, fields: Value) -> DynamicObject {
        let mut spec = json!({"interval": "1h", "retryInterval": "1h", "prune": true, "targetNamespace": self.ns,
            "sourceRef": {"kind": "GitRepository", "name": "src"}});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name}, "spec": spec});
        let params = PatchParams::apply("test").force();
        self.kustomizations().await.patch(name, &params, &Patch::Apply(object)).await.unwrap()
    }

    pub(crate) async fn ready(&self, name: &str) -> DynamicObject {
        weir_testkit::wait_ready(&self.kustomizations().await, name, PATIENCE).await.unwrap()
    }

    pub(crate) async fn not_ready(&self, name: &str, reason: &str) -> DynamicObject {
        let api = self.kustomizations().await;
        weir_testkit::wait_condition(&api, name, "Ready", "False", Some(reason), PATIENCE).await.unwrap()
    }

    /// Waits until the health of what was applied is checked.
    pub(crate) async fn under_check(&self, name: &str) -> DynamicObject {
        let api = self.kustomizations().await;
        weir_testkit::wait_condition(&api, name, "Healthy", "Unknown", None, PATIENCE).await.unwrap()
    }

    /// Ready, with this revision applied.
    pub(crate) async fn applied(&self, name: &str, revision: &str) -> DynamicObject {
        self.applied_within(PATIENCE, name, revision).await
    }

    /// As [`World::applied`], for what takes its time.
    pub(crate) async fn applied_within(
        &self,
        patience: Duration,
        name: &str,
        revision: &str,
    ) -> DynamicObject {
        let api = self.kustomizations().await;
        let applied = |found: Option<&DynamicObject>| {
            found.is_some_and(|found| {
                found.data["status"]["lastAppliedRevision"] == revision
                    && weir_testkit::condition(found, "Ready").is_some_and(|ready| ready.status == "True")
            })
        };
        weir_testkit::wait_for(&api, name, "the revision is applied", patience, applied)
            .await
            .unwrap()
            .unwrap()
    }

    /// Asks for a reconcile and waits until it is done.
    pub(crate) async fn requested(&self, name: &str) -> DynamicObject {
        let api = self.kustomizations().await;
        let token = weir_testkit::touch_requested_at(&api, name).await.unwrap();
        let handled = |found: Option<&DynamicObject>| {
            found.is_some_and(|found| found.data["status"]["lastHandledReconcileAt"] == token.as_str())
        };
        weir_testkit::wait_for(&api, name, "the request is handled", PATIENCE, handled)
            .await
            .unwrap()
            .unwrap()
    }

    pub(crate) async fn config_map(&self, name: &str) -> Option<DynamicObject> {
        self.api("v1", "ConfigMap").await.get_opt(name).await.unwrap()
    }

    /// Messages of the events about an object, oldest first.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let api = self.api("v1", "Event").await;
        let list = api.list(&kube::api::ListParams::default()).await.unwrap();
        let mut events: Vec<(String, String)> = list
            .into_iter()
            .filter(|event| event.data["involvedObject"]["name"] == name)
            .map(|event| {
                let text = |field: &str| event.data[field].as_str().unwrap_or_default().to_owned();
                (
                    event.metadata.resource_version.clone().unwrap_or_default(),
                    format!("{}: {}", text("reason"), text("message")),
                )
            })
            .collect();
        events.sort_by_key(|(version, _)| version.parse::<u64>().unwrap_or(0));
        events.into_iter().map(|(_, message)| message).collect()
    }

    /// Waits for an event whose text contains these words.
    pub(crate) async fn event(&self, name: &str, words: &str) -> String {
        weir_testkit::eventually("the event", PATIENCE, async || {
            self.events(name).await.into_iter().find(|event| event.contains(words))
        })
        .await
        .unwrap()
    }
}

pub(crate) fn cm(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  k: \"{value}\"\n")
}

pub(crate) fn deployment(name: &str, replicas: u32) -> String {
    let labels = |indent: usize, key: &str| {
        format!("{}{key}:\n{}app: {name}\n", " ".repeat(indent), " ".repeat(indent + 2))
    };
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n  \
         selector:\n{}  template:\n    metadata:\n{}    spec:\n      containers: [{{name: c, image: example.com/c:1}}]\n",
        labels(4, "matchLabels"),
        labels(6, "labels"),
    )
}

/// Files, and directories, whose paths end with a slash.
pub(crate) fn archive(content: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, bytes) in content {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        if path.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        tar.append_data(&mut header, path, *bytes).unwrap();
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar.into_inner().unwrap()).unwrap();
    gzip.finish().unwrap()
}
