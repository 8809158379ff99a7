//! Facts that a run needs before it pulls: our identity, the way to the registry, the target of the reference.

use std::fmt::Display;

use weir_access::{KeyringError, ProfileError, PullSecrets, caller};
use weir_api::condition_type::STALLED;
use weir_api::reason::FEATURE_GATE_DISABLED;
use weir_api::source::OciRepositorySpec;
use weir_api::{Artifact, OciRepository};
use weir_artifact::{Digest, Revision};
use weir_auth::{Keyring, LoginError, Provider, RegistryCredentials};
use weir_oci::{Error, MAX_TAGS, Profile, Registry, RegistryOptions, Repository};

use super::OciReconciler;
use super::decide::{self, Wanted};
use crate::login::AUTHENTICATION_FAILED;
use crate::source::{Attempt, Failure, Source};

const PULL_FAILED: &str = "OCIArtifactPullFailed";

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The tag; none for a reference by digest.
    pub(super) tag: Option<String>,
    /// Digest of the manifest, by which everything else is requested (SRC-OCI-5).
    pub(super) digest: Digest,
}

impl Target {
    pub(super) fn revision(&self) -> String {
        Revision::new(self.tag.as_deref(), &self.digest.to_string()).to_string()
    }

    /// Returns the wanted reference in the notation of registries.
    pub(super) fn reference(&self, repository: &Repository) -> String {
        match &self.tag {
            Some(tag) => format!("{repository}:{tag}"),
            None => format!("{repository}@{}", self.digest),
        }
    }
}

impl OciReconciler {
    /// The registry of an object, ready to be asked.
    pub(super) async fn observe(
        &self,
        attempt: &Attempt<'_, OciRepository>,
        wanted: &Wanted,
    ) -> Result<Registry, Failure> {
        let spec = &attempt.object.spec;
        // Secrets that are not there are told before an address that is none, as in Flux.
        let ring = self.pull_secrets(attempt).await?;
        let http = self.transport(attempt).await?;
        let repository = Repository::from_url(&spec.url).map_err(|error| {
            Failure::fetch("URLInvalid", format!("URL validation failed for '{}': {error}", spec.url))
                .stalled()
        })?;
        let credentials = self.credentials(attempt, &repository, &ring, &http).await;
        let credentials = credentials.map_err(|error| login_failure(&error, wanted, &spec.url))?;
        let timeout = attempt.object.timeout();
        let options =
            RegistryOptions { insecure: spec.insecure, plain_at_home: true, credentials, http, timeout };
        self.registries
            .open(&repository, options)
            .map_err(|error| transport_failure(&spec.url, &error.to_string()))
    }

    /// The credentials of the object's Secret and of its ServiceAccount's pull Secrets (SRC-OCI-16).
    async fn pull_secrets(&self, attempt: &Attempt<'_, OciRepository>) -> Result<Keyring, Failure> {
        let spec = &attempt.object.spec;
        let (secret, account) = (spec.secret_ref.as_ref(), spec.service_account_name.as_deref());
        let namespace = &attempt.key().namespace;
        let ring = self.secrets.keyring(namespace, secret, account, PullSecrets::OfAnyType).await;
        ring.map_err(|error| {
            let message = format!("failed to get credential: {error}");
            let failure = Failure::fetch(AUTHENTICATION_FAILED, message);
            match (error, secret) {
                (KeyringError::Secret(cause), Some(secret)) if cause.is_not_found => {
                    failure.remarked(format!("auth secret '{}' not found", secret.name))
                }
                _ => failure,
            }
        })
    }

    /// Static Secrets first; a cloud login only where there are none (SRC-OCI-17, SRC-OCI-18).
    async fn credentials(
        &self,
        attempt: &Attempt<'_, OciRepository>,
        repository: &Repository,
        ring: &Keyring,
        http: &Profile,
    ) -> Result<RegistryCredentials, LoginError> {
        let provider = Provider::parse(attempt.object.spec.provider.as_deref()).filter(|_| ring.is_empty());
        let Some(provider) = provider else {
            let found = ring.lookup(repository.host(), repository.path()).into_iter().next();
            return Ok(found.unwrap_or_default());
        };
        let account = attempt.object.spec.service_account_name.as_deref();
        let caller = caller::<OciRepository>(attempt.key(), account, http, attempt.object.timeout());
        self.logins.registry(provider, &caller, repository.host()).await
    }

    /// Returns the HTTP profile for the registry. This is the one kind whose `insecure` lets any certificate pass, unless it names
    /// authorities (SRC-OCI-20).
    async fn transport(&self, attempt: &Attempt<'_, OciRepository>) -> Result<Profile, Failure> {
        let spec = &attempt.object.spec;
        let (certificates, proxy) = (spec.cert_secret_ref.as_ref(), spec.proxy_secret_ref.as_ref());
        let profile = self.secrets.profile(&attempt.key().namespace, certificates, proxy).await;
        let profile = profile.map_err(|error| match error {
            ProfileError::Certificates(error) => transport_failure(&spec.url, &error.to_string()),
            ProfileError::Proxy(error) => {
                Failure::fetch(AUTHENTICATION_FAILED, format!("failed to get proxy address: {error}"))
            }
        })?;
        let accept_invalid_certificates = spec.insecure && certificates.is_none();
        Ok(Profile { accept_invalid_certificates, ..profile })
    }
}

/// Makes the failure of a login to a cloud, which is that of the first question to the registry. A closed gate has nothing to do
/// with fetching.
fn login_failure(error: &LoginError, wanted: &Wanted, url: &str) -> Failure {
    match (error, wanted) {
        (LoginError::GateDisabled, _) => {
            Failure::new(STALLED, FEATURE_GATE_DISABLED, error.to_string()).stalled()
        }
        (_, Wanted::Range { .. }) => tag_failure(url, error),
        (_, Wanted::Tag(_)) => digest_failure(error),
        (_, Wanted::Digest(_)) => {
            Failure::fetch(PULL_FAILED, format!("failed to pull artifact from '{url}': {error}"))
        }
    }
}

fn transport_failure(url: &str, error: &str) -> Failure {
    Failure::fetch(AUTHENTICATION_FAILED, format!("failed to generate transport for '{url}': {error}"))
}

/// Asks the registry what the reference stands for; a digest stands for itself. Without an artifact of the tag the manifest
/// is needed, and read right away.
pub(super) async fn resolve(
    registry: &mut Registry,
    wanted: &Wanted,
    spec: &OciRepositorySpec,
    known: Option<&Artifact>,
) -> Result<Target, Failure> {
    let tag = match wanted {
        Wanted::Digest(text) => {
            let digest = decide::digest(text).map_err(digest_failure)?;
            return Ok(Target { tag: None, digest });
        }
        Wanted::Tag(tag) => tag.clone(),
        Wanted::Range { range, filter } => {
            let tags = registry.tags(MAX_TAGS).await;
            let tags = tags.map_err(|error| tag_failure(&spec.url, &error).after(error.retry_after()))?;
            let selector = spec.layer_selector.as_ref();
            let chosen = decide::choose(&tags, range, filter.as_deref(), selector);
            chosen.map_err(|error| tag_failure(&spec.url, error))?
        }
    };
    let is_known =
        known.is_some_and(|known| Revision::normalise(&known.revision).pointer() == Some(tag.as_str()));
    let digest = if is_known { registry.resolve(&tag).await } else { registry.read(&tag).await };
    let digest = digest.map_err(|error| digest_failure(&error).after(error.retry_after()))?;
    Ok(Target { tag: Some(tag), digest })
}

fn tag_failure(url: &str, error: impl Display) -> Failure {
    let message = format!("failed to determine the artifact tag for '{url}': {error}");
    Failure::fetch("ReadOperationFailed", message)
}

fn digest_failure(error: impl Display) -> Failure {
    Failure::fetch(PULL_FAILED, format!("failed to determine artifact digest: {error}"))
}

/// A pull that failed.
pub(super) fn pull_failure(url: &str, error: &Error) -> Failure {
    if matches!(error, Error::Malformed { .. }) {
        return decide::layer_failure(format!("failed to parse artifact manifest: {error}"));
    }
    let message = format!("failed to pull artifact from '{url}': {error}");
    Failure::fetch(PULL_FAILED, message).after(error.retry_after())
}
