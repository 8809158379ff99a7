//! Logins to the clusters that ConfigMaps describe (KS-IMP-7 to KS-IMP-11): tokens of a cloud, or of this cluster for those that
//! trust it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};
use kube::{Api, Client};
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use weir_api::{FluxObject, Kustomization};
use weir_auth::{Caller, ClusterSpec, Credentials, Login, Logins, Operation, Provider};
use weir_http::Profile;
use weir_runtime::ObjectKey;
use weir_runtime::client::reason;

/// Longest wait for a token, with what is asked of a cloud about the cluster.
const TIME: Duration = Duration::from_secs(10);
/// Audiences of a token; some API servers have three.
const MAX_AUDIENCES: usize = 32;
/// Name of the only context, cluster and user.
const ONLY: &str = "remote";
const GATE: &str =
    "failed to get access token for cluster: ObjectLevelWorkloadIdentity feature gate is not enabled";

/// The error of tenants whose ConfigMaps name nobody.
const NAMELESS: &str = "names no serviceAccountName: with --default-service-account, the identity of the controller is for \
     Kustomizations of its own namespace only (see --default-kubeconfig-service-account)";

/// Reads the ConfigMaps and gets the tokens.
#[derive(Clone)]
pub(crate) struct ClusterLogins {
    client: Client,
    logins: Logins,
    workload_identity: bool,
    own_identity: OwnIdentity,
}

/// The Kustomizations that may enter clusters as the controller when their ConfigMap names no account. The ConfigMap also names the address
/// to which the token is sent, and whoever gets a token of the controller can act as the controller (KS-TEN-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnIdentity {
    /// All, as nothing keeps them from acting as the controller anyway, or as there is an account for them.
    ForAll,
    /// Those of this namespace, the controller's own.
    ForNamespace(String),
}

/// The login of one Kustomization to a cluster.
pub(super) struct ClusterLogin {
    logins: Logins,
    spec: ClusterSpec,
    owner: ObjectKey,
    account: Option<String>,
    kept: Mutex<Option<Kept>>,
}

/// A token as requests carry it.
#[derive(Clone)]
struct Kept {
    header: HeaderValue,
    until: SystemTime,
}

/// A cluster that was logged in to: its kubeconfig, and a fingerprint that differs where the cluster or its user does.
pub(super) struct Opened {
    pub(super) kubeconfig: Kubeconfig,
    pub(super) fingerprint: [u8; 32],
}

impl ClusterLogins {
    /// `client` reads the ConfigMaps as the service itself (KS-IMP-2). Logins are counted as Flux does it (KS-MET-2).
    pub(crate) fn new(
        client: Client,
        logins: Logins,
        workload_identity: bool,
        own_identity: OwnIdentity,
    ) -> Self {
        let logins = logins.counted_as(Operation::FetchKubeconfig);
        Self { client, logins, workload_identity, own_identity }
    }

    /// Reads the description of a cluster (KS-IMP-7).
    pub(super) async fn find(&self, owner: &ObjectKey, name: &str) -> Result<ClusterLogin, String> {
        let namespace = &owner.namespace;
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let failed = |error: String| format!("failed to get configmap {namespace}/{name}: {error}");
        let found = api.get(name).await.map_err(|error| failed(reason(error)))?;
        let mut data = found.data.unwrap_or_default();
        let mut text = |key: &str| data.remove(key).unwrap_or_default();
        let provider = text("provider");
        let audiences = text("audiences");
        let audiences = audiences.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
        let spec = ClusterSpec {
            provider: match (provider.as_str(), Provider::parse(Some(&provider))) {
                ("generic", _) => None,
                (_, Some(cloud)) => Some(cloud),
                (other, None) => return Err(format!("provider '{other}' not implemented")),
            },
            name: text("cluster"),
            address: text("address"),
            ca: text("ca.crt"),
            audiences: audiences.take(MAX_AUDIENCES).collect(),
        };
        let account = Some(text("serviceAccountName")).filter(|name| !name.is_empty());
        if account.is_some() && !self.workload_identity {
            return Err(GATE.to_owned());
        }
        if account.is_none() && !self.own_identity.is_for(namespace) {
            return Err(format!("configmap {namespace}/{name} {NAMELESS}"));
        }
        let (logins, owner) = (self.logins.clone(), owner.clone());
        Ok(ClusterLogin { logins, spec, owner, account, kept: Mutex::default() })
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.logins.forget(Kustomization::KIND, &key.namespace, &key.name);
    }
}

impl OwnIdentity {
    fn is_for(&self, namespace: &str) -> bool {
        match self {
            Self::ForAll => true,
            Self::ForNamespace(own) => own == namespace,
        }
    }
}

impl ClusterLogin {
    /// Gets a token, and the place of the cluster.
    pub(super) async fn open(&self) -> Result<Opened, String> {
        let login = self.log_in().await?;
        let Credentials::Cluster { address, ca, .. } = &login.credentials else {
            return Err("the provider gave no token for the cluster".to_owned());
        };
        let mut hash = Sha256::new();
        let account = self.account.as_deref().unwrap_or_default();
        let provider = self.spec.provider.map_or("generic", Provider::name);
        // Whoever has another identity gets another client.
        let parts = [provider, &self.spec.name, address.as_str(), ca, &self.owner.namespace, account];
        for part in parts.into_iter().chain(self.spec.audiences.iter().map(String::as_str)) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Ok(Opened { kubeconfig: kubeconfig(address.as_str(), ca), fingerprint: hash.finalize().into() })
    }

    /// Takes over the token of another login to the same cluster with the same identity.
    pub(super) fn renew(&self, newer: &Self) {
        let kept = newer.kept.lock().clone();
        *self.kept.lock() = kept;
    }

    /// The header of requests; renewed when half of its time has passed since it was last requested (KS-IMP-10).
    pub(super) async fn header(&self) -> Result<HeaderValue, String> {
        let kept = self.kept.lock().clone();
        if let Some(kept) = kept.filter(|kept| kept.until > SystemTime::now()) {
            return Ok(kept.header);
        }
        self.log_in().await?;
        let kept = self.kept.lock().clone();
        kept.map(|kept| kept.header).ok_or_else(|| "the provider gave no token for the cluster".to_owned())
    }

    async fn log_in(&self) -> Result<Arc<Login>, String> {
        let caller = Caller {
            kind: Kustomization::KIND,
            namespace: &self.owner.namespace,
            name: &self.owner.name,
            account: self.account.as_deref(),
            http: &Profile::default(),
            timeout: TIME,
        };
        let login = self.logins.cluster(&caller, &self.spec).await.map_err(|error| error.to_string())?;
        if let Credentials::Cluster { token, .. } = &login.credentials {
            let header = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
            let mut header = header.map_err(|_| "the token of the provider is no header".to_owned())?;
            header.set_sensitive(true);
            let now = SystemTime::now();
            let left = login.expires.duration_since(now).unwrap_or_default();
            *self.kept.lock() = Some(Kept { header, until: now + left / 2 });
        }
        Ok(login)
    }
}

/// The place of a cluster as a kubeconfig without user.
fn kubeconfig(address: &str, ca: &str) -> Kubeconfig {
    let only = || ONLY.to_owned();
    let cluster = Cluster {
        server: Some(address.to_owned()),
        certificate_authority_data: (!ca.is_empty()).then(|| STANDARD.encode(ca)),
        ..Cluster::default()
    };
    let context = Context { cluster: only(), user: Some(only()), ..Context::default() };
    Kubeconfig {
        current_context: Some(only()),
        clusters: vec![NamedCluster { name: only(), cluster: Some(cluster), ..NamedCluster::default() }],
        auth_infos: vec![NamedAuthInfo {
            name: only(),
            auth_info: Some(AuthInfo::default()),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext { name: only(), context: Some(context), ..NamedContext::default() }],
        ..Kubeconfig::default()
    }
}

#[cfg(test)]
mod tests {
    use weir_auth::LoginOptions;
    use weir_runtime::metrics::Metrics;

    use super::*;

    /// KS-MET-2: also where nobody gives a token.
    #[tokio::test]
    async fn logins_to_clusters_have_their_own_operation() {
        weir_runtime::service::install_crypto();
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let logins = Logins::new(client.clone(), LoginOptions::default()).unwrap();
        let metrics = Metrics::default();
        metrics.register(|registry| logins.register(registry));
        let ClusterLogins { logins, .. } = ClusterLogins::new(client, logins, false, OwnIdentity::ForAll);
        let spec = ClusterSpec { address: "https://127.0.0.1:1".to_owned(), ..ClusterSpec::default() };
        let owner = ObjectKey::new("apps".to_owned(), "web".to_owned());
        let login = ClusterLogin { logins, spec, owner, account: None, kept: Mutex::default() };
        let error = login.open().await.err().unwrap();
        let text = metrics.encode().unwrap();
        let series = "{event_type=\"cache_miss\",kind=\"Kustomization\",name=\"web\",namespace=\"apps\",operation=\"fetch_kubeconfig\"} 1";
        assert!(text.contains(series), "{error}\n{text}");
    }
}
