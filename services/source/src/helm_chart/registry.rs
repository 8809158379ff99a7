//! Charts in registries (SRC-CHT-6, SRC-CHT-10). A chart is pulled by digest: a tag that moves meanwhile has no
//! effect.

use bytes::{Bytes, BytesMut};
use weir_access::caller;
use weir_api::{HelmChart, HelmRepository};
use weir_artifact::Digest;
use weir_auth::{DockerConfig, Keyring, Provider, RegistryCredentials};
use weir_helm::version;
use weir_http::{Profile, SecretData, go_url};
use weir_oci::{Descriptor, MAX_TAGS, Manifest, Registry, RegistryOptions, Repository};
use weir_runtime::ObjectKey;

use super::HelmChartReconciler;
use super::build::{Build, Step};
use super::decide::Order;
use super::indexed::check_name;
use super::pull_error::{ChartReference, PullError, Unpulled};
use crate::login::{AUTHENTICATION_FAILED, login_failure};
use crate::source::{Attempt, Failure, Source};

const SCHEME: &str = "oci://";
/// Layers that hold a chart; the second one is what Helm wrote before version 3.7.
pub(super) const CHART_LAYERS: [&str; 2] =
    ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
const DOCKER_CONFIG: &str = ".dockerconfigjson";

impl HelmChartReconciler {
    /// The chart of a registry.
    pub(super) async fn chart_of_registry(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        repository: &HelmRepository,
        order: &Order,
    ) -> Result<Build, Failure> {
        check_name(&order.chart)?;
        let (mut registry, place) = self.registry(repository, &order.chart).await?;
        let reference = wanted(&mut registry, place, &order.chart, &order.version).await;
        let reference = reference.map_err(Unpulled::failure)?;
        let version = order.version_of(&reference.version).map_err(|error| Step::Metadata.failed(error))?;
        let reusable = order.reusable(&order.chart, &version);
        if let (Some(stored), None) = (reusable, &attempt.object.spec.verify) {
            return Ok(Build::reused(stored, !order.is_plain()));
        }
        let resolved = match reusable {
            Some(_) => registry.resolve(&reference.tag()).await,
            None => registry.read(&reference.tag()).await,
        };
        let failed = |error: PullError| Unpulled::Download(reference.clone(), error).failure();
        let digest = resolved.map_err(|error| failed(PullError::Manifest(error)))?;
        self.verify(attempt, &mut registry, &reference, &version, &digest).await?;
        if let Some(stored) = reusable {
            return Ok(Build::reused(stored, !order.is_plain()));
        }
        let package = pull(&mut registry, &digest, self.limits.chart).await;
        self.finished(order, version, package.map_err(failed)?).await
    }

    /// The version that is meant and its package, for charts that need it.
    pub(super) async fn pull_version(
        &self,
        repository: &HelmRepository,
        chart: &str,
        version: &str,
    ) -> Result<(String, Bytes), Unpulled> {
        let (mut registry, place) = self.registry(repository, chart).await.map_err(Unpulled::Repository)?;
        let reference = wanted(&mut registry, place, chart, version).await?;
        let package = match registry.read(&reference.tag()).await {
            Ok(digest) => pull(&mut registry, &digest, self.limits.chart).await,
            Err(error) => Err(PullError::Manifest(error)),
        };
        match package {
            Ok(package) => Ok((reference.version, package)),
            Err(error) => Err(Unpulled::Download(reference, error)),
        }
    }

    /// The registry's repository of a chart, and its name for messages.
    async fn registry(&self, object: &HelmRepository, chart: &str) -> Result<(Registry, String), Failure> {
        let key = ObjectKey::of(object);
        let shown = shown(&object.spec.url);
        let invalid = |why: String| {
            Failure::fetch("Failed", format!("failed to construct Helm client: {why}")).stalled()
        };
        go_url::parse(&go_url::without_user_info(&object.spec.url)).map_err(|error| {
            Failure::fetch("URLInvalid", format!("invalid Helm repository URL: {error}")).stalled()
        })?;
        let url = object.spec.url.strip_prefix(SCHEME).map(|rest| rest.trim_end_matches('/'));
        let url = url
            .filter(|url| !url.is_empty())
            .ok_or_else(|| invalid(format!("invalid OCI registry URL: {shown}")))?;
        let place = format!("{url}/{chart}");
        let repository = Repository::at_host(&place).map_err(|error| {
            let failed = "failed to download chart for remote reference: failed to get";
            Step::Pull.failed(format!("{failed} '{SCHEME}{place}': invalid reference: {error}"))
        })?;
        let access = self.connector.access(&key, object).await?;
        let data = access.credentials.as_ref().map(|secret| &secret.data);
        let credentials = self.credentials(object, data, &repository, &access.http).await?;
        let options = RegistryOptions {
            insecure: object.spec.insecure,
            plain_at_home: false,
            credentials,
            http: access.http,
            timeout: object.timeout(),
        };
        let registry = self.registries.open(&repository, options);
        let registry = registry.map_err(|error| invalid(error.to_string()))?;
        Ok((registry, place))
    }

    /// Returns our credentials for the registry: from a Secret, otherwise from the cloud that the service runs in.
    async fn credentials(
        &self,
        object: &HelmRepository,
        data: Option<&SecretData>,
        repository: &Repository,
        http: &Profile,
    ) -> Result<RegistryCredentials, Failure> {
        let name =
            object.spec.secret_ref.as_ref().map(|reference| reference.name.as_str()).unwrap_or_default();
        if let Some(data) = data {
            return registry_credentials(name, data, repository).map_err(|why| {
                let message = format!("failed to configure OCI registry authentication: {why}");
                Failure::fetch(AUTHENTICATION_FAILED, message)
            });
        }
        let Some(provider) = Provider::parse(object.spec.provider.as_deref()) else {
            return Ok(RegistryCredentials::Anonymous);
        };
        let key = ObjectKey::of(object);
        // It names no ServiceAccount: under a lockdown that of its namespace logs in (DEV 9).
        let caller = caller::<HelmRepository>(&key, None, http, object.timeout());
        let login = self.connector.logins.registry(provider, &caller, repository.host()).await;
        login.map_err(|error| login_failure(&error, &format!("failed to get credential from '{provider}'")))
    }
}

/// The address of a repository as errors show it: without user info, in its one form.
fn shown(url: &str) -> String {
    let url = go_url::without_user_info(url);
    let trimmed = url.trim_end_matches('/');
    if url.starts_with(SCHEME) { trimmed.to_owned() } else { format!("{trimmed}/") }
}

/// The credentials that a Secret has for a repository (SRC 12.1).
fn registry_credentials(
    name: &str,
    data: &SecretData,
    repository: &Repository,
) -> Result<RegistryCredentials, String> {
    if let Some(config) = data.get(DOCKER_CONFIG) {
        let mut ring = Keyring::default();
        let config = DockerConfig::parse(config)
            .map_err(|error| format!("unable to load Docker config from Secret '{name}': {error}"))?;
        ring.add(config);
        let found = ring.lookup(repository.host(), repository.path()).into_iter().next();
        return found.ok_or_else(|| {
            format!("no auth config for '{}' in the docker-registry Secret '{name}'", repository.host())
        });
    }
    let text = |key: &str| data.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
    match (text("username").unwrap_or_default(), text("password").unwrap_or_default()) {
        (user, password) if user.is_empty() && password.is_empty() => Ok(RegistryCredentials::Anonymous),
        (user, password) if user.is_empty() || password.is_empty() => {
            Err(format!("invalid '{name}' secret data: required fields 'username' and 'password'"))
        }
        (username, password) => Ok(RegistryCredentials::Basic { username, password: password.into() }),
    }
}

/// The version that is meant; a whole version is taken at its word.
async fn wanted(
    registry: &mut Registry,
    place: String,
    chart: &str,
    wanted: &str,
) -> Result<ChartReference, Unpulled> {
    if version::is_exact(wanted) {
        return Ok(ChartReference { place, version: wanted.to_owned() });
    }
    let chart = chart.to_owned();
    match registry.tags(MAX_TAGS).await {
        Ok(tags) => match version::select_tag(&tags, wanted) {
            Ok(version) => Ok(ChartReference { place, version }),
            Err(error) => Err(Unpulled::Version { chart, place, error }),
        },
        Err(error) => Err(Unpulled::Tags { chart, place, error }),
    }
}

/// The chart's layer, verified, of at most `limit` bytes.
async fn pull(registry: &mut Registry, digest: &Digest, limit: u64) -> Result<Bytes, PullError> {
    let manifest = registry.manifest(digest).await.map_err(PullError::Manifest)?;
    let layer = chart_layer(&manifest).ok_or_else(|| PullError::no_chart(&manifest))?;
    if layer.size > limit {
        return Err(PullError::TooLarge { limit });
    }
    let failed = |error| PullError::Layer { digest: layer.digest.to_string(), error };
    let mut blob = registry.blob(layer).await.map_err(failed)?;
    let mut package = BytesMut::new();
    while let Some(chunk) = blob.next().await.map_err(failed)? {
        package.extend_from_slice(&chunk);
    }
    Ok(package.freeze())
}

fn chart_layer(manifest: &Manifest) -> Option<&Descriptor> {
    manifest.layers.iter().find(|layer| CHART_LAYERS.contains(&layer.media_type.as_str()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[rstest]
    #[case(&[("username", "u")], "invalid 's' secret data: required fields 'username' and 'password'")]
    #[case(&[(".dockerconfigjson", r#"{"auths":{"other.example.com":{"username":"u","password":"p"}}}"#)], "no auth config for 'r.example.com' in the docker-registry Secret 's'")]
    fn refused_secrets(#[case] pairs: &[(&str, &str)], #[case] expected: &str) {
        let repository = Repository::parse("r.example.com/charts/app").unwrap();
        let refused = registry_credentials("s", &data(pairs), &repository);
        assert_eq!(refused.err().as_deref(), Some(expected));
    }
}
