//! HTTP clients: one per TLS material and proxy, kept in a bounded cache (DEP-HTTP-2).

use std::error::Error;
use std::time::Duration;

use moka::sync::Cache;
use reqwest::tls::{Certificate, Identity, Version};
use reqwest::{Client, Proxy, Response};
use sha2::{Digest, Sha256};
use url::Url;

use super::redirect::SendError;

/// Clients kept; each owns a connection pool and a TLS configuration. Most Providers share the one without settings.
const MAX_CLIENTS: u64 = 64;
/// Time for a connection; the delivery as a whole has its own bound.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections of rarely used Providers are closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Settings that do not make a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The proxy's URL.
    #[error("failed to get proxy URL: {0}")]
    Proxy(String),
    /// Certificates or keys.
    #[error("failed to get TLS config: {0}")]
    Tls(String),
}

/// How a Provider's service is reached. No `Debug`: it holds keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// Proxy with its credentials; without one the environment's applies.
    pub proxy: Option<Url>,
    /// PEM of the only authorities that are trusted; the system's without it (NTF-49).
    pub authorities: Option<Vec<u8>>,
    /// PEM of the client's certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Transport {
    fn key(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let (certificate, key) = self.identity.as_ref().map_or((None, None), |(c, k)| (Some(c), Some(k)));
        let proxy = self.proxy.as_ref().map(|url| url.as_str().as_bytes().to_vec());
        for part in [proxy.as_ref(), self.authorities.as_ref(), certificate, key] {
            let bytes = part.map_or(&[][..], Vec::as_slice);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        hash.finalize().into()
    }

    fn client(&self) -> Result<Client, ClientError> {
        let tls = |error: reqwest::Error| ClientError::Tls(innermost(&error));
        // Those without certificates of their own share the system's authorities with the rest of the process.
        let is_plain = self.authorities.is_none() && self.identity.is_none();
        let builder = if is_plain { weir_http::client_builder() } else { Client::builder() };
        let mut builder = builder
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent("weir-notification")
            .tls_version_min(Version::TLS_1_2);
        if let Some(url) = &self.proxy {
            builder = builder.proxy(proxy(url)?);
        }
        if let Some(pem) = &self.authorities {
            let authorities = Certificate::from_pem_bundle(pem).map_err(tls)?;
            if authorities.is_empty() {
                return Err(ClientError::Tls("failed to parse CA certificate".into()));
            }
            builder = builder.tls_certs_only(authorities);
        }
        if let Some((certificate, key)) = &self.identity {
            let pem = [certificate.as_slice(), b"\n", key.as_slice()].concat();
            let failed = |error: reqwest::Error| {
                ClientError::Tls(format!("failed to parse TLS certificate and key: {}", innermost(&error)))
            };
            builder = builder.identity(Identity::from_pem(&pem).map_err(failed)?);
        }
        builder.build().map_err(tls)
    }
}

fn proxy(url: &Url) -> Result<Proxy, ClientError> {
    let mut bare = url.clone();
    // Cannot fail for URLs with a host, and the settings admit no other.
    let _ = bare.set_username("").and_then(|()| bare.set_password(None));
    let proxy = Proxy::all(weir_http::proxy_url(bare.as_str()))
        .map_err(|error| ClientError::Proxy(innermost(&error)))?;
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    Ok(match url.username() {
        "" => proxy,
        user => proxy.basic_auth(&decoded(user), &decoded(url.password().unwrap_or_default())),
    })
}

/// The cache of clients.
#[derive(Clone)]
pub struct Clients {
    clients: Cache<[u8; 32], Client>,
}

impl Default for Clients {
    fn default() -> Self {
        Self { clients: Cache::new(MAX_CLIENTS) }
    }
}

impl Clients {
    /// The client for a transport, made if need be.
    pub fn get(&self, transport: &Transport) -> Result<Client, ClientError> {
        let key = transport.key();
        if let Some(client) = self.clients.get(&key) {
            return Ok(client);
        }
        let client = transport.client()?;
        self.clients.insert(key, client.clone());
        Ok(client)
    }
}

/// Reads the start of a body; what went wrong after it does not matter to the judgement.
pub(crate) async fn read_at_most(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(chunk.get(..limit.saturating_sub(body.len())).unwrap_or(&chunk));
        if body.len() >= limit {
            break;
        }
    }
    body
}

/// A failure that another try cannot mend: bad certificates, refused redirects, requests that cannot be built.
pub(super) fn is_final(error: &SendError) -> bool {
    match error {
        SendError::Redirect(_) => true,
        SendError::Request(error) => error.is_builder() || has_certificate_fault(error),
    }
}

/// The innermost cause, without the URL.
pub(super) fn cause(error: &SendError) -> String {
    match error {
        SendError::Redirect(text) => (*text).to_owned(),
        SendError::Request(error) => innermost(error),
    }
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn has_certificate_fault(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|cause| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// The error and its sources; an io error hides its own in `get_ref`.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<std::io::Error>() {
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}
