//! The surroundings of a service: the cluster, its namespace, the signal to stop, and the parts shared with other
//! services of the same process.

use std::time::Duration;

use jiff::Timestamp;
use kube::config::{KubeConfigOptions, KubeconfigError};
use tokio_util::sync::CancellationToken;

use crate::cache::CachePool;
use crate::client::{Login, kubeconfig};
use crate::grpc::Peers;
use crate::metrics::Metrics;
use crate::service::SharedServers;

/// Connections to the API server that hang are given up after this long without a byte; watches send bookmarks more often.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// Environment variables of kube that let whoever sets them act as someone else (DEP-K8S-2).
const FORBIDDEN: [&str; 3] =
    ["KUBE_RS_DEBUG_IMPERSONATE_USER", "KUBE_RS_DEBUG_IMPERSONATE_GROUP", "KUBE_RS_DEBUG_OVERRIDE_URL"];

/// Errors that make the surroundings unusable.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// No kubeconfig and not in a Pod.
    #[error(
        "no cluster: neither KUBECONFIG nor a Pod's service account leads to one: {kubeconfig}; {service_account}"
    )]
    NoCluster {
        /// The reason that no kubeconfig does.
        #[source]
        kubeconfig: Box<kubeconfig::Error>,
        /// The reason that no service account does.
        service_account: Box<kube::config::InClusterError>,
    },
    /// The client cannot be built of the configuration.
    #[error("the cluster's address or credentials are not usable: {0}")]
    Client(#[source] kube::Error),
    /// A variable is set that would change whom the service acts as.
    #[error(
        "refusing to start while the environment variable {0} is set: it would change who the service acts as"
    )]
    Impersonation(&'static str),
}

/// Returns the name of this host: `HOSTNAME`, as in a Pod, else the kernel's name.
pub fn hostname() -> String {
    let from_env = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let from_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    from_env.or_else(from_kernel).unwrap_or_default().trim().to_owned()
}

/// Returns the way to the cluster: that of the kubeconfig, else that of the Pod's service account.
fn kube_config() -> Result<kube::Config, EnvironmentError> {
    let found = kubeconfig::find().and_then(|file| Ok(file.ok_or(KubeconfigError::FindPath)?));
    let found = found.and_then(|file| kubeconfig::config(&file, &KubeConfigOptions::default()));
    found.or_else(|kubeconfig| {
        kube::Config::incluster().map_err(|service_account| EnvironmentError::NoCluster {
            kubeconfig: kubeconfig.into(),
            service_account: service_account.into(),
        })
    })
}

/// The surroundings of a service.
#[derive(Clone)]
pub struct Environment {
    /// The way to the cluster.
    pub kube_config: kube::Config,
    /// A client made of it.
    pub client: kube::Client,
    /// Cancelled when the process is to stop.
    pub shutdown: CancellationToken,
    /// Namespace the service runs in.
    pub runtime_namespace: String,
    /// The way in which other services are called over gRPC.
    pub peers: Peers,
    /// Watch caches, shared by all services of the process.
    pub caches: CachePool,
    /// Metrics, shared by all services of the process.
    pub metrics: Metrics,
    /// Servers of a process with several services; `None` where each service has its own.
    pub shared: Option<SharedServers>,
    /// The time to decide by.
    pub clock: fn() -> Timestamp,
}

impl Environment {
    /// The surroundings of this process: `KUBECONFIG` or the Pod's service account, `RUNTIME_NAMESPACE`.
    ///
    /// # Errors
    /// When there is no usable kubeconfig, or a variable is set that this program must not obey.
    pub fn from_process() -> Result<Self, EnvironmentError> {
        if !cfg!(debug_assertions)
            && let Some(name) = FORBIDDEN.into_iter().find(|name| std::env::var_os(name).is_some())
        {
            return Err(EnvironmentError::Impersonation(name));
        }
        let kube_config = kube_config()?;
        let namespace = std::env::var("RUNTIME_NAMESPACE").ok().filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or_else(|| "flux-system".to_owned());
        Self::new(kube_config, namespace)
    }

    /// Surroundings for a given cluster.
    ///
    /// # Errors
    /// When no client can be made for the cluster.
    pub fn new(kube_config: kube::Config, runtime_namespace: String) -> Result<Self, EnvironmentError> {
        Self::with_login(kube_config, runtime_namespace, None)
    }

    /// As [`Self::new`], for a user whose credentials come from a login.
    ///
    /// # Errors
    /// When no client can be made for the cluster.
    pub fn with_login(
        mut kube_config: kube::Config,
        runtime_namespace: String,
        login: Option<&Login>,
    ) -> Result<Self, EnvironmentError> {
        kube_config.read_timeout = Some(READ_TIMEOUT);
        let metrics = Metrics::default();
        let client = crate::client::client(kube_config.clone(), metrics.requests(), login)
            .map_err(EnvironmentError::Client)?;
        Ok(Self {
            peers: Peers::in_process(),
            kube_config,
            client,
            shutdown: CancellationToken::new(),
            runtime_namespace,
            caches: CachePool::new(metrics.clone()),
            metrics,
            shared: None,
            clock: Timestamp::now,
        })
    }
}
