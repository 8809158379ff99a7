//! The way to a registry: credentials, certificates and proxy of an ImageRepository (IR-19 to IR-25).

use std::time::Duration;

use weir_access::{KeyringError, ProfileError, PullSecrets, ReadError, Secrets, TransportError, caller};
use weir_api::image::ImageRepositorySpec;
use weir_api::{FluxObject, ImageRepository};
use weir_auth::{DockerConfigError, LoginError, Logins, Provider, RegistryCredentials, is_ecr};
use weir_http::SecretError;
use weir_oci::{RegistryOptions, Repository};
use weir_runtime::ObjectKey;

/// Shortest deadline of a scan (image spec 2.1).
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Errors that keep a registry from being reached as configured. Texts are Flux's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// A Secret that the object names could not be read.
    #[error(transparent)]
    Secret(ReadError),
    /// The Secret of the proxy could not be read.
    #[error("{}", .0.sentence())]
    Proxy(ReadError),
    /// The ServiceAccount or one of its pull Secrets could not be read.
    #[error(transparent)]
    Account(KeyringError),
    /// A pull Secret holds no docker configuration.
    #[error("secret '{place}': {cause}")]
    DockerConfig { place: String, cause: DockerConfigError },
    /// A Secret with certificates or a proxy is not usable.
    #[error(transparent)]
    Transport(SecretError),
    /// The cloud gives no credentials.
    #[error(transparent)]
    Login(#[from] LoginError),
}

impl From<KeyringError> for AccessError {
    fn from(error: KeyringError) -> Self {
        match error {
            KeyringError::Secret(error) => Self::Secret(error),
            KeyringError::DockerConfig { place, cause } => Self::DockerConfig { place, cause },
            error @ (KeyringError::Account(_) | KeyringError::PullSecret { .. }) => Self::Account(error),
        }
    }
}

impl From<ProfileError> for AccessError {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Certificates(TransportError::Read(error)) => Self::Secret(error),
            ProfileError::Proxy(TransportError::Read(error)) => Self::Proxy(error),
            ProfileError::Certificates(TransportError::Content(error))
            | ProfileError::Proxy(TransportError::Content(error)) => Self::Transport(error),
        }
    }
}

/// Makes the ways to registries; one for the service.
pub(crate) struct Accesses {
    secrets: Secrets,
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
        Self { secrets: Secrets::new(client), logins, logs_in_to_ecr }
    }

    /// Gathers what a scan of the repository needs.
    pub(crate) async fn options(
        &self,
        object: &ImageRepository,
        repository: &Repository,
    ) -> Result<RegistryOptions, AccessError> {
        let (spec, key) = (&object.spec, ObjectKey::of(object));
        let timeout = timeout(spec);
        let (certificates, proxy) = (spec.cert_secret_ref.as_ref(), spec.proxy_secret_ref.as_ref());
        let http = self.secrets.profile(&key.namespace, certificates, proxy).await?;
        let credentials = match provider(spec, repository.host(), self.logs_in_to_ecr) {
            None => self.pull_credentials(object, &key.namespace, repository).await?,
            Some(provider) => {
                let account = spec.service_account_name.as_deref();
                let caller = caller::<ImageRepository>(&key, account, &http, timeout);
                self.logins.registry(provider, &caller, repository.host()).await?
            }
        };
        Ok(RegistryOptions { insecure: spec.insecure, plain_at_home: true, credentials, http, timeout })
    }

    /// Credentials of `secretRef` and of the ServiceAccount's pull Secrets.
    async fn pull_credentials(
        &self,
        object: &ImageRepository,
        namespace: &str,
        repository: &Repository,
    ) -> Result<RegistryCredentials, AccessError> {
        let (secret, account) =
            (object.spec.secret_ref.as_ref(), object.spec.service_account_name.as_deref());
        let ring = self.secrets.keyring(namespace, secret, account, PullSecrets::OfTheirType).await?;
        Ok(ring.lookup(repository.host(), repository.path()).into_iter().next().unwrap_or_default())
    }
}

/// True for a repository that logs in to a cloud as a ServiceAccount, which needs a feature gate (IR-21).
pub(crate) fn has_cloud_account(spec: &ImageRepositorySpec) -> bool {
    let uses_cloud = !matches!(spec.provider.as_deref(), None | Some("" | "generic"));
    uses_cloud && spec.service_account_name.as_deref().is_some_and(|name| !name.is_empty())
}

/// Time for a scan.
fn timeout(spec: &ImageRepositorySpec) -> Duration {
    spec.timeout.unwrap_or(spec.interval).to_std().max(MIN_TIMEOUT)
}

/// The cloud to log in to: the object's, or Amazon's where the flag says so (AV-3).
fn provider(spec: &ImageRepositorySpec, host: &str, logs_in_to_ecr: bool) -> Option<Provider> {
    let is_ecr = logs_in_to_ecr && spec.secret_ref.is_none() && is_ecr(host);
    Provider::parse(spec.provider.as_deref()).or(is_ecr.then_some(Provider::Aws))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const ECR: &str = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";

    fn spec(more: Value) -> ImageRepositorySpec {
        let mut spec = json!({"image": "org/app", "interval": "1m"});
        json_patch::merge(&mut spec, &more);
        serde_json::from_value(spec).unwrap()
    }

    #[rstest]
    #[case::off(json!({}), ECR, false, None)]
    #[case::ecr(json!({}), ECR, true, Some(Provider::Aws))]
    #[case::generic(json!({"provider": "generic"}), ECR, true, Some(Provider::Aws))]
    #[case::elsewhere(json!({}), "ghcr.io", true, None)]
    #[case::alike(json!({}), "123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.com", true, None)]
    #[case::with_a_secret(json!({"secretRef": {"name": "s"}}), ECR, true, None)]
    #[case::named(json!({"provider": "gcp"}), ECR, true, Some(Provider::Gcp))]
    #[case::named_elsewhere(json!({"provider": "aws"}), "ghcr.io", false, Some(Provider::Aws))]
    fn clouds_that_are_logged_in_to(
        #[case] more: Value,
        #[case] host: &str,
        #[case] logs_in_to_ecr: bool,
        #[case] expected: Option<Provider>,
    ) {
        assert_eq!(provider(&spec(more), host, logs_in_to_ecr), expected);
    }

    #[rstest]
    #[case(json!({}), 60_000)]
    #[case(json!({"timeout": "5s"}), 5_000)]
    #[case(json!({"timeout": "10ms"}), 1_000)]
    fn a_scan_has_the_timeout_or_the_interval(#[case] more: Value, #[case] milliseconds: u64) {
        assert_eq!(timeout(&spec(more)), Duration::from_millis(milliseconds));
    }
}
