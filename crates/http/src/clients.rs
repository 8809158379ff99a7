//! The bounded set of clients.

use crate::Profile;
use moka::sync::Cache;
use reqwest::{Certificate, Client, Identity, redirect};
use secrecy::ExposeSecret;
use std::time::Duration;

/// Clients kept at a time; each holds a connection pool and a TLS configuration of some 100 KiB.
const MAX_CLIENTS: u64 = 64;
/// A client that nobody used for so long goes, its secrets with it.
const CLIENT_IDLE: Duration = Duration::from_secs(10 * 60);
/// Time to connect; whole operations have the object's timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Idle connections per host: enough for the workers of one service.
const MAX_IDLE_PER_HOST: usize = 16;
/// Age of an idle connection.
const POOL_IDLE: Duration = Duration::from_secs(60);
/// Redirects that are followed.
const MAX_REDIRECTS: usize = 10;

/// Why no client could be made. The texts are those of conditions.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The certificate authorities are no PEM certificates.
    #[error("failed to parse CA certificate")]
    Ca,
    /// Certificate and key cannot be used.
    #[error("failed to parse TLS certificate and key: {source}")]
    Identity {
        /// What the library said.
        #[source]
        source: reqwest::Error,
    },
    /// The proxy cannot be used.
    #[error("invalid proxy address: {source}")]
    Proxy {
        /// What the library said.
        #[source]
        source: reqwest::Error,
    },
    /// The client could not be put together.
    #[error("failed to create HTTP client: {source}")]
    Build {
        /// What the library said.
        #[source]
        source: reqwest::Error,
    },
}

/// Clients by profile. Cheap to clone; share one per process.
#[derive(Clone)]
pub struct Clients {
    cache: Cache<[u8; 32], Client>,
    user_agent: &'static str,
}

impl Clients {
    /// An empty set whose clients call themselves `user_agent`.
    #[must_use]
    pub fn new(user_agent: &'static str) -> Clients {
        Clients {
            cache: Cache::builder().max_capacity(MAX_CLIENTS).time_to_idle(CLIENT_IDLE).build(),
            user_agent,
        }
    }

    /// The client for `profile`. It follows at most 10 redirects, none from https to http, and drops credentials on
    /// the way to another host.
    ///
    /// # Errors
    /// When the profile's certificates or proxy cannot be used.
    pub fn get(&self, profile: &Profile) -> Result<Client, ClientError> {
        let key = profile.key();
        if let Some(client) = self.cache.get(&key) {
            return Ok(client);
        }
        let client = self.build(profile)?;
        self.cache.insert(key, client.clone());
        Ok(client)
    }

    fn build(&self, profile: &Profile) -> Result<Client, ClientError> {
        let mut builder = Client::builder()
            .user_agent(self.user_agent)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
            .pool_idle_timeout(POOL_IDLE)
            .redirect(redirect::Policy::custom(follow))
            .gzip(!profile.keep_encoding)
            .tls_danger_accept_invalid_certs(profile.accept_invalid_certificates);
        if let Some(ca) = &profile.ca {
            let certificates = Certificate::from_pem_bundle(ca).map_err(|_| ClientError::Ca)?;
            if certificates.is_empty() {
                return Err(ClientError::Ca);
            }
            builder = builder.tls_certs_merge(certificates);
        }
        if let Some(identity) = &profile.identity {
            let identity = Identity::from_pem(identity.expose_secret().as_bytes());
            builder = builder.identity(identity.map_err(|source| ClientError::Identity { source })?);
        }
        if let Some(proxy) = &profile.proxy {
            let all = reqwest::Proxy::all(proxy.address.as_str())
                .map_err(|source| ClientError::Proxy { source })?;
            builder = builder.proxy(match &proxy.credentials {
                Some((user, password)) => all.basic_auth(user, password.expose_secret()),
                None => all,
            });
        }
        builder.build().map_err(|source| ClientError::Build { source })
    }
}

fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let previous = attempt.previous();
    let from_https = previous.last().is_some_and(|url| url.scheme() == "https");
    if previous.len() > MAX_REDIRECTS {
        attempt.error(format!("stopped after {MAX_REDIRECTS} redirects"))
    } else if from_https && attempt.url().scheme() != "https" {
        attempt.error("refused redirect from https to http")
    } else {
        attempt.follow()
    }
}
