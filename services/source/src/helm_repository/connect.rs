//! Makes a client with credentials of a repository's Secrets (SRC-HRP-7, SRC-HRP-8).

use weir_access::{ReadError, Secret, Secrets, TransportError};
use weir_api::HelmRepository;
use weir_auth::Logins;
use weir_helm::Repository;
use weir_helm::repository::BasicAuth;
use weir_http::{ClientError, Clients, Profile};
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
    /// Its user and password: both or none.
    pub(crate) basic: Option<BasicAuth>,
    /// Certificates.
    pub(crate) http: Profile,
}

impl Connector {
    /// The repository of an object that has an index.
    pub(crate) async fn open(&self, key: &ObjectKey, object: &HelmRepository) -> Result<Repository, Failure> {
        let spec = &object.spec;
        let url = decide::address(&spec.url)?;
        let access = self.access(key, object).await?;
        let profile = Profile { keep_encoding: true, ..access.http };
        let client = self.clients.get(&profile).map_err(|error| tls_failure(&error.to_string()))?;
        Ok(Repository::new(url, client, access.basic, object.timeout()))
    }

    /// A repository that nobody described: without credentials, with the default timeout.
    pub(crate) fn anonymous(&self, url: url::Url) -> Result<Repository, ClientError> {
        let profile = Profile { keep_encoding: true, ..Profile::default() };
        Ok(Repository::new(url, self.clients.get(&profile)?, None, crate::source::DEFAULT_TIMEOUT))
    }

    /// Reads the Secrets of a repository, and checks them: all that `secretRef` has, needed or not. Certificates of
    /// `certSecretRef` win over those that old objects have in `secretRef`.
    pub(crate) async fn access(&self, key: &ObjectKey, object: &HelmRepository) -> Result<Access, Failure> {
        let (spec, namespace) = (&object.spec, &key.namespace);
        let certificates = self.secrets.certificates(namespace, spec.cert_secret_ref.as_ref()).await;
        let http = certificates.map_err(|error| match error {
            TransportError::Read(error) => read_failure("TLS authentication", &error),
            TransportError::Content(error) => tls_failure(&error.to_string()),
        })?;
        check(&http).map_err(|error| tls_failure(&error.to_string()))?;
        let credentials = self.secrets.find(namespace, spec.secret_ref.as_ref()).await;
        let credentials = credentials.map_err(|error| read_failure("authentication", &error))?;
        let Some(secret) = credentials else { return Ok(Access { credentials: None, basic: None, http }) };
        let (basic, own) = methods(&secret, spec.pass_credentials).map_err(|why| {
            authentication_failure(format!("failed to detect authentication methods: {why}"))
        })?;
        let is_own = spec.cert_secret_ref.is_none();
        if is_own && has_certificates(&own) {
            tracing::warn!(%key, "TLS certificates in spec.secretRef are deprecated, use spec.certSecretRef");
        }
        Ok(Access { credentials: Some(secret), basic, http: if is_own { own } else { http } })
    }
}

/// The login and the certificates of a `secretRef`.
fn methods(secret: &Secret, pass_on: bool) -> Result<(Option<BasicAuth>, Profile), String> {
    let basic = basic_auth(secret, pass_on)?;
    let mut certificates = Profile::default();
    certificates.add_whole_tls(&secret.data);
    check(&certificates).map_err(|error| error.to_string())?;
    Ok((basic, certificates))
}

fn has_certificates(profile: &Profile) -> bool {
    profile.ca.is_some() || profile.certificate.is_some()
}

/// Refuses certificates that cannot be used.
fn check(profile: &Profile) -> Result<(), ClientError> {
    if has_certificates(profile) { weir_http::tls_config(profile).map(drop) } else { Ok(()) }
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
