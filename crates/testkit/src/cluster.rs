//! A real Kubernetes of one node, which runs Pods (CP-05 to CP-07, CP-11).
//!
//! ```text
//!   host:        etcd, kube-apiserver, kube-controller-manager, registry, NetworkPolicies
//!                     │ veth, a network of its own: 10.213.N.1 here, 10.213.N.2 there
//!   namespaces:  containerd, kubelet, kube-proxy, kube-scheduler, CoreDNS, and the Pods in 10.214.N.0/24
//! ```
//!
//! Invariant: everything that the node does to a machine (mounts, devices, packet filters, files below `/run` and `/var`) it does in
//! namespaces that end with their first process. Control groups alone are outside; they have one name, and are removed by it.

mod files;
mod namespaces;
mod network;
mod policies;
mod requirements;

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_image::{Contents, Image, ImageSettings, Layer};

use self::namespaces::Namespaces;
use self::network::Network;
use self::policies::Policies;
use crate::control_plane::{NODE_TOKEN, Program};
use crate::skip::{found_or_skipped, skipped};
use crate::{
    ControlPlane, Error, FaultProxy, Folder, Process, Registry, built_program, eventually, wait_condition,
};

/// The node is ready 6 s after its start on a quiet machine (CP-05).
const READY_DEADLINE: Duration = Duration::from_secs(120);

/// Containerd answers within a second on a quiet machine.
const RUNTIME_DEADLINE: Duration = Duration::from_secs(60);

/// The program that does nothing, or serves a page: for images of tests.
const STAND_IN: &str = "stand-in";

/// A running cluster. Dropping it ends its processes, and with them its namespaces.
#[derive(Debug)]
pub struct Cluster {
    // Fields drop in order: who asks ends before who answers.
    programs: Vec<Process>,
    _policies: Policies,
    plane: ControlPlane,
    _namespaces: Namespaces,
    registry: Registry,
    registry_front: FaultProxy,
    network: Network,
    folder: Folder,
}

impl Cluster {
    /// Starts a cluster and waits until its node is ready.
    ///
    /// # Errors
    /// [`Error::NoNode`] when this machine cannot run one; otherwise when a part does not get ready in time.
    pub async fn start() -> Result<Self, Error> {
        let program = Program::find().await?;
        let applets = requirements::check(&program)?;
        let folder = Folder::new("node")?;
        let network = Network::unused()?;
        let namespaces = Namespaces::start(&folder, network).await?;
        let registry = Registry::start().await?;
        let registry_front = FaultProxy::tcp_at(network.host(), registry.address()).await?;
        let plane = ControlPlane::options().for_nodes_at(network.host()).start().await?;
        push_pause(&registry).await?;
        let policies = Policies::start(&plane.client()?, network, &namespaces).await?;
        files::container_network(&folder, network, policies.address())?;
        let runtime = start_runtime(&folder, &namespaces, &registry_front.address()).await?;
        let mut programs = vec![runtime];
        programs.extend(start_programs(&applets, &folder, network, &namespaces, &plane)?);
        let mut cluster = Self {
            programs,
            _policies: policies,
            plane,
            _namespaces: namespaces,
            registry,
            registry_front,
            network,
            folder,
        };
        let nodes = cluster.plane.api("v1", "Node", "").await?;
        if let Err(late) = wait_condition(&nodes, files::NODE, "Ready", "True", None, READY_DEADLINE).await {
            // A program that has ended says why in its log.
            cluster.programs.iter_mut().try_for_each(Process::check_running)?;
            return Err(late);
        }
        Ok(cluster)
    }

    /// Returns true if this machine can run a cluster with a node; a line says why not. Whoever may make no namespaces leaves the
    /// test out.
    ///
    /// # Errors
    /// When programs are missing although no test may be left out.
    pub async fn is_possible() -> Result<bool, Error> {
        if !requirements::may_make_namespaces() {
            skipped("needs root, to make the namespaces of a node");
            return Ok(false);
        }
        let checked = requirements::check(&Program::find().await?);
        Ok(found_or_skipped("a node", checked)?.is_some())
    }

    /// The folder of its node.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its control plane.
    #[must_use]
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// A registry from which the node may pull.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Host and port of the registry, as this machine, the node and Pods know it.
    #[must_use]
    pub fn registry_address(&self) -> String {
        self.registry_front.address()
    }

    /// Lets Pods reach a server of this machine that listens on the loopback address; `host:port` of both are different.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn front_for(&self, address: &str) -> Result<FaultProxy, Error> {
        FaultProxy::tcp_at(self.network.host(), address).await
    }
}

/// Returns an image of the program that stands in for applications: by `entrypoint` it does nothing or serves a page.
///
/// # Errors
/// When the program has not been built.
pub fn stand_in_image(name: &str, tag: &str, entrypoint: &str) -> Result<Image, Error> {
    let mut contents = Contents::of_program(STAND_IN, &built_program(STAND_IN)?)?;
    let entrypoint = format!("/usr/local/bin/{entrypoint}");
    contents.link(&entrypoint, STAND_IN);
    contents.link("/usr/local/bin/podcli", STAND_IN);
    // Another file for each tag: an application's layers differ too.
    contents.text("/etc/version", tag);
    let settings = ImageSettings { name: name.into(), tag: tag.into(), entrypoint };
    Ok(Image::new(settings, Arc::new(Layer::pack(&contents)?)))
}

async fn push_pause(registry: &Registry) -> Result<(), Error> {
    registry.push_made_image("pause", "1", &stand_in_image("pause", "1", "pause")?).await.map(drop)
}

/// Starts what runs containers, and waits until it answers: kubelet ends where nobody does.
async fn start_runtime(folder: &Folder, namespaces: &Namespaces, registry: &str) -> Result<Process, Error> {
    let configuration = files::containerd(folder, registry)?;
    let mut command = namespaces.enter(Path::new("containerd"));
    command.arg("--config").arg(configuration);
    let mut runtime = Process::start("containerd", &mut command, &folder.join("containerd.log"))?;
    let socket = files::containerd_socket(folder);
    eventually("containerd", RUNTIME_DEADLINE, || {
        let running = runtime.check_running();
        let found = UnixStream::connect(&socket).is_ok().then_some(());
        async move { running.map(|()| found).transpose() }
    })
    .await??;
    Ok(runtime)
}

fn start_programs(
    applets: &Path,
    folder: &Folder,
    network: Network,
    namespaces: &Namespaces,
    plane: &ControlPlane,
) -> Result<Vec<Process>, Error> {
    let kubeconfig = plane.kubeconfig_path();
    let of_node = plane.kubeconfig_for(NODE_TOKEN)?;
    let applet = |name: &str, arguments: &[String]| {
        let mut command = namespaces.enter(applets);
        command.arg(name).args(arguments);
        Process::start(name, &mut command, &folder.join(&format!("{name}.log")))
    };
    let file = |path: PathBuf| path.display().to_string();
    let kubelet = file(files::kubelet(folder, network, namespaces.cgroup())?);
    let proxy = file(files::kube_proxy(folder, network, kubeconfig)?);
    let coredns = file(files::coredns(folder, network, kubeconfig)?);
    let node = files::NODE;
    Ok(vec![
        applet(
            "kubelet",
            &[
                format!("--config={kubelet}"),
                format!("--kubeconfig={}", of_node.display()),
                format!("--hostname-override={node}"),
                format!("--node-ip={}", network.node()),
            ],
        )?,
        applet("kube-proxy", &[format!("--config={proxy}")])?,
        applet(
            "kube-scheduler",
            &[format!("--kubeconfig={}", kubeconfig.display()), "--leader-elect=false".into()],
        )?,
        applet("coredns", &["-conf".into(), coredns])?,
    ])
}
