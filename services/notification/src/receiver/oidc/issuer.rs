//! Keys of identity providers: discovered, bounded, remembered (NTF-102, NTF-104).

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::Algorithm;
use jsonwebtoken::jwk::Jwk;
use moka::Expiry;
use moka::future::Cache;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::token::{self, Demand, Fault};
use crate::delivery::answer::read_at_most;

/// Issuers remembered.
const MAX_ISSUERS: u64 = 256;
/// Age at which keys are read again; providers announce new ones well before they sign with them.
const KEYS_AGE: Duration = Duration::from_secs(600);
/// Time for which a provider is left alone after it failed: calls come unauthenticated, and must not turn into calls of ours.
const FAILURE_AGE: Duration = Duration::from_secs(10);
/// A token with an unknown key id makes us read the keys again, if they are older than this.
const UNKNOWN_KEY_AGE: Duration = Duration::from_secs(30);
/// Time for one document.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Redirects of one document.
const MAX_REDIRECTS: usize = 3;
/// Bytes of one document.
const MAX_DOCUMENT: usize = 1024 * 1024;

/// Reasons not to trust a token of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuerError {
    /// The provider's documents cannot be had.
    Discovery(String),
    /// The token is not good.
    Token(String),
}

impl IssuerError {
    /// The words for the log.
    pub fn for_issuer(&self, issuer: &str) -> String {
        match self {
            Self::Discovery(error) => {
                format!("failed to initialize OIDC provider for issuer {issuer:?}: {error}")
            }
            Self::Token(error) => format!("failed to verify OIDC token: {error}"),
        }
    }
}

/// All issuers that calls were checked against.
#[derive(Clone)]
pub struct Issuers {
    http: reqwest::Client,
    known: Cache<Source, Arc<Known>>,
}

/// The origin of keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Source {
    /// An issuer whose discovery document names them.
    Issuer(String),
    /// Their own address.
    Keys(String),
}

struct Known {
    read: Instant,
    keys: Result<Keys, String>,
}

struct Keys {
    keys: Vec<Jwk>,
    admitted: Vec<Algorithm>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
    #[serde(default)]
    id_token_signing_alg_values_supported: Vec<String>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

struct Ages;

impl Expiry<Source, Arc<Known>> for Ages {
    fn expire_after_create(&self, _: &Source, known: &Arc<Known>, _: Instant) -> Option<Duration> {
        Some(if known.keys.is_ok() { KEYS_AGE } else { FAILURE_AGE })
    }
}

impl Issuers {
    /// Nothing known yet.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new() -> Result<Self, reqwest::Error> {
        let redirects = reqwest::redirect::Policy::limited(MAX_REDIRECTS);
        let http = weir_http::client_builder().redirect(redirects).timeout(TIMEOUT).build()?;
        Ok(Self { http, known: Cache::builder().max_capacity(MAX_ISSUERS).expire_after(Ages).build() })
    }

    /// Verifies a token of an issuer that publishes a discovery document.
    ///
    /// # Errors
    /// When the token is wrong, or the issuer's keys cannot be had.
    pub async fn verify(&self, issuer: &str, token: &str, demand: Demand<'_>) -> Result<Value, IssuerError> {
        self.verify_with(Source::Issuer(issuer.to_owned()), token, demand).await
    }

    /// Verifies a token with the RS256 keys at an address.
    ///
    /// # Errors
    /// As [`Issuers::verify`].
    pub async fn verify_with_keys(
        &self,
        address: &str,
        token: &str,
        demand: Demand<'_>,
    ) -> Result<Value, IssuerError> {
        self.verify_with(Source::Keys(address.to_owned()), token, demand).await
    }

    async fn verify_with(
        &self,
        source: Source,
        token: &str,
        demand: Demand<'_>,
    ) -> Result<Value, IssuerError> {
        let mut known = self.known(&source).await;
        let mut verdict = known.keys()?.verify(token, demand);
        if verdict == Err(Fault::UnknownKey) && known.read.elapsed() > UNKNOWN_KEY_AGE {
            self.known.invalidate(&source).await;
            known = self.known(&source).await;
            verdict = known.keys()?.verify(token, demand);
        }
        verdict.map_err(|fault| IssuerError::Token(fault.to_string()))
    }

    /// Concurrent calls share one look at the provider.
    async fn known(&self, source: &Source) -> Arc<Known> {
        let read = async { Arc::new(Known { keys: self.read(source).await, read: Instant::now() }) };
        self.known.get_with(source.clone(), read).await
    }

    async fn read(&self, source: &Source) -> Result<Keys, String> {
        let (address, admitted) = match source {
            Source::Keys(address) => (address.clone(), vec![Algorithm::RS256]),
            Source::Issuer(issuer) => {
                let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
                let discovery: Discovery = self.get(&address).await?;
                if discovery.issuer != *issuer {
                    return Err(format!(
                        "issuer did not match the issuer returned by provider, got {:?}",
                        discovery.issuer
                    ));
                }
                (discovery.jwks_uri, token::admitted(&discovery.id_token_signing_alg_values_supported))
            }
        };
        let set: KeySet = self.get(&address).await?;
        // Keys of kinds that we do not know are of no use, and no fault.
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
        Ok(Keys { keys, admitted })
    }

    async fn get<T: DeserializeOwned>(&self, address: &str) -> Result<T, String> {
        let response =
            self.http.get(address).send().await.map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("status code {}", response.status().as_u16()));
        }
        let body = read_at_most(response, MAX_DOCUMENT).await;
        serde_json::from_slice(&body).map_err(|error| format!("invalid document: {error}"))
    }
}

impl Known {
    fn keys(&self) -> Result<&Keys, IssuerError> {
        self.keys.as_ref().map_err(|error| IssuerError::Discovery(error.clone()))
    }
}

impl Keys {
    fn verify(&self, token: &str, demand: Demand<'_>) -> Result<Value, Fault> {
        token::verify(token, &self.keys, &self.admitted, demand)
    }
}
