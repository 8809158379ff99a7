//! Logins of a process: requested by objects, issued by providers, kept for a while.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use reqwest::Client;
use url::Url;
use weir_http::{Clients, Profile};

use crate::cache::{Making, TokenCache};
use crate::cluster::{Cluster, ClusterSpec};
use crate::credentials::{Credentials, Login, RegistryCredentials};
use crate::error::LoginError;
use crate::github::App;
use crate::identity::{Caller, Identities};
use crate::operation::Operation;
use crate::provider::Provider;
use crate::purpose::Purpose;
use crate::{aws, azure, gcp};

const USER_AGENT: &str = "weir";

/// A login, kept or in the making. Boxed by functions that are not `async`: whatever such a function awaits, SDKs of clouds here, is
/// compiled once more in each crate that calls it (docs/adr/0021).
pub type LoggingIn<'a> = Pin<Box<dyn Future<Output = Result<Arc<Login>, LoginError>> + Send + 'a>>;

/// Settings of a process for its logins.
#[derive(Debug, Clone)]
pub struct LoginOptions {
    /// The gate `ObjectLevelWorkloadIdentity`: whether objects act with identities of their own.
    pub workload_identity: bool,
    /// `--default-service-account`: who objects are that name no ServiceAccount; empty is the pod.
    pub default_account: String,
    /// `--token-cache-max-size`: logins that are kept; 0 is none.
    pub cache_size: u64,
    /// `--token-cache-max-duration`: how long a login is kept at most.
    pub cache_duration: Duration,
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self {
            workload_identity: false,
            default_account: String::new(),
            cache_size: 100,
            cache_duration: Duration::from_secs(60 * 60),
        }
    }
}

/// Logs in on behalf of objects. Cheap to clone; one per process.
#[derive(Clone)]
pub struct Logins {
    clients: Clients,
    identities: Identities,
    cache: TokenCache,
    operation: Operation,
    /// Authorities in PEM that are trusted at the clouds' servers beside those of the system.
    authorities: Option<Vec<u8>>,
}

/// A lockdown that would not lock anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot set default service accounts when the feature gate ObjectLevelWorkloadIdentity is not enabled"
)]
pub struct LockdownError;

impl Logins {
    /// Nobody is logged in yet. `client` reads ServiceAccounts and asks for their tokens.
    ///
    /// # Errors
    /// When objects have a default identity but may not have identities (SRC-CLD-3).
    pub fn new(client: kube::Client, options: LoginOptions) -> Result<Self, LockdownError> {
        if !options.workload_identity && !options.default_account.is_empty() {
            return Err(LockdownError);
        }
        Ok(Self::made(Some(client), options))
    }

    /// Logins of a command: as the person or the CI job that runs it, by the environment, their files and the programs that they
    /// have logged in to (CLI-ART04). A service never has these: its way is [`Logins::new`].
    #[must_use]
    pub fn of_process() -> Self {
        Self::made(None, LoginOptions::default())
    }

    fn made(client: Option<kube::Client>, options: LoginOptions) -> Self {
        let LoginOptions { workload_identity, default_account, cache_size, cache_duration } = options;
        Self {
            clients: Clients::new(USER_AGENT),
            identities: Identities { client, workload_identity, default_account },
            cache: TokenCache::new(cache_size, cache_duration),
            operation: Operation::default(),
            authorities: None,
        }
    }

    /// The same logins, which trust more authorities at the clouds' servers. Only stand-ins of these need it.
    #[must_use]
    pub fn trusting(self, authorities: &str) -> Self {
        Self { authorities: Some(authorities.into()), ..self }
    }

    /// The same logins, for a purpose for which objects have another default identity.
    ///
    /// # Errors
    /// As [`Logins::new`].
    pub fn with_default(&self, account: &str) -> Result<Self, LockdownError> {
        if !self.identities.workload_identity && !account.is_empty() {
            return Err(LockdownError);
        }
        let identities = Identities { default_account: account.to_owned(), ..self.identities.clone() };
        Ok(Self { identities, ..self.clone() })
    }

    /// The same logins, counted as those of another operation (KS-MET-2).
    #[must_use]
    pub fn counted_as(&self, operation: Operation) -> Self {
        Self { operation, ..self.clone() }
    }

    /// Adds the metrics of the token cache (SRC-MET-1).
    pub fn register(&self, registry: &mut Registry) {
        self.cache.register(registry);
    }

    /// Removes the metrics of an object that is gone, of all operations.
    pub fn forget(&self, kind: &'static str, namespace: &str, name: &str) {
        self.cache.forget(kind, namespace, name);
    }

    /// Credentials of the registry at `host` (SRC-CLD-4).
    ///
    /// # Errors
    /// When the host is none of the provider's, the object may not have an identity, or the provider refuses.
    pub async fn registry(
        &self,
        provider: Provider,
        caller: &Caller<'_>,
        host: &str,
    ) -> Result<RegistryCredentials, LoginError> {
        // A closed gate is told before anything is said of the host.
        self.identities.named(caller)?;
        let purpose = match provider {
            Provider::Aws => Purpose::Ecr(aws::Registry::at(host)?),
            Provider::Azure => Purpose::Acr(azure::Registry::at(host)?),
            Provider::Gcp => {
                gcp::check_registry(host)?;
                Purpose::Gar
            }
        };
        let login = self.login(caller, purpose).await;
        let login = login.map_err(|error| error.of_token("artifact registry"))?;
        Ok(match &login.credentials {
            Credentials::Basic { username, password } => {
                RegistryCredentials::Basic { username: username.clone(), password: password.clone() }
            }
            Credentials::Bearer(token) => RegistryCredentials::Bearer(token.clone()),
            Credentials::Aws { .. } | Credentials::Cluster { .. } => RegistryCredentials::Anonymous,
        })
    }

    /// Credentials of the Git server at `url`: a bearer token of Azure DevOps, user and password of CodeCommit
    /// (SRC-CLD-5).
    ///
    /// # Errors
    /// As [`Logins::registry`].
    pub(crate) async fn cloud_git(
        &self,
        provider: Provider,
        caller: &Caller<'_>,
        url: &Url,
    ) -> Result<Arc<Login>, LoginError> {
        let purpose = match provider {
            Provider::Azure => Purpose::AzureToken { scope: azure::DEVOPS_SCOPE },
            Provider::Aws => Purpose::CodeCommit(aws::Repository::at(url)?),
            Provider::Gcp => return Err(LoginError::NoGit { provider: provider.name() }),
        };
        self.login(caller, purpose).await.map_err(|error| error.of_token("Git repository"))
    }

    /// User and password of a GitHub App's installation.
    ///
    /// # Errors
    /// When GitHub refuses.
    pub(crate) fn github<'a>(&'a self, caller: &'a Caller<'_>, app: &'a App) -> LoggingIn<'a> {
        Box::pin(async move {
            let client = self.client(caller.http)?;
            let key = format!("github/{}/{}", app.key(), hex::encode(caller.http.key()));
            let making = Box::pin(async move { app.login(&client).await.map_err(Into::into) });
            self.kept(caller, key, making).await
        })
    }

    /// Keys of AWS for buckets. Without a region it is the pod's.
    ///
    /// # Errors
    /// Fails when STS is requested at a host that is not Amazon's, or as [`Logins::registry`].
    pub async fn aws(
        &self,
        caller: &Caller<'_>,
        region: Option<&str>,
        sts_endpoint: Option<&str>,
    ) -> Result<Arc<Login>, LoginError> {
        sts_endpoint.map(aws::check_sts_endpoint).transpose()?;
        self.login(caller, Purpose::AwsKeys { region, sts_endpoint }).await
    }

    /// A bearer token of Azure for storage.
    ///
    /// # Errors
    /// As [`Logins::registry`].
    pub async fn azure_storage(&self, caller: &Caller<'_>) -> Result<Arc<Login>, LoginError> {
        self.login(caller, Purpose::AzureToken { scope: azure::STORAGE_SCOPE }).await
    }

    /// A bearer token of Google Cloud.
    ///
    /// # Errors
    /// As [`Logins::registry`].
    pub async fn gcp(&self, caller: &Caller<'_>) -> Result<Arc<Login>, LoginError> {
        self.login(caller, Purpose::GcpToken).await
    }

    /// A bearer token of Azure for `scope`.
    ///
    /// # Errors
    /// As [`Logins::registry`].
    pub async fn azure(&self, caller: &Caller<'_>, scope: &str) -> Result<Arc<Login>, LoginError> {
        self.login(caller, Purpose::AzureToken { scope }).await
    }

    /// A token of this cluster's API server, that proves the object's ServiceAccount, or the pod's, to `audiences`.
    ///
    /// # Errors
    /// When the object may not have an identity, or there is no such ServiceAccount.
    pub async fn kubernetes(
        &self,
        caller: &Caller<'_>,
        audiences: &[String],
    ) -> Result<Arc<Login>, LoginError> {
        self.login(caller, Purpose::Kubernetes { audiences }).await
    }

    /// The way into another cluster: always [`Credentials::Cluster`] (KS-IMP-7).
    ///
    /// # Errors
    /// When its description makes no sense, the object may not have an identity, or the provider refuses.
    pub async fn cluster(&self, caller: &Caller<'_>, spec: &ClusterSpec) -> Result<Arc<Login>, LoginError> {
        let login = self.login(caller, Purpose::Cluster(Cluster::new(spec)?)).await;
        login.map_err(|error| match error {
            identity @ (LoginError::GateDisabled
            | LoginError::Account { .. }
            | LoginError::Lockdown { .. }) => {
                LoginError::AccessToken { what: "cluster", cause: Box::new(identity) }
            }
            other => other,
        })
    }

    /// Keys of a role that the holder of `keys` may assume.
    ///
    /// # Errors
    /// When AWS refuses.
    pub fn aws_role<'a>(
        &'a self,
        caller: &'a Caller<'_>,
        keys: &'a Credentials,
        region: &'a str,
        role: &'a str,
    ) -> LoggingIn<'a> {
        Box::pin(async move {
            let way = self.way(caller);
            let client = self.client(&way)?;
            let key = format!("aws/role/{}/{}", keys.key([region, role]), hex::encode(way.key()));
            let making =
                Box::pin(async move { aws::assume(&client, keys, region, role).await.map_err(Into::into) });
            self.kept(caller, key, making).await
        })
    }

    /// The way to the clouds' servers: the object's proxy, and none of the certificates that it trusts or shows elsewhere. Whoever
    /// writes an object would get the pod's tokens with an authority of their own (SRC-PRX-2).
    pub(crate) fn way(&self, caller: &Caller<'_>) -> Profile {
        Profile { proxy: caller.http.proxy.clone(), ca: self.authorities.clone(), ..Profile::default() }
    }

    pub(crate) fn client(&self, http: &Profile) -> Result<Client, LoginError> {
        let http = Profile { secret_bodies: true, ..http.clone() };
        self.clients.get(&http).map_err(|error| LoginError::Client(Arc::new(error)))
    }

    /// A login of the object's identity, from the cache or the provider. The key names all that it depends on.
    fn login<'a>(&'a self, caller: &'a Caller<'_>, purpose: Purpose<'a>) -> LoggingIn<'a> {
        Box::pin(async move {
            let identity = self.identities.of(caller).await?;
            let way = self.way(caller);
            let client = self.client(&way)?;
            let key = format!("{}/{}/{}", purpose.key(), hex::encode(way.key()), identity.key());
            let making = Box::pin(async move { purpose.issue(&client, &identity).await.map_err(Into::into) });
            self.kept(caller, key, making).await
        })
    }

    /// Returns the value kept under `key`, else makes it, in the caller's time.
    pub(crate) async fn kept(
        &self,
        caller: &Caller<'_>,
        key: String,
        making: Making<'_>,
    ) -> Result<Arc<Login>, LoginError> {
        let limit = caller.timeout;
        let login = self.cache.get_or_login(caller, self.operation, key, making);
        let login = tokio::time::timeout(limit, login).await;
        login.map_err(|_| LoginError::Deadline { limit })?
    }
}
