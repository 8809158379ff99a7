//! What a run has to know before it pulls: who we are, how the registry is reached, what the reference stands for.

use super::OciReconciler;
use super::decide::{self, Wanted};
use crate::secrets;
use crate::source::{Attempt, Failure, Source};
use weir_api::OciRepository;
use weir_api::source::OciRepositorySpec;
use weir_artifact::Digest;
use weir_auth::{RegistryCredentials, ecr};
use weir_oci::{Error, Profile, Registry, RegistryOptions, Repository};

const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";
const PULL_FAILED: &str = "OCIArtifactPullFailed";
const GENERIC: &str = "generic";
const AWS: &str = "aws";
/// Tags of a repository that are looked through.
const MAX_TAGS: usize = 100_000;

/// What a reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The tag; none for a reference by digest.
    pub(super) tag: Option<String>,
    /// The manifest's digest, by which everything else is asked for (SRC-OCI-5).
    pub(super) digest: Digest,
}

impl Target {
    pub(super) fn revision(&self) -> String {
        weir_artifact::Revision::new(self.tag.as_deref(), &self.digest.to_string()).to_string()
    }
}

impl OciReconciler {
    /// The registry of an object, ready to be asked.
    pub(super) async fn observe(&self, attempt: &Attempt<'_, OciRepository>) -> Result<Registry, Failure> {
        let spec = &attempt.object.spec;
        let repository = Repository::from_url(&spec.url).map_err(|error| {
            Failure::fetch("URLInvalid", format!("URL validation failed for '{}': {error}", spec.url))
                .stalled()
        })?;
        let credentials = self.credentials(attempt, &repository).await?;
        let options = RegistryOptions {
            insecure: spec.insecure,
            credentials,
            http: self.transport(attempt).await?,
            timeout: attempt.object.timeout(),
        };
        self.registries
            .open(&repository, options)
            .map_err(|error| transport_failure(&spec.url, &error.to_string()))
    }

    /// Static Secrets first; a cloud login only where there are none (SRC-OCI-16…18).
    async fn credentials(
        &self,
        attempt: &Attempt<'_, OciRepository>,
        repository: &Repository,
    ) -> Result<RegistryCredentials, Failure> {
        let (spec, key) = (&attempt.object.spec, attempt.key());
        let secret = spec.secret_ref.as_ref().map(|reference| reference.name.as_str());
        let account = spec.service_account_name.as_deref();
        let ring = secrets::keyring(&self.secrets, key, secret, account).await.map_err(|error| {
            let message = format!("failed to get credential: {}", error.message);
            let failure = Failure::fetch(AUTHENTICATION_FAILED, message);
            match error.missing_secret {
                Some(name) => failure.remarked(format!("auth secret '{name}' not found")),
                None => failure,
            }
        })?;
        let provider = spec.provider.as_deref().filter(|provider| !provider.is_empty()).unwrap_or(GENERIC);
        if provider == GENERIC || !ring.is_empty() {
            return Ok(ring
                .lookup(repository.host(), repository.path())
                .into_iter()
                .next()
                .unwrap_or_default());
        }
        if account.is_some() && !self.workload_identity {
            let message = "to use spec.serviceAccountName for provider authentication please enable the \
                           ObjectLevelWorkloadIdentity feature gate in the controller";
            return Err(Failure::fetch(weir_api::reason::FEATURE_GATE_DISABLED, message).stalled());
        }
        if provider != AWS || account.is_some() {
            return Err(Failure::unsupported(&format!("login with provider '{provider}'")));
        }
        self.login(repository.host()).await
    }

    /// The controller's own login to ECR, kept for most of its life.
    async fn login(&self, host: &str) -> Result<RegistryCredentials, Failure> {
        let login = self.logins.get_or_login(format!("{AWS}/{host}"), Box::pin(ecr::login(host))).await;
        let (login, _) = login.map_err(|error| {
            Failure::fetch(AUTHENTICATION_FAILED, format!("failed to get credential from {AWS}: {error}"))
        })?;
        Ok(login.credentials.clone())
    }

    async fn transport(&self, attempt: &Attempt<'_, OciRepository>) -> Result<Profile, Failure> {
        let (spec, key) = (&attempt.object.spec, attempt.key());
        let mut profile = match &spec.cert_secret_ref {
            Some(reference) => secrets::tls(&self.secrets, key, &reference.name)
                .await
                .map_err(|error| transport_failure(&spec.url, &error))?,
            None => Profile::default(),
        };
        if let Some(reference) = &spec.proxy_secret_ref {
            let proxy = secrets::proxy(&self.secrets, key, &reference.name).await.map_err(|error| {
                Failure::fetch(AUTHENTICATION_FAILED, format!("failed to get proxy address: {error}"))
            })?;
            profile.proxy = Some(proxy);
        }
        Ok(profile)
    }
}

fn transport_failure(url: &str, error: &str) -> Failure {
    Failure::fetch(AUTHENTICATION_FAILED, format!("failed to generate transport for '{url}': {error}"))
}

/// Asks the registry what the reference stands for; a digest stands for itself.
pub(super) async fn resolve(
    registry: &mut Registry,
    wanted: &Wanted,
    spec: &OciRepositorySpec,
) -> Result<Target, Failure> {
    let tag = match wanted {
        Wanted::Digest(text) => {
            let digest = Digest::parse(text).map_err(|error| digest_failure(&error.to_string()))?;
            return Ok(Target { tag: None, digest });
        }
        Wanted::Tag(tag) => tag.clone(),
        Wanted::Range { range, filter } => {
            let failed = |error: String| {
                let message = format!("failed to determine the artifact tag for '{}': {error}", spec.url);
                Failure::fetch("ReadOperationFailed", message)
            };
            let tags = registry.tags(MAX_TAGS).await.map_err(|error| failed(error.to_string()))?;
            let selector = spec.layer_selector.as_ref();
            decide::choose(&tags, range, filter.as_deref(), selector).map_err(failed)?
        }
    };
    let digest = registry.resolve(&tag).await.map_err(|error| digest_failure(&error.to_string()))?;
    Ok(Target { tag: Some(tag), digest })
}

fn digest_failure(error: &str) -> Failure {
    Failure::fetch(PULL_FAILED, format!("failed to determine artifact digest: {error}"))
}

/// A pull that failed.
pub(super) fn pull_failure(url: &str, error: &Error) -> Failure {
    Failure::fetch(PULL_FAILED, format!("failed to pull artifact from '{url}': {error}"))
}
