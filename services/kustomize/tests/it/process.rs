//! The service as a process of its own, with the account, the token file and the rights that `deploy/kustomize` gives it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use weir_testkit::{ControlPlane, FaultProxy, Folder, Process};

use crate::world::{PATIENCE, World};

const ACCOUNT: (&str, &str) = ("flux-system", "kustomize-controller");

/// Signal of `abort`, by which a kill point ends the process.
const SIGABRT: i32 = 6;

/// The service over a namespace of its own. It is started by [`Service::start`].
pub(crate) struct Service {
    pub(crate) world: World,
    process: Option<Process>,
    folder: Folder,
    kubeconfig: PathBuf,
    kill_points: u32,
}

/// Objects of one Kustomization by the ids of its inventory, with the value that tells revisions apart.
pub(crate) type Objects = BTreeMap<String, String>;

impl Service {
    /// A service that is not started yet.
    pub(crate) async fn new() -> Self {
        Self::leading_to(|plane| plane.server().to_owned()).await
    }

    /// A service that is not started yet, and that meets the API server through a proxy.
    pub(crate) async fn behind_proxy() -> (Self, FaultProxy) {
        let world = World::without_service().await;
        let proxy = FaultProxy::api_server(world.plane()).await.unwrap();
        let address = proxy.address();
        (Self::leading_to(|_| format!("http://{address}")).await, proxy)
    }

    async fn leading_to(server: impl FnOnce(&ControlPlane) -> String) -> Self {
        let world = World::without_service().await;
        let plane = world.plane();
        static RIGHTS: OnceCell<()> = OnceCell::const_new();
        RIGHTS.get_or_init(|| grant_rights(plane)).await;
        let folder = Folder::new("kustomize").unwrap();
        let token = plane.service_account_token(ACCOUNT.0, ACCOUNT.1).await.unwrap();
        let token = folder.write("token", token).unwrap();
        let kubeconfig = plane.kubeconfig_with(&server(plane), &token).unwrap();
        Self { world, process: None, folder, kubeconfig, kill_points: 0 }
    }

    /// Starts the process, or another one in its place.
    pub(crate) fn start(&mut self) {
        self.launch(&[]);
    }

    /// Starts a process that ends itself at a kill point, waits until it has, and makes sure that it was this point.
    pub(crate) async fn dies_at(&mut self, point: &str) {
        self.kill_points += 1;
        let marker = self.folder.join(&format!("killed-{}", self.kill_points));
        self.launch(&[("WEIR_KILL_POINT", point), ("WEIR_KILL_FILE", marker.to_str().unwrap())]);
        let status = self.process().wait(PATIENCE).await.unwrap();
        assert_eq!(status.signal(), Some(SIGABRT), "{point}: {status}\n{}", self.process().log_tail());
        assert!(marker.exists(), "{point}");
    }

    /// Ends the process by a signal that nobody can take.
    pub(crate) fn kill(&mut self) {
        self.process().kill();
    }

    pub(crate) fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("the service is started")
    }

    fn launch(&mut self, environment: &[(&str, &str)]) {
        drop(self.process.take());
        let mut command = Command::new(env!("CARGO_BIN_EXE_kustomize-controller"));
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("RUNTIME_NAMESPACE", &self.world.ns)
            .env("TMPDIR", self.folder.path())
            // Whoever tries a service out behind a proxy has a cluster on the same machine: the proxy is not for that.
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .envs(environment.iter().copied())
            .args(["--watch-all-namespaces=false", "--log-encoding=console", "--requeue-dependency=1s"])
            .args(["--metrics-addr=0", "--health-addr=0", "--grpc-addr=0"]);
        let process = Process::start("kustomize-controller", &mut command, &self.folder.join("log"));
        self.process = Some(process.unwrap());
    }

    /// Advertises a revision with these objects: cluster roles where the name starts with `role`, config maps else.
    pub(crate) async fn publish(&self, source: &str, number: u32, names: &[&str]) -> Revision {
        let ns = &self.world.ns;
        let value = number.to_string();
        let files: Vec<(String, String)> = names
            .iter()
            .map(|name| (format!("{name}.yaml"), manifest(&object_name(ns, name), name, &value)))
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let revision = self.world.source(source, number, &files).await;
        let objects = names.iter().map(|name| (id(ns, name), value.clone())).collect();
        Revision { revision, objects }
    }

    /// Declares a Kustomization that tries again at once.
    pub(crate) async fn declare(&self, name: &str, source: &str) {
        let fields = json!({"retryInterval": "1s", "sourceRef": {"kind": "GitRepository", "name": source}});
        self.world.kustomization(name, fields).await;
    }

    /// Waits until a revision is applied, and makes sure that the inventory and the cluster hold it, and nothing else.
    pub(crate) async fn holds(&mut self, name: &str, wanted: &Revision) {
        let api = self.world.kustomizations().await;
        let is_applied = |found: Option<&DynamicObject>| found.is_some_and(|found| wanted.is_applied(found));
        let found = weir_testkit::wait_for(&api, name, &wanted.revision, PATIENCE, is_applied).await;
        let found = match found {
            Ok(found) => found.unwrap(),
            Err(error) => panic!("{error}\n{}", self.process().log_tail()),
        };
        assert_eq!(self.objects(name).await, wanted.objects, "{name} in the cluster");
        let ids: BTreeSet<_> = inventory(&found).into_iter().collect();
        assert_eq!(ids, wanted.objects.keys().cloned().collect(), "inventory of {name}");
    }

    /// Waits until a deleted Kustomization is gone, and makes sure that nothing of it is left.
    pub(crate) async fn leaves_nothing(&mut self, name: &str) {
        let api = self.world.kustomizations().await;
        if let Err(error) = weir_testkit::wait_gone(&api, name, PATIENCE).await {
            panic!("{error}\n{}", self.process().log_tail());
        }
        assert_eq!(self.objects(name).await, Objects::new(), "{name} in the cluster");
    }

    /// Returns the objects of a Kustomization that the cluster has.
    pub(crate) async fn objects(&self, name: &str) -> Objects {
        let label = "kustomize.toolkit.fluxcd.io";
        let ns = &self.world.ns;
        let params = ListParams::default().labels(&format!("{label}/name={name},{label}/namespace={ns}"));
        let mut objects = Objects::new();
        for (version, kind) in [("v1", "ConfigMap"), ("rbac.authorization.k8s.io/v1", "ClusterRole")] {
            let api: Api<DynamicObject> = self.world.api(version, kind).await;
            for object in api.list(&params).await.unwrap() {
                let group = version.split_once('/').map_or("", |(group, _)| group);
                let metadata = &object.metadata;
                let namespace = metadata.namespace.clone().unwrap_or_default();
                let id = format!("{namespace}_{}_{group}_{kind}", metadata.name.clone().unwrap());
                let value = metadata.annotations.as_ref().and_then(|all| all.get("revision")).cloned();
                objects.insert(id, value.unwrap_or_default());
            }
        }
        objects
    }
}

/// A revision of a source, and what it makes.
pub(crate) struct Revision {
    pub(crate) revision: String,
    pub(crate) objects: Objects,
}

impl Revision {
    fn is_applied(&self, found: &DynamicObject) -> bool {
        let status = &found.data["status"];
        status["lastAppliedRevision"] == self.revision.as_str()
            && status["observedGeneration"].as_i64() == found.metadata.generation
            && weir_testkit::condition(found, "Ready").is_some_and(|ready| ready.status == "True")
    }
}

pub(crate) fn inventory(kustomization: &DynamicObject) -> Vec<String> {
    let entries = kustomization.data["status"]["inventory"]["entries"].as_array();
    let id = |entry: &Value| entry["id"].as_str().unwrap().to_owned();
    entries.into_iter().flatten().map(id).collect()
}

fn is_role(name: &str) -> bool {
    name.starts_with("role")
}

fn object_name(ns: &str, name: &str) -> String {
    if is_role(name) { format!("{ns}-{name}") } else { name.to_owned() }
}

/// The id in an inventory.
pub(crate) fn id(ns: &str, name: &str) -> String {
    match is_role(name) {
        true => format!("_{}_rbac.authorization.k8s.io_ClusterRole", object_name(ns, name)),
        false => format!("{ns}_{name}__ConfigMap"),
    }
}

fn manifest(object_name: &str, name: &str, value: &str) -> String {
    let head = match is_role(name) {
        true => "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules: []\n",
        false => "apiVersion: v1\nkind: ConfigMap\n",
    };
    format!("{head}metadata:\n  name: {object_name}\n  annotations: {{revision: \"{value}\"}}\n")
}

/// Applies the accounts and roles of `deploy/kustomize`.
async fn grant_rights(plane: &ControlPlane) {
    plane.apply_crds(&weir_testkit::repo_path("deploy/kustomize/crds")).await.unwrap();
    let folder = weir_testkit::repo_path("deploy/kustomize/overlays/default");
    let all = plane.kubectl(&["kustomize", folder.to_str().unwrap()]).await.unwrap();
    let kinds = ["Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    let is_wanted =
        |document: &&str| kinds.iter().any(|kind| document.contains(&format!("\nkind: {kind}\n")));
    let wanted: Vec<&str> = all.split("\n---\n").filter(is_wanted).collect();
    plane.apply_yaml(ACCOUNT.0, &wanted.join("\n---\n")).await.unwrap();
}
