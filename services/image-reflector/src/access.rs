//! How a registry is reached: credentials, certificates and proxy of an ImageRepository (IR-19 to IR-25).

use std::time::Duration;

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Api;
use weir_api::{FluxObject, ImageRepository};
use weir_auth::{
    Caller, DockerConfig, DockerConfigError, Keyring, LoginError, Logins, Provider, RegistryCredentials,
    is_ecr,
};
use weir_http::{Profile, Proxy, SecretData, SecretError};
use weir_oci::{RegistryOptions, Repository};
use weir_runtime::ObjectKey;

/// Shortest deadline of a scan (image spec 2.1).
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Secret types with pull credentials, and the key that holds them.
const PULL_SECRETS: [(&str, &str); 2] =
    [("kubernetes.io/dockerconfigjson", ".dockerconfigjson"), ("kubernetes.io/dockercfg", ".dockercfg")];

/// Errors that keep a registry from being reached as configured. Texts are Flux's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// A Secret that the object names could not be read.
    #[error("{0}")]
    Secret(String),
    /// The ServiceAccount is not there.
    #[error("serviceaccount '{0}' not found")]
    NoServiceAccount(String),
    /// The ServiceAccount could not be read.
    #[error("failed to get serviceaccount '{name}': {reason}")]
    ServiceAccount { name: String, reason: String },
    /// A pull Secret of the ServiceAccount could not be read.
    #[error("failed to get image pull secret for serviceaccount '{account}': {reason}")]
    PullSecret { account: String, reason: String },
    /// A pull Secret holds no docker configuration.
    #[error("secret '{secret}': {source}")]
    DockerConfig { secret: String, source: DockerConfigError },
    /// A Secret with certificates or a proxy is not usable.
    #[error(transparent)]
    Transport(#[from] SecretError),
    /// The cloud gives no credentials.
    #[error(transparent)]
    Login(#[from] LoginError),
}

/// Makes the ways to registries; one for the service.
pub(crate) struct Accesses {
    client: kube::Client,
    logins: Logins,
    /// `--aws-autologin-for-ecr`: repositories without a provider log in to Amazon's registries, as they did before
    /// there were providers.
    logs_in_to_ecr: bool,
}

impl Accesses {
    /// Removes the metrics of an object that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.logins.forget(ImageRepository::KIND, &key.namespace, &key.name);
    }

    pub(crate) fn new(client: kube::Client, logins: Logins, logs_in_to_ecr: bool) -> Self {
        Self { client, logins, logs_in_to_ecr }
    }

    /// Gathers what a scan of the repository needs.
    pub(crate) async fn options(
        &self,
        object: &ImageRepository,
        repository: &Repository,
    ) -> Result<RegistryOptions, AccessError> {
        let spec = &object.spec;
        let timeout = spec.timeout.unwrap_or(spec.interval).to_std().max(MIN_TIMEOUT);
        let http = self.profile(object).await?;
        let is_ecr = self.logs_in_to_ecr && spec.secret_ref.is_none() && is_ecr(repository.host());
        let provider = Provider::parse(spec.provider.as_deref()).or(is_ecr.then_some(Provider::Aws));
        let credentials = match provider {
            None => self.pull_credentials(object, repository).await?,
            Some(provider) => {
                let caller = Caller {
                    kind: ImageRepository::KIND,
                    namespace: namespace_of(object),
                    name: object.metadata.name.as_deref().unwrap_or_default(),
                    account: spec.service_account_name.as_deref(),
                    http: &http,
                    timeout,
                };
                self.logins.registry(provider, &caller, repository.host()).await?
            }
        };
        Ok(RegistryOptions { insecure: spec.insecure, credentials, http, timeout })
    }

    /// Credentials of `secretRef` and of the ServiceAccount's pull Secrets, in this order.
    async fn pull_credentials(
        &self,
        object: &ImageRepository,
        repository: &Repository,
    ) -> Result<RegistryCredentials, AccessError> {
        let namespace = namespace_of(object);
        let mut keyring = Keyring::default();
        if let Some(reference) = &object.spec.secret_ref {
            let secret = self.secret(namespace, &reference.name).await.map_err(AccessError::Secret)?;
            add(&mut keyring, namespace, &secret)?;
        }
        if let Some(account) = object.spec.service_account_name.as_deref().filter(|name| !name.is_empty()) {
            for secret in self.account_secrets(namespace, account).await? {
                add(&mut keyring, namespace, &secret)?;
            }
        }
        Ok(keyring.lookup(repository.host(), repository.path()).into_iter().next().unwrap_or_default())
    }

    async fn account_secrets(&self, namespace: &str, name: &str) -> Result<Vec<Secret>, AccessError> {
        let account = format!("{namespace}/{name}");
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await.map_err(|error| AccessError::ServiceAccount {
            name: account.clone(),
            reason: error.to_string(),
        })?;
        let found = found.ok_or_else(|| AccessError::NoServiceAccount(account.clone()))?;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let mut secrets = Vec::new();
        for reference in found.image_pull_secrets.unwrap_or_default() {
            let failed = |reason: String| AccessError::PullSecret { account: account.clone(), reason };
            let secret = api.get_opt(&reference.name).await.map_err(|error| failed(error.to_string()))?;
            let missing = || failed(format!("secret '{namespace}/{}' not found", reference.name));
            secrets.push(secret.ok_or_else(missing)?);
        }
        Ok(secrets)
    }

    async fn profile(&self, object: &ImageRepository) -> Result<Profile, AccessError> {
        let namespace = namespace_of(object);
        let mut profile = Profile::default();
        if let Some(reference) = &object.spec.cert_secret_ref {
            let secret = self.secret(namespace, &reference.name).await.map_err(AccessError::Secret)?;
            profile = Profile::from_secret(&format!("{namespace}/{}", reference.name), &data(&secret))?;
        }
        if let Some(reference) = &object.spec.proxy_secret_ref {
            let secret = self.secret(namespace, &reference.name).await.map_err(AccessError::Secret)?;
            let proxy = Proxy::from_secret(&format!("{namespace}/{}", reference.name), &data(&secret))?;
            profile.proxy = Some(proxy);
        }
        Ok(profile)
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Secret, String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        api.get(name).await.map_err(|error| match error {
            kube::Error::Api(status) => status.message.clone(),
            other => other.to_string(),
        })
    }
}

fn namespace_of(object: &ImageRepository) -> &str {
    object.metadata.namespace.as_deref().unwrap_or_default()
}

fn data(secret: &Secret) -> SecretData {
    secret.data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone())).collect()
}

/// Adds the docker configuration of a Secret; other types of Secrets hold none, which is not an error.
fn add(keyring: &mut Keyring, namespace: &str, secret: &Secret) -> Result<(), AccessError> {
    let type_ = secret.type_.as_deref().unwrap_or_default();
    let Some((_, key)) = PULL_SECRETS.iter().find(|(known, _)| *known == type_) else { return Ok(()) };
    let Some(config) = secret.data.as_ref().and_then(|data| data.get(*key)) else { return Ok(()) };
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let config = DockerConfig::parse(&config.0);
    keyring.add(
        config
            .map_err(|source| AccessError::DockerConfig { secret: format!("{namespace}/{name}"), source })?,
    );
    Ok(())
}
