//! The bounded set of clients.

use std::time::Duration;

use moka::sync::Cache;
use reqwest::{Client, ClientBuilder, redirect};
use secrecy::ExposeSecret;

use crate::environment::{proxy_url, with_proxies};
use crate::resolver::SystemResolver;
use crate::{Profile, tls};

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
/// Name of the clients that [`client_builder`] makes: some servers refuse a client without one.
const USER_AGENT: &str = "weir";

/// Errors of making a client. The texts are those of conditions.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The certificate authorities are no PEM certificates.
    #[error("failed to parse CA certificate")]
    Ca,
    /// More certificate authorities than anyone needs. None of them is left out in silence.
    #[error("failed to parse CA certificate: more than {limit} certificates")]
    CaTooLarge {
        /// The cap.
        limit: usize,
    },
    /// The name that a certificate must be for.
    #[error("'{name}' is no name of a server")]
    ServerName {
        /// The name.
        name: String,
    },
    /// Certificate and key cannot be used.
    #[error("failed to parse TLS certificate and key: {reason}")]
    Identity {
        /// Fault in them.
        reason: String,
    },
    /// TLS could not be set up.
    #[error("failed to set up TLS: {source}")]
    Tls {
        /// The library's error.
        #[source]
        source: rustls::Error,
    },
    /// The proxy cannot be used.
    #[error("invalid proxy address: {source}")]
    Proxy {
        /// The library's error.
        #[source]
        source: reqwest::Error,
    },
    /// The client could not be put together.
    #[error("failed to create HTTP client: {source}")]
    Build {
        /// The library's error.
        #[source]
        source: reqwest::Error,
    },
}

/// Clients by profile. Cheap to clone; share one per process.
#[derive(Clone)]
pub struct Clients {
    cache: Cache<[u8; 32], Client>,
    user_agent: &'static str,
    follows: bool,
}

impl Clients {
    /// An empty set whose clients call themselves `user_agent`.
    #[must_use]
    pub fn new(user_agent: &'static str) -> Self {
        let cache = Cache::builder().max_capacity(MAX_CLIENTS).time_to_idle(CLIENT_IDLE).build();
        Self { cache, user_agent, follows: true }
    }

    /// An empty set whose clients hand redirects to the caller.
    #[must_use]
    pub fn without_redirects(user_agent: &'static str) -> Self {
        Self { follows: false, ..Self::new(user_agent) }
    }

    /// The client for `profile`. It follows at most 10 redirects (unless the set follows none), none from https to http,
    /// and drops credentials on the way to another host.
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
        let mut builder: ClientBuilder = Client::builder()
            .user_agent(self.user_agent)
            .dns_resolver(SystemResolver)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
            .pool_idle_timeout(POOL_IDLE)
            .gzip(!profile.keep_encoding)
            .redirect(match (self.follows, profile.secret_bodies) {
                (false, _) => redirect::Policy::none(),
                (true, false) => redirect::Policy::custom(follow),
                (true, true) => redirect::Policy::custom(follow_at_home),
            });
        builder = if profile.accept_invalid_certificates {
            builder.tls_danger_accept_invalid_certs(true)
        } else {
            builder.tls_backend_preconfigured(tls::client_config(profile)?)
        };
        builder = match &profile.proxy {
            Some(proxy) => {
                let all = reqwest::Proxy::all(proxy_url(proxy.address.as_str()))
                    .map_err(|source| ClientError::Proxy { source })?;
                builder.proxy(match &proxy.credentials {
                    Some((user, password)) => all.basic_auth(user, password.expose_secret()),
                    None => all,
                })
            }
            None => with_proxies(builder),
        };
        builder.build().map_err(|source| ClientError::Build { source })
    }
}

/// A builder of clients with a purpose of their own that believe whom the other clients believe, without another copy of
/// the system's certificates.
pub fn client_builder() -> ClientBuilder {
    with_proxies(match tls::client_config(&Profile::default()) {
        Ok(config) => Client::builder().tls_backend_preconfigured(config),
        // Without our TLS the library's own does as well.
        Err(_) => Client::builder(),
    })
    .user_agent(USER_AGENT)
    .dns_resolver(SystemResolver)
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

fn follow_at_home(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let is_at_home = attempt.previous().last().is_some_and(|url| url.origin() == attempt.url().origin());
    if is_at_home { follow(attempt) } else { attempt.error("refused redirect to another server") }
}
