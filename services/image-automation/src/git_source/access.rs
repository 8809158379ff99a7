//! Credentials and trust for a Git server, from the GitRepository and its Secret (IU-24, IU-25, IU-26).

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;
use url::Url;
use weir_api::{GitRepository, LocalObjectReference};
use weir_git::{AuthOptionError, Credentials, Proxy, Remote};

/// The data of a Secret.
pub(crate) type SecretData = BTreeMap<String, Vec<u8>>;

/// The key that marks a Secret as one of a GitHub App.
const GITHUB_APP: &str = "githubAppID";

/// Schemes of proxies.
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// Why the server cannot be reached as configured. Texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccessError {
    /// `spec.url` is no URL.
    #[error("failed to parse url '{url}': {reason}")]
    Url { url: String, reason: String },
    /// The Secret's keys do not fit together.
    #[error("failed to configure authentication options: {0}")]
    AuthOptions(#[from] AuthOptionError),
    /// A GitHub App's data is missing.
    #[error(
        "secretRef with github app data must be specified when provider is set to github: invalid source configuration"
    )]
    NoGithubApp,
    /// A GitHub App's data is there for another provider.
    #[error(
        "secretRef '{secret}' has github app data but provider is not set to github: invalid source configuration"
    )]
    UnexpectedGithubApp { secret: String },
    /// The provider is none that Weir speaks yet.
    #[error("provider '{provider}' is not supported yet")]
    Provider { provider: String },
    /// The proxy's Secret does not say where the proxy is.
    #[error("failed to configure proxy options: secret '{secret}': key 'address' not found")]
    NoProxyAddress { secret: String },
    /// The proxy's address is none.
    #[error(
        "failed to configure proxy options: secret '{secret}': proxy URL must use one of the supported schemes (http, https, socks5)"
    )]
    ProxyAddress { secret: String },
    /// One half of a client certificate is missing.
    #[error(
        "failed to configure authentication options: secret '{secret}' contains '{has}' but missing '{missing}'"
    )]
    ClientCertificate { secret: String, has: &'static str, missing: &'static str },
}

impl AccessError {
    /// Says whether only a change of the spec can help.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::NoGithubApp | Self::UnexpectedGithubApp { .. })
    }
}

/// Builds the remote of a repository with the data of its Secrets.
pub(crate) fn remote(
    repository: &GitRepository,
    secret: Option<&SecretData>,
    proxy: Option<&SecretData>,
    cancel: &CancellationToken,
) -> Result<Remote, AccessError> {
    let spec = &repository.spec;
    let namespace = repository.metadata.namespace.as_deref().unwrap_or_default();
    let name = |reference: &LocalObjectReference| format!("{namespace}/{}", reference.name);
    let secret_name = spec.secret_ref.as_ref().map(name).unwrap_or_default();
    check_provider(spec.provider.as_deref().unwrap_or("generic"), secret, &secret_name)?;
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
    if secret.is_some() || remote.url.scheme() != "ssh" {
        remote.credentials = Credentials::from_secret(&remote.url, data)?;
    }
    let key = |names: [&str; 2]| {
        names.into_iter().find_map(|name| data.get(name)).filter(|value| !value.is_empty())
    };
    let proxy_name = spec.proxy_secret_ref.as_ref().map(name).unwrap_or_default();
    remote.http.proxy = proxy.map(|data| proxy_of(data, &proxy_name)).transpose()?;
    remote.http.ca = key(["ca.crt", "caFile"]).cloned();
    remote.http.identity = match (key(["tls.crt", "certFile"]), key(["tls.key", "keyFile"])) {
        (Some(certificate), Some(key)) => {
            let pem = [certificate.as_slice(), b"\n", key.as_slice()].concat();
            Some(String::from_utf8_lossy(&pem).into_owned().into())
        }
        (None, None) => None,
        (Some(_), None) => return Err(half(&secret_name, "tls.crt", "tls.key")),
        (None, Some(_)) => return Err(half(&secret_name, "tls.key", "tls.crt")),
    };
    Ok(remote)
}

fn proxy_of(data: &SecretData, secret: &str) -> Result<Proxy, AccessError> {
    let text = |key: &str| data.get(key).map(|value| String::from_utf8_lossy(value).trim().to_owned());
    let address = text("address").ok_or_else(|| AccessError::NoProxyAddress { secret: secret.to_owned() })?;
    let address = Url::parse(&address).ok().filter(|url| PROXY_SCHEMES.contains(&url.scheme()));
    let address = address.ok_or_else(|| AccessError::ProxyAddress { secret: secret.to_owned() })?;
    let user = text("username").filter(|user| !user.is_empty());
    let credentials = user.map(|user| (user, text("password").unwrap_or_default().into()));
    Ok(Proxy { address, credentials })
}

fn half(secret: &str, has: &'static str, missing: &'static str) -> AccessError {
    AccessError::ClientCertificate { secret: secret.to_owned(), has, missing }
}

fn check_provider(provider: &str, secret: Option<&SecretData>, name: &str) -> Result<(), AccessError> {
    let has_app = secret.is_some_and(|data| data.contains_key(GITHUB_APP));
    match provider {
        "github" if !has_app => Err(AccessError::NoGithubApp),
        "generic" if has_app => Err(AccessError::UnexpectedGithubApp { secret: name.to_owned() }),
        "generic" => Ok(()),
        other => Err(AccessError::Provider { provider: other.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;
    use weir_git::Credentials;

    use super::{SecretData, remote};

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
    #[case(json!({"url": "https://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("githubAppID", "1")],
        "secretRef 'ns/s' has github app data but provider is not set to github: invalid source configuration")]
    #[case(json!({"url": "https://h/r", "interval": "1m", "secretRef": {"name": "s"}}), &[("tls.crt", "c")],
        "failed to configure authentication options: secret 'ns/s' contains 'tls.crt' but missing 'tls.key'")]
    fn what_does_not_fit_is_named(#[case] spec: Value, #[case] entries: &[(&str, &str)], #[case] text: &str) {
        let data = secret(entries);
        let error = remote(&repository(spec), Some(&data), None, &CancellationToken::new()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn credentials_trust_and_timeout_come_along() {
        let spec = json!({"url": "https://h/r", "interval": "1m", "timeout": "20s"});
        let data = secret(&[("username", "u"), ("password", "p"), ("ca.crt", "PEM")]);
        let remote = remote(&repository(spec), Some(&data), None, &CancellationToken::new()).unwrap();
        assert!(matches!(remote.credentials, Credentials::Basic { username, .. } if username == "u"));
        assert_eq!(remote.http.ca.as_deref(), Some(b"PEM".as_slice()));
        assert_eq!(remote.timeout.as_secs(), 20);
    }
}
