//! How a repository is reached: its Secrets become a client with credentials (SRC-HRP-7, SRC-HRP-8).

use weir_access::{ReadError, Secret, Secrets, TransportError};
use weir_api::HelmRepository;
use weir_auth::Logins;
use weir_helm::Repository;
use weir_helm::repository::BasicAuth;
use weir_http::{Clients, Profile};
use weir_runtime::ObjectKey;

use super::decide;
use crate::login::AUTHENTICATION_FAILED;
use crate::source::{Failure, Source};

/// Opens repositories. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) clients: Clients,
    pub(crate) logins: Logins,
    pub(crate) secrets: Secrets,
}

/// The content of a repository's Secrets.
pub(crate) struct Access {
    /// The Secret of `secretRef`.
    pub(crate) credentials: Option<Secret>,
    /// Certificates.
    pub(crate) http: Profile,
}

impl Access {
    /// User and password of the Secret: both or none.
    pub(crate) fn basic_auth(&self, pass_on: bool) -> Result<Option<BasicAuth>, Failure> {
        let Some(secret) = &self.credentials else { return Ok(None) };
        basic_auth(secret, pass_on)
            .map_err(|why| authentication_failure(format!("failed to detect authentication methods: {why}")))
    }
}

impl Connector {
    /// The repository of an object that has an index.
    pub(crate) async fn open(&self, key: &ObjectKey, object: &HelmRepository) -> Result<Repository, Failure> {
        let spec = &object.spec;
        let url = decide::address(&spec.url)?;
        let access = self.access(key, object).await?;
        let credentials = access.basic_auth(spec.pass_credentials)?;
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
        let (spec, namespace) = (&object.spec, &key.namespace);
        let certificates = self.secrets.certificates(namespace, spec.cert_secret_ref.as_ref()).await;
        let mut http = certificates.map_err(|error| match error {
            TransportError::Read(error) => read_failure("TLS authentication", &error),
            TransportError::Content(error) => tls_failure(&error.to_string()),
        })?;
        let credentials = self.secrets.find(namespace, spec.secret_ref.as_ref()).await;
        let credentials = credentials.map_err(|error| read_failure("authentication", &error))?;
        if let (None, Some(secret)) = (&spec.cert_secret_ref, &credentials) {
            http.add_whole_tls(&secret.data);
            if http.ca.is_some() || http.identity.is_some() {
                tracing::warn!(%key, "TLS certificates in spec.secretRef are deprecated, use spec.certSecretRef");
            }
        }
        Ok(Access { credentials, http })
    }
}

fn basic_auth(secret: &Secret, pass_on: bool) -> Result<Option<BasicAuth>, String> {
    let Secret { place, data, .. } = secret;
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

fn read_failure(what: &str, error: &ReadError) -> Failure {
    authentication_failure(format!("failed to get {what} secret '{}': {error}", error.place))
}

fn tls_failure(why: &str) -> Failure {
    authentication_failure(format!("failed to construct Helm client's TLS config: {why}"))
}
