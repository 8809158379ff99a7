//! Logins kept for most of their life (SRC-CLD-7).

mod metrics;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use moka::Expiry;
use moka::future::Cache;
use moka::notification::RemovalCause;
use prometheus_client::registry::Registry;
use sha2::{Digest, Sha256};

use self::metrics::Metrics;
use crate::credentials::Login;
use crate::error::LoginError;
use crate::identity::Caller;
use crate::operation::Operation;

/// Share of its life after which a login is renewed, in percent.
const USABLE_PERCENT: u32 = 80;
/// Longest time that a login is kept, whatever life its issuer gives it.
const HARD_MAXIMUM: Duration = Duration::from_secs(60 * 60);

/// A login in the making. Boxed, because cloud SDKs' futures are large and would be copied into every caller's.
pub(crate) type Making<'a> = Pin<Box<dyn Future<Output = Result<Login, LoginError>> + Send + 'a>>;

/// A part of a key that stands for what must not stand in it: secrets, and texts of any length. Other parts, or the same
/// ones cut elsewhere, have another fingerprint.
pub(crate) fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// Logins by key. The key names everything that the login depends on: provider, identity, namespace, registry, proxy,
/// authorities.
#[derive(Clone)]
pub(crate) struct TokenCache {
    cache: Cache<String, Arc<Login>>,
    metrics: Metrics,
}

struct UntilRenewal {
    maximum: Duration,
}

impl Expiry<String, Arc<Login>> for UntilRenewal {
    fn expire_after_create(&self, _key: &String, login: &Arc<Login>, _now: Instant) -> Option<Duration> {
        let life = login.expires.duration_since(SystemTime::now()).unwrap_or_default();
        Some((life / 100 * USABLE_PERCENT).min(self.maximum).min(HARD_MAXIMUM))
    }
}

impl TokenCache {
    /// A cache of at most `size` logins (0 = none), each kept for at most `maximum`.
    pub(crate) fn new(size: u64, maximum: Duration) -> Self {
        let metrics = Metrics::default();
        let evictions = metrics.clone();
        let cache = Cache::builder()
            .max_capacity(size)
            .expire_after(UntilRenewal { maximum })
            .eviction_listener(move |_, _, cause| {
                if matches!(cause, RemovalCause::Expired | RemovalCause::Size) {
                    evictions.evicted();
                }
            })
            .build();
        Self { cache, metrics }
    }

    /// Adds the cache's metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }

    /// Drops the metrics of an object that is gone (SRC-MET-2).
    pub(crate) fn forget(&self, kind: &'static str, namespace: &str, name: &str) {
        self.metrics.forget(kind, namespace, name);
    }

    /// The login under `key`, made if it is not there. Several callers at once make one login.
    ///
    /// # Errors
    /// Returns the kept login, or that of `making`; a failure is not kept.
    pub(crate) async fn get_or_login(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        key: String,
        making: Making<'_>,
    ) -> Result<Arc<Login>, LoginError> {
        if let Some(found) = self.cache.get(&key).await {
            // The cache's clock stands still while a machine sleeps; the issuer's does not.
            if found.expires > SystemTime::now() {
                self.metrics.hit(caller, operation);
                return Ok(found);
            }
            self.cache.invalidate(&key).await;
        }
        let made = self.cache.try_get_with(key, async { making.await.map(Arc::new) }).await;
        // The count lags behind until the cache has done what it puts off.
        self.cache.run_pending_tasks().await;
        self.metrics.miss(caller, operation, made.is_ok(), self.cache.entry_count());
        made.map_err(|error| LoginError::clone(&error))
    }
}

#[cfg(test)]
mod tests;
