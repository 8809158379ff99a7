//! Credentials and trust for a Git server, from the GitRepository and its Secret (IU-24, IU-25, IU-26).

use tokio_util::sync::CancellationToken;
use url::Url;
use weir_api::{GitRepository, LocalObjectReference};
use weir_auth::{AppError, GitLogin, GitLoginError};
use weir_git::{AuthOptionError, Credentials, Remote};
use weir_http::{Proxy, SecretData, SecretError};

/// Errors that keep the server from being reached as configured. Texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccessError {
    /// `spec.url` is no URL.
    #[error("failed to parse url '{url}': {reason}")]
    Url { url: String, reason: String },
    /// The Secret's keys do not fit together.
    #[error("failed to configure authentication options: {0}")]
    AuthOptions(#[from] AuthOptionError),
    /// Provider and Secret do not go together.
    #[error("{0}: invalid source configuration")]
    Provider(GitLoginError),
    /// A GitHub App's data is not whole.
    #[error("failed to configure authentication options: {0}")]
    App(AppError),
    /// The proxy's Secret does not say where the proxy is.
    #[error("failed to configure proxy options: {0}")]
    Proxy(SecretError),
    /// The certificates of the Secret are not whole.
    #[error("failed to configure authentication options: {0}")]
    Tls(SecretError),
}

impl AccessError {
    /// Says whether only a change of the spec can help.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Provider(_))
    }
}

/// A remote, and who gives its credentials if its Secret does not.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) remote: Remote,
    pub(crate) login: GitLogin,
}

/// The way to a repository, with the data of its Secrets.
pub(crate) fn access(
    repository: &GitRepository,
    secret: Option<&SecretData>,
    proxy: Option<&SecretData>,
    cancel: &CancellationToken,
) -> Result<Access, AccessError> {
    let spec = &repository.spec;
    let namespace = repository.metadata.namespace.as_deref().unwrap_or_default();
    let name = |reference: &LocalObjectReference| format!("{namespace}/{}", reference.name);
    let secret_name = spec.secret_ref.as_ref().map(name).unwrap_or_default();
    let login =
        GitLogin::of(spec.provider.as_deref(), &secret_name, secret).map_err(|error| match error {
            GitLoginError::App(error) => AccessError::App(error),
            other => AccessError::Provider(other),
        })?;
    let bad_url =
        |error: url::ParseError| AccessError::Url { url: spec.url.clone(), reason: error.to_string() };
    let url = Url::parse(&spec.url).map_err(bad_url)?;
    let empty = SecretData::new();
    let data = secret.unwrap_or(&empty);
    let mut remote = Remote::new(url);
    remote.cancel = cancel.clone();
    if let Some(timeout) = spec.timeout {
        remote.timeout = timeout.to_std();
    }
    let is_own = matches!(login, GitLogin::Secret);
    if is_own && (secret.is_some() || remote.url.scheme() != "ssh") {
        remote.credentials = Credentials::from_secret(&remote.url, data)?;
    }
    let proxy_name = spec.proxy_secret_ref.as_ref().map(name).unwrap_or_default();
    let proxy = proxy.map(|data| Proxy::from_secret(&proxy_name, data)).transpose();
    remote.http.proxy = proxy.map_err(AccessError::Proxy)?;
    remote.http.add_tls(&secret_name, data).map_err(AccessError::Tls)?;
    Ok(Access { remote, login })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;
    use weir_git::Credentials;

    use super::{SecretData, access};

    fn repository(spec: Value) -> weir_api::GitRepository {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "app", "namespace": "ns"}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn secret(entries: &[(&str, &str)]) -> SecretData {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[rstest]
    #[case(json!({"url": "http://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("password", "p")],
        "failed to configure authentication options: invalid 'http' auth option: 'password' requires 'username' to be set")]
    #[case(json!({"url": "ssh://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("identity", "x")],
        "failed to configure authentication options: invalid 'ssh' auth option: 'known_hosts' is required")]
    #[case(json!({"url": "https://h/r", "interval": "1m", "provider": "github"}), &[],
        "secretRef with github app data must be specified when provider is set to github: invalid source configuration")]
    #[case(json!({"url": "https://h/r", "interval": "1m", "provider": "github", "secretRef": {"name": "s"}}), &[("githubAppID", "1")],
        "failed to configure authentication options: secret 'ns/s': key 'githubAppPrivateKey' not found")]
    #[case(json!({"url": "https://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("githubAppID", "1")],
        "secretRef 'ns/s' has github app data but provider is not set to github: invalid source configuration")]
    #[case(json!({"url": "https://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("tls.crt", "c")],
        "failed to configure authentication options: secret 'ns/s' contains 'tls.crt' but missing 'tls.key'")]
    fn what_does_not_fit_is_named(#[case] spec: Value, #[case] entries: &[(&str, &str)], #[case] text: &str) {
        let data = secret(entries);
        let error = access(&repository(spec), Some(&data), None, &CancellationToken::new()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn credentials_trust_and_timeout_come_along() {
        let spec = json!({"url": "https://h/r", "interval": "1m", "timeout": "20s"});
        let data = secret(&[("username", "u"), ("password", "p"), ("ca.crt", "PEM")]);
        let access = access(&repository(spec), Some(&data), None, &CancellationToken::new());
        let remote = access.unwrap().remote;
        assert!(matches!(remote.credentials, Credentials::Basic { username, .. } if username == "u"));
        assert_eq!(remote.http.ca.as_deref(), Some(b"PEM".as_slice()));
        assert_eq!(remote.timeout.as_secs(), 20);
    }
}
