//! The real control plane: etcd, kube-apiserver and kube-controller-manager, no node (CP-04).

mod api_server;
mod audit;
mod identity;
mod launch;
mod objects;
mod program;

use std::collections::{BTreeSet, HashSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use tokio::sync::{Mutex, OnceCell};

use self::api_server::ApiServer;
pub use self::audit::{AuditCounts, AuditKey, AuditedRequest};
use self::identity::Clients;
pub(crate) use self::launch::NODE_TOKEN;
pub use self::objects::documents;
pub(crate) use self::program::Program;
use crate::{Error, Folder, Process, command};

static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();

/// A running control plane. Dropping it ends its processes and removes its folder.
#[derive(Debug)]
pub struct ControlPlane {
    // Fields drop in order: the processes end before their folder goes.
    etcd: Process,
    api_server: ApiServer,
    manager: Process,
    endpoint: Endpoint,
    clients: Clients,
    kubeconfig: PathBuf,
    weir_kubeconfig: PathBuf,
    audit_log: Option<PathBuf>,
    program: Program,
    applied_crds: Mutex<HashSet<PathBuf>>,
    folder: Folder,
}

/// Shows a test that fails why the control plane was slow or refused: requests that last over half a second stand in this log.
impl Drop for ControlPlane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the end of kube-apiserver's log:\n{}", self.api_server.log_tail());
            eprintln!("the end of etcd's log:\n{}", self.etcd.log_tail());
        }
    }
}

/// Configuration for clients of the API server.
#[derive(Debug, Clone)]
struct Endpoint {
    server: String,
    ca_pem: String,
    admin_token: String,
}

/// The options of a control plane.
#[derive(Debug, Clone, Default)]
pub struct ControlPlaneOptions {
    audit: bool,
    nodes_at: Option<Ipv4Addr>,
    /// The control plane whose tokens it accepts too.
    trusted: Option<Endpoint>,
}

impl ControlPlaneOptions {
    /// Writes one line for every request, so that requests can be counted with [`ControlPlane::audit_counts`].
    #[must_use]
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Accepts the ServiceAccount tokens of another control plane, with the names that its accounts have there, if they are
    /// for this one: their audience is its address.
    #[must_use]
    pub fn trusting(mut self, other: &ControlPlane) -> Self {
        self.trusted = Some(other.endpoint.clone());
        self
    }

    /// Serves at an address that a node and its Pods reach, and runs all controllers: for [`Cluster`](crate::Cluster).
    pub(crate) fn for_nodes_at(mut self, address: Ipv4Addr) -> Self {
        self.nodes_at = Some(address);
        self
    }

    /// Starts the control plane and waits until it serves.
    ///
    /// # Errors
    /// When the program cannot be built or found, or does not get ready in time.
    pub async fn start(self) -> Result<ControlPlane, Error> {
        launch::launch(self).await
    }
}

impl ControlPlane {
    /// Options for a control plane of one's own.
    #[must_use]
    pub fn options() -> ControlPlaneOptions {
        ControlPlaneOptions::default()
    }

    /// Starts a control plane of one's own.
    ///
    /// # Errors
    /// As [`ControlPlaneOptions::start`].
    pub async fn start() -> Result<Self, Error> {
        Self::options().start().await
    }

    /// The control plane that all tests of this process share; started by whoever asks first.
    ///
    /// Tests keep apart by using namespaces of their own.
    ///
    /// # Errors
    /// As [`ControlPlaneOptions::start`].
    pub async fn shared() -> Result<&'static Self, Error> {
        SHARED.get_or_try_init(Self::start).await
    }

    /// Returns the path of the program that control planes are started from, or of the folder with envtest's programs.
    ///
    /// # Errors
    /// When it cannot be built or found.
    pub async fn programs() -> Result<PathBuf, Error> {
        Ok(Program::find().await?.path().to_owned())
    }

    /// The kubeconfig file of the administrator.
    #[must_use]
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns a kubeconfig file for the user `weir`, who may do everything, so that an audit log separates the
    /// requests of the services from those of the test.
    #[must_use]
    pub fn weir_kubeconfig_path(&self) -> &Path {
        &self.weir_kubeconfig
    }

    /// The API server's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.endpoint.server
    }

    /// The folder with its data and logs.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Process ids of etcd, the API server and the controller-manager.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        vec![self.etcd.pid(), self.api_server.pid(), self.manager.pid()]
    }

    /// Runs `kubectl` as the administrator and returns what it printed.
    ///
    /// # Errors
    /// [`Error::Command`] with its standard error when it fails.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String, Error> {
        let mut kubectl = tokio::process::Command::from(self.program.kubectl());
        kubectl.arg("--kubeconfig").arg(&self.kubeconfig);
        kubectl.arg("--cache-dir").arg(self.folder.join("kubectl")).args(arguments);
        let output =
            kubectl.output().await.map_err(|source| Error::Spawn { program: "kubectl".into(), source })?;
        command::printed(format!("kubectl {}", arguments.join(" ")), output)
    }

    /// Returns the number of requests that the API server has answered, by account and object.
    ///
    /// # Errors
    /// When it was started without [`ControlPlaneOptions::audit`].
    pub fn audit_counts(&self) -> Result<AuditCounts, Error> {
        AuditCounts::read(self.audit_log())
    }

    /// Every distinct request that the API server has answered or refused.
    ///
    /// # Errors
    /// As [`ControlPlane::audit_counts`].
    pub fn audited_requests(&self) -> Result<BTreeSet<AuditedRequest>, Error> {
        AuditedRequest::read(self.audit_log())
    }

    fn audit_log(&self) -> &Path {
        self.audit_log.as_deref().unwrap_or_else(|| Path::new("(no audit log was asked for)"))
    }
}
