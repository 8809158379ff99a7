//! The remote of a GitRepository: its address, our identity there, and the way to it (SRC-GIT 4.9, IU-24 to IU-28).

use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;
use url::Url;
use weir_api::source::GitRepositorySpec;
use weir_api::{FluxObject, GitRepository};
use weir_auth::{Credentials as Issued, GitLogin, GitLoginError, LoginError, Logins};
use weir_git::{AuthOptionError, Credentials, Remote};
use weir_http::go_url;
use weir_runtime::ObjectKey;

use crate::{ReadError, Secret, Secrets, TransportError, caller};

/// Rules in which Flux's controllers differ about the same GitRepository.
#[derive(Debug, Clone, Copy)]
pub struct GitRules {
    /// True when a key for SSH that is encrypted without a `password` is an error. Otherwise the connection shows it.
    pub refuses_locked_keys: bool,
}

/// Errors that keep a Git server from being reached as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitAccessError {
    /// The Secret of the proxy cannot be read or used.
    #[error("failed to configure proxy options: {0}")]
    Proxy(TransportError),
    /// `spec.url` is no URL.
    #[error("failed to parse url '{url}': {reason}")]
    Url {
        /// The URL without user and password, which may stand in it.
        url: String,
        /// The fault in it.
        reason: String,
    },
    /// The Secret of the credentials cannot be read.
    #[error("failed to get secret '{place}': {0}", place = .0.place)]
    Secret(ReadError),
    /// Provider and Secret do not go together.
    #[error(transparent)]
    Login(#[from] GitLoginError),
    /// The entries of the Secret do not fit together.
    #[error("failed to configure authentication options: {0}")]
    Credentials(#[from] AuthOptionError),
    /// The key of the Secret is encrypted.
    #[error("SSH identity key is encrypted but no 'password' field was provided in the secret '{0}'")]
    LockedKey(String),
}

/// A remote, and the login that provides its credentials if its Secret does not.
#[derive(Debug, Clone)]
pub struct GitAccess {
    /// The remote. Its credentials are those of the Secret until the login is made.
    pub remote: Remote,
    /// The login.
    pub login: GitLogin,
}

impl Secrets {
    /// Returns the access to a repository, with what its Secrets hold. `cancel` ends the operations of the remote.
    ///
    /// # Errors
    /// When a Secret cannot be read, or the repository is not to be reached as it is configured.
    pub async fn git_access(
        &self,
        repository: &GitRepository,
        rules: &GitRules,
        cancel: &CancellationToken,
    ) -> Result<GitAccess, GitAccessError> {
        let spec = &repository.spec;
        let namespace = repository.metadata.namespace.as_deref().unwrap_or_default();
        let proxy = self.proxy(namespace, spec.proxy_secret_ref.as_ref()).await;
        let proxy = proxy.map_err(GitAccessError::Proxy)?;
        let url = parse_url(&spec.url)?;
        let secret = self.find(namespace, spec.secret_ref.as_ref()).await.map_err(GitAccessError::Secret)?;
        let mut remote = Remote::new(url);
        remote.http.proxy = proxy;
        remote.cancel = cancel.clone();
        GitAccess::new(remote, spec, secret.as_ref(), rules)
    }
}

/// Parses `spec.url`; its user and password are in no error. So the fault is looked for in the URL without them: the error
/// about the whole URL quotes it with escapes, in which a password would not be found again.
fn parse_url(text: &str) -> Result<Url, GitAccessError> {
    go_url::parse(text).map_err(|_| {
        let url = go_url::without_user_info(text);
        let reason = go_url::parse(&url).err();
        let reason = reason.unwrap_or_else(|| "user info or query cannot be read".to_owned());
        GitAccessError::Url { url, reason }
    })
}

impl GitAccess {
    /// Completes a remote with what spec and Secret have for it.
    fn new(
        mut remote: Remote,
        spec: &GitRepositorySpec,
        secret: Option<&Secret>,
        rules: &GitRules,
    ) -> Result<Self, GitAccessError> {
        let (provider, none) = (spec.provider.as_deref(), Secret::default());
        let Secret { place, data, .. } = secret.unwrap_or(&none);
        if let Some(timeout) = spec.timeout {
            remote.timeout = timeout.to_std();
        }
        // Also with a provider, as in Flux: it logs in over HTTP alone, and the address of SSH wants its key.
        remote.credentials = Credentials::from_secret(&remote.url, data)?;
        if rules.refuses_locked_keys && is_locked(&remote.credentials) {
            return Err(GitAccessError::LockedKey(place.clone()));
        }
        let login = GitLogin::of(provider, place, secret.map(|secret| &secret.data))?;
        // Certificates are for the server, the proxy on the way or the API of GitHub. Else the Secret may hold anything. Half of
        // a client certificate counts as none.
        let speaks_tls =
            remote.url.scheme() == "https" || remote.http.proxy.is_some() || provider == Some("github");
        if speaks_tls {
            remote.http.add_whole_tls(data);
        }
        Ok(Self { remote, login })
    }

    /// Completes the remote with the credentials that its provider gives, if it has one, for the object of the kind `K`
    /// that uses it. `account` is a ServiceAccount of that object's namespace (SRC-CLD-5, IU-26 to IU-28).
    ///
    /// # Errors
    /// When the object may not have an identity, or the provider refuses.
    pub async fn log_in<K: FluxObject>(
        &mut self,
        logins: &Logins,
        key: &ObjectKey,
        account: Option<&str>,
    ) -> Result<(), LoginError> {
        let Self { remote, login } = self;
        let caller = caller::<K>(key, account, &remote.http, remote.timeout);
        let Some(issued) = logins.git(login, &caller, &remote.url).await? else { return Ok(()) };
        replace(&mut remote.credentials, &issued.credentials);
        Ok(())
    }
}

/// Replaces the credentials of a Secret by those of a provider, which no server takes over SSH.
fn replace(credentials: &mut Credentials, issued: &Issued) {
    if matches!(credentials, Credentials::Ssh(_)) {
        return;
    }
    *credentials = match issued {
        Issued::Basic { username, password } => {
            Credentials::Basic { username: username.clone(), password: password.clone() }
        }
        Issued::Bearer(token) => Credentials::Bearer(token.clone()),
        Issued::Aws { .. } | Issued::Cluster { .. } => Credentials::None,
    };
}

fn is_locked(credentials: &Credentials) -> bool {
    let Credentials::Ssh(auth) = credentials else { return false };
    auth.passphrase.is_none() && weir_git::identity_is_encrypted(auth.identity.expose_secret())
}

#[cfg(test)]
mod tests;
