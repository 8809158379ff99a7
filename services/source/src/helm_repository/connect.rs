//! How a repository is reached: its Secrets become a client with credentials (SRC-HRP-7, SRC-HRP-8).

use super::decide;
use crate::secrets::{SecretData, Secrets, shown};
use crate::source::{Failure, Source};
use weir_api::HelmRepository;
use weir_auth::Logins;
use weir_helm::Repository;
use weir_helm::repository::BasicAuth;
use weir_http::{Clients, Profile};
use weir_runtime::ObjectKey;

const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";

/// Opens repositories. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) clients: Clients,
    pub(crate) logins: Logins,
    pub(crate) secrets: Secrets,
}

/// The content of a repository's Secrets.
pub(crate) struct Access {
    /// The data of `secretRef`.
    pub(crate) credentials: Option<SecretData>,
    /// Certificates.
    pub(crate) http: Profile,
}

impl Connector {
    /// The repository of an object that has an index.
    pub(crate) async fn open(&self, key: &ObjectKey, object: &HelmRepository) -> Result<Repository, Failure> {
        let spec = &object.spec;
        let url = decide::address(&spec.url)?;
        let access = self.access(key, object).await?;
        let place = spec.secret_ref.as_ref().map(|reference| shown(key, &reference.name)).unwrap_or_default();
        let credentials = match &access.credentials {
            Some(data) => basic_auth(&place, data, spec.pass_credentials).map_err(|why| {
                authentication_failure(format!("failed to detect authentication methods: {why}"))
            })?,
            None => None,
        };
        let profile = Profile { keep_encoding: true, ..access.http };
        let client = self.clients.get(&profile).map_err(|error| tls_failure(&error.to_string()))?;
        Ok(Repository::new(url, client, credentials, object.timeout()))
    }

    /// A repository that nobody described: without credentials, with the default timeout.
    pub(crate) fn anonymous(&self, url: url::Url) -> Result<Repository, weir_http::ClientError> {
        let profile = Profile { keep_encoding: true, ..Profile::default() };
        Ok(Repository::new(url, self.clients.get(&profile)?, None, crate::source::DEFAULT_TIMEOUT))
    }

    /// Reads the Secrets of a repository. Certificates of `certSecretRef` win over those that old objects have in
    /// `secretRef`.
    pub(crate) async fn access(&self, key: &ObjectKey, object: &HelmRepository) -> Result<Access, Failure> {
        let spec = &object.spec;
        let credentials = match &spec.secret_ref {
            Some(reference) => {
                Some(self.read(key, &reference.name, "failed to get authentication secret").await?)
            }
            None => None,
        };
        let mut http = Profile::default();
        if let Some(reference) = &spec.cert_secret_ref {
            let data = self.read(key, &reference.name, "failed to get TLS authentication secret").await?;
            http = Profile::from_secret(&shown(key, &reference.name), &data)
                .map_err(|error| tls_failure(&error.to_string()))?;
        } else if let Some(data) = &credentials {
            http.add_whole_tls(data);
            if http.ca.is_some() || http.identity.is_some() {
                tracing::warn!(%key, "TLS certificates in spec.secretRef are deprecated, use spec.certSecretRef");
            }
        }
        Ok(Access { credentials, http })
    }

    async fn read(&self, key: &ObjectKey, name: &str, what: &str) -> Result<SecretData, Failure> {
        let read = self.secrets.secret(&key.namespace, name).await;
        read.map_err(|error| authentication_failure(format!("{what} '{}': {error}", shown(key, name))))
    }
}

/// User and password of a Secret: both or none.
fn basic_auth(place: &str, data: &SecretData, pass_on: bool) -> Result<Option<BasicAuth>, String> {
    let text = |key: &str| data.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
    let half = |has: &str, misses: &str| {
        format!("secret '{place}': malformed basic auth - has '{has}' but missing '{misses}'")
    };
    match (text("username"), text("password")) {
        (Some(username), Some(password)) => {
            Ok(Some(BasicAuth { username, password: password.into(), pass_on }))
        }
        (Some(_), None) => Err(half("username", "password")),
        (None, Some(_)) => Err(half("password", "username")),
        (None, None) => Ok(None),
    }
}

fn authentication_failure(message: String) -> Failure {
    Failure::fetch(AUTHENTICATION_FAILED, message)
}

fn tls_failure(why: &str) -> Failure {
    authentication_failure(format!("failed to construct Helm client's TLS config: {why}"))
}
