//! The identity of a login: the Pod's, a ServiceAccount's of the object's own namespace (SRC-CLD-2), or of a command the
//! person's who runs it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use secrecy::SecretString;
use weir_http::Profile;

use crate::error::{LoginError, ProviderError};
use crate::kubernetes;

/// The object that needs a login.
#[derive(Debug, Clone)]
pub struct Caller<'a> {
    /// Its kind, for metrics.
    pub kind: &'static str,
    /// Its namespace, and that of its ServiceAccount.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// `spec.serviceAccountName`; empty is none.
    pub account: Option<&'a str>,
    /// Its way to its own server. Clouds are reached through its proxy, and without its certificates (SRC-PRX-2); GitHub, which
    /// is the object's own server, with both.
    pub http: &'a Profile,
    /// Time for the login as a whole.
    pub timeout: Duration,
}

/// The identity that a login is for.
#[derive(Clone)]
pub(crate) enum Identity {
    /// This process, with its access to the cluster that it runs in.
    Pod(kube::Client),
    /// The person or the CI job that runs this command, with their files and the programs that they have logged in to.
    Person,
    /// A ServiceAccount.
    Account(Account),
}

/// A ServiceAccount and what its annotations say.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) namespace: String,
    pub(crate) name: String,
    uid: String,
    annotations: BTreeMap<String, String>,
    client: kube::Client,
}

/// Finds out who an object is.
#[derive(Clone)]
pub(crate) struct Identities {
    /// Reads ServiceAccounts. A command has none, and nobody's identity but that of the person who runs it.
    pub(crate) client: Option<kube::Client>,
    /// True when objects have identities of their own.
    pub(crate) workload_identity: bool,
    /// Account of objects that name no ServiceAccount; empty is the Pod's.
    pub(crate) default_account: String,
}

impl Identities {
    /// Returns the ServiceAccount that the object names, which it may do behind a gate only.
    pub(crate) fn named<'a>(&self, caller: &Caller<'a>) -> Result<Option<&'a str>, LoginError> {
        let named = caller.account.filter(|name| !name.is_empty());
        if named.is_some() && !self.workload_identity {
            return Err(LoginError::GateDisabled);
        }
        Ok(named)
    }

    /// Returns the identity whose login the object gets. No provider is asked yet.
    pub(crate) async fn of(&self, caller: &Caller<'_>) -> Result<Identity, LoginError> {
        let named = self.named(caller)?;
        let default = Some(self.default_account.as_str()).filter(|name| !name.is_empty());
        let Some(client) = &self.client else { return Ok(Identity::Person) };
        let Some(name) = named.or(default) else { return Ok(Identity::Pod(client.clone())) };
        let place = format!("{}/{name}", caller.namespace);
        let api: Api<ServiceAccount> = Api::namespaced(client.clone(), caller.namespace);
        match api.get(name).await {
            Ok(account) => Ok(Identity::Account(Account {
                namespace: caller.namespace.to_owned(),
                name: name.to_owned(),
                uid: account.metadata.uid.unwrap_or_default(),
                annotations: account.metadata.annotations.unwrap_or_default(),
                client: client.clone(),
            })),
            Err(kube::Error::Api(status)) if status.code == 404 && named.is_none() => {
                Err(LoginError::Lockdown { place })
            }
            // As Flux's caches say it, which its users know; the API server has the plural.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                Err(LoginError::Account { place, reason: format!("ServiceAccount \"{name}\" not found") })
            }
            Err(kube::Error::Api(status)) => Err(LoginError::Account { place, reason: status.message }),
            Err(error) => Err(LoginError::Account { place, reason: error.to_string() }),
        }
    }
}

impl Identity {
    /// Returns the key of the identity in the cache: another ServiceAccount of the same name, or one that has got
    /// another identity in the cloud, has another key.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Pod(_) => "pod".to_owned(),
            Self::Person => "person".to_owned(),
            Self::Account(account) => {
                let who: Vec<String> = KEYS.iter().map(|key| account.annotation(key).to_owned()).collect();
                format!("account/{}/{}/{}/{}", account.namespace, account.name, account.uid, who.join("\n"))
            }
        }
    }

    /// An error of the provider as this identity's.
    pub(crate) fn refused(&self, source: ProviderError) -> ProviderError {
        match self {
            Self::Pod(_) => ProviderError::Pod(Box::new(source)),
            Self::Person => ProviderError::Person(Box::new(source)),
            Self::Account(account) => match source {
                // Nobody was asked for a token of the provider yet.
                before @ (ProviderError::KubernetesToken { .. } | ProviderError::Audience(_)) => before,
                annotation @ (ProviderError::Annotation { .. } | ProviderError::NoAnnotation { .. }) => {
                    ProviderError::Identity { place: account.place(), source: Box::new(annotation) }
                }
                other => ProviderError::Account { place: account.place(), source: Box::new(other) },
            },
        }
    }
}

/// The role in AWS.
pub(crate) const AWS_ROLE: &str = "eks.amazonaws.com/role-arn";
/// The tenant in Azure.
pub(crate) const AZURE_TENANT: &str = "azure.workload.identity/tenant-id";
/// The application or managed identity in Azure.
pub(crate) const AZURE_CLIENT: &str = "azure.workload.identity/client-id";
/// The service account in Google Cloud; without it the ServiceAccount has access itself.
pub(crate) const GCP_ACCOUNT: &str = "iam.gke.io/gcp-service-account";
/// The identity provider in Google Cloud of clusters that are not GKE.
pub(crate) const GCP_PROVIDER: &str = "gcp.auth.fluxcd.io/workload-identity-provider";
const KEYS: [&str; 5] = [AWS_ROLE, AZURE_TENANT, AZURE_CLIENT, GCP_ACCOUNT, GCP_PROVIDER];

impl Account {
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// An annotation; empty when it is missing.
    pub(crate) fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    /// Returns a token of Kubernetes that proves the identity to `audience` (DEP-CLD-3).
    pub(crate) async fn token(&self, audience: &str) -> Result<SecretString, ProviderError> {
        let seconds = kubernetes::SHORT_LIFE;
        let (token, _) = self.token_for(vec![audience.to_owned()], seconds).await?;
        Ok(token)
    }

    /// Returns a token for some audiences, for the API server itself if there are none, and its end.
    pub(crate) async fn token_for(
        &self,
        audiences: Vec<String>,
        seconds: i64,
    ) -> Result<(SecretString, SystemTime), ProviderError> {
        let requested =
            kubernetes::request(&self.client, &self.namespace, &self.name, audiences, seconds).await;
        requested.map_err(|reason| ProviderError::KubernetesToken { place: self.place(), reason })
    }
}
