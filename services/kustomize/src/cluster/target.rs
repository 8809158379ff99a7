//! The cluster that a Kustomization names (KS-IMP-4 to KS-IMP-7).

use std::sync::Arc;
use std::time::Duration;

use kube::config::Kubeconfig;
use sha2::{Digest, Sha256};
use weir_access::Secrets;
use weir_api::Kustomization;
use weir_api::kustomize::KubeConfigReference;
use weir_runtime::ObjectKey;

use super::kubeconfig::{self, Trust};
use super::login::{ClusterLogin, Opened};
use super::server::{self, Availability};
use super::{Cluster, Clusters, Remote, Remotes};

/// Remote clusters, each with its user, that are kept at once. Each has a connection and some watches.
const MAX_REMOTES: usize = 256;
/// Keys of the kubeconfig in a Secret where the spec names none.
const KEYS: [&str; 2] = ["value", "value.yaml"];

/// Errors of finding the cluster; the texts are Flux's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    /// It cannot be found or reached.
    #[error("{0}")]
    Failed(String),
    /// Another run is finding out. This says nothing about the cluster: to be tried again after this long.
    #[error("waiting for an answer of the remote API server")]
    Asking(Duration),
}

impl Clusters {
    /// Returns the cluster that a Kustomization names now: its Secret is read anew. A remote one must answer.
    ///
    /// # Errors
    /// There is no usable kubeconfig, or the API server does not answer.
    pub(crate) async fn target(
        &self,
        kustomization: &Kustomization,
        secrets: &Secrets,
    ) -> Result<Cluster, TargetError> {
        let key = ObjectKey::of(kustomization);
        let Some(reference) = &kustomization.spec.kube_config else {
            self.0.remotes.lock().users.remove(&key);
            return Ok(self.0.local.clone());
        };
        let cluster = self.named(&key, reference, secrets).await.map_err(TargetError::Failed)?;
        if let Some(remote) = &cluster.0.remote {
            remote.availability.check(&cluster.own()).await?;
        }
        Ok(cluster)
    }

    /// The cluster of a reference, which those share who have the same as the same user.
    async fn named(
        &self,
        key: &ObjectKey,
        reference: &KubeConfigReference,
        secrets: &Secrets,
    ) -> Result<Cluster, String> {
        match (&reference.secret_ref, &reference.config_map_ref) {
            (Some(secret), _) => {
                let bytes =
                    kubeconfig_of(&secret.name, secret.key.as_deref(), &key.namespace, secrets).await?;
                self.by_secret(key, &bytes)
            }
            (None, Some(config_map)) => self.by_config_map(key, &config_map.name).await,
            (None, None) => Err("spec.kubeConfig names neither a Secret nor a ConfigMap".to_owned()),
        }
    }

    async fn by_config_map(&self, key: &ObjectKey, name: &str) -> Result<Cluster, String> {
        let login = self.0.logins.find(key, name).await?;
        let Opened { kubeconfig, fingerprint } = login.open().await?;
        if let Some(known) = self.known(key, fingerprint) {
            let kept = known.0.remote.as_ref().and_then(|remote| remote.login.as_ref());
            kept.inspect(|kept| kept.renew(&login));
            return Ok(known);
        }
        self.make(key, fingerprint, kubeconfig, Some(Arc::new(login)))
    }

    fn by_secret(&self, key: &ObjectKey, bytes: &[u8]) -> Result<Cluster, String> {
        let Trust { exec, tls } = self.0.trust;
        let mut hash = Sha256::new();
        hash.update([u8::from(exec), u8::from(tls)]);
        hash.update(bytes);
        let fingerprint: [u8; 32] = hash.finalize().into();
        if let Some(known) = self.known(key, fingerprint) {
            return Ok(known);
        }
        let kubeconfig = kubeconfig::read(bytes, self.0.trust)?;
        self.make(key, fingerprint, kubeconfig, None)
    }

    /// Makes what is kept of a cluster.
    fn make(
        &self,
        key: &ObjectKey,
        fingerprint: [u8; 32],
        kubeconfig: Kubeconfig,
        login: Option<Arc<ClusterLogin>>,
    ) -> Result<Cluster, String> {
        let client = server::client(kubeconfig, login.clone())?;
        let shutdown = self.0.make.shutdown.child_token();
        let guard = shutdown.clone().drop_guard();
        let made = Remote { fingerprint, availability: Availability::default(), login, _guard: guard };
        let cluster = self.0.make.cluster(client, shutdown, Some(made));
        self.0.remotes.lock().keep(key, fingerprint, cluster)
    }

    fn known(&self, key: &ObjectKey, fingerprint: [u8; 32]) -> Option<Cluster> {
        self.0.remotes.lock().known(key, fingerprint)
    }
}

impl Remotes {
    fn known(&mut self, key: &ObjectKey, fingerprint: [u8; 32]) -> Option<Cluster> {
        let cluster = Cluster(self.by_fingerprint.get(&fingerprint)?.upgrade()?);
        self.users.insert(key.clone(), cluster.clone());
        Some(cluster)
    }

    /// Keeps a cluster that was just made, and returns the one to use: of runs that make the same at once, the first one's. Were
    /// there two, each would ask a silent server, and hold a worker.
    fn keep(&mut self, key: &ObjectKey, fingerprint: [u8; 32], made: Cluster) -> Result<Cluster, String> {
        if let Some(known) = self.known(key, fingerprint) {
            return Ok(known);
        }
        self.by_fingerprint.retain(|_, inner| inner.strong_count() > 0);
        if self.by_fingerprint.len() >= MAX_REMOTES {
            return Err(format!("more than {MAX_REMOTES} remote clusters and users are in use"));
        }
        self.by_fingerprint.insert(fingerprint, Arc::downgrade(&made.0));
        self.users.insert(key.clone(), made.clone());
        Ok(made)
    }
}

/// KS-IMP-5
async fn kubeconfig_of(
    name: &str,
    key: Option<&str>,
    namespace: &str,
    secrets: &Secrets,
) -> Result<Vec<u8>, String> {
    let secret = secrets.get(namespace, name).await;
    let secret = secret
        .map_err(|error| format!("unable to read KubeConfig secret '{namespace}/{name}' error: {error}"))?;
    let named = key.filter(|key| !key.is_empty());
    let keys = named.map_or_else(|| KEYS.to_vec(), |key| vec![key]);
    let found = keys.iter().find_map(|key| secret.data.get(*key).filter(|bytes| !bytes.is_empty()));
    found.cloned().ok_or_else(|| {
        let key = named.unwrap_or("value");
        format!("KubeConfig secret '{namespace}/{name}' does not contain a '{key}' key with a kubeconfig")
    })
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::config::Config;
    use tokio_util::sync::CancellationToken;

    use super::super::Make;
    use super::*;

    fn made() -> Cluster {
        let config = Config::new("http://127.0.0.1:1".parse().unwrap());
        let make = Make {
            overridden: Vec::new(),
            default_account: None,
            shutdown: CancellationToken::new(),
            notify: Arc::new(|_, _, _| ()),
        };
        make.cluster(Client::try_from(config).unwrap(), CancellationToken::new(), None)
    }

    #[tokio::test]
    async fn runs_that_make_a_cluster_at_once_share_the_first() {
        let mut remotes = Remotes::default();
        let key = |name: &str| ObjectKey { namespace: "apps".into(), name: name.into() };
        let first = remotes.keep(&key("a"), [1; 32], made()).unwrap();
        let second = remotes.keep(&key("b"), [1; 32], made()).unwrap();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        let other = remotes.keep(&key("c"), [2; 32], made()).unwrap();
        assert!(!Arc::ptr_eq(&first.0, &other.0));
        assert_eq!(remotes.users.len(), 3);
    }
}
