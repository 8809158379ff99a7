//! Logins kept for most of their life (SRC-CLD-7).

use crate::Login;
use moka::Expiry;
use moka::future::Cache;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Share of its life after which a login is renewed, in percent.
const USABLE_PERCENT: u32 = 80;
/// Longest time that a login is kept, whatever its issuer says.
const HARD_MAXIMUM: Duration = Duration::from_secs(60 * 60);

/// Whether a login came from the cache, for the metric `gotk_token_cache_events_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheHit {
    /// It was there.
    Hit,
    /// It was asked for.
    Miss,
}

/// Logins by key. The caller's key must name everything that the login depends on: provider, identity, namespace,
/// registry, endpoint, proxy.
#[derive(Clone)]
pub struct TokenCache {
    cache: Cache<String, Arc<Login>>,
}

struct UntilRenewal {
    maximum: Duration,
}

impl Expiry<String, Arc<Login>> for UntilRenewal {
    fn expire_after_create(&self, _key: &String, login: &Arc<Login>, _now: Instant) -> Option<Duration> {
        let life = login.expires.duration_since(SystemTime::now()).unwrap_or_default();
        Some((life * USABLE_PERCENT / 100).min(self.maximum).min(HARD_MAXIMUM))
    }
}

impl TokenCache {
    /// A cache of at most `size` logins (0 = none), each kept for at most `maximum`.
    #[must_use]
    pub fn new(size: u64, maximum: Duration) -> TokenCache {
        TokenCache {
            cache: Cache::builder().max_capacity(size).expire_after(UntilRenewal { maximum }).build(),
        }
    }

    /// The login under `key`, made by `login` if it is not there. Several callers at once make one login. `login` is
    /// boxed, because cloud SDKs' futures are large and would be copied into every caller's.
    ///
    /// # Errors
    /// That of `login`; a failure is not kept.
    pub async fn get_or_login<E: Send + Sync + 'static>(
        &self,
        key: String,
        login: Pin<Box<dyn Future<Output = Result<Login, E>> + Send + '_>>,
    ) -> Result<(Arc<Login>, CacheHit), Arc<E>> {
        if let Some(found) = self.cache.get(&key).await {
            return Ok((found, CacheHit::Hit));
        }
        let made = self.cache.try_get_with(key, async { login.await.map(Arc::new) }).await?;
        Ok((made, CacheHit::Miss))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::RegistryCredentials;

    fn login(life: Duration) -> Login {
        Login { credentials: RegistryCredentials::Anonymous, expires: SystemTime::now() + life }
    }

    #[tokio::test]
    async fn kept_until_renewal() {
        let cache = TokenCache::new(10, HARD_MAXIMUM);
        let key = || "aws/flux-system/default".to_owned();
        let first =
            cache.get_or_login(key(), Box::pin(async { Ok::<_, ()>(login(HARD_MAXIMUM)) })).await.unwrap();
        let second = cache.get_or_login(key(), Box::pin(async { Err::<Login, ()>(()) })).await.unwrap();
        assert_eq!((first.1, second.1), (CacheHit::Miss, CacheHit::Hit));
        let other = cache
            .get_or_login("aws/tenant/default".to_owned(), Box::pin(async { Err::<Login, _>("no") }))
            .await;
        assert_eq!(*other.unwrap_err(), "no");
    }

    #[tokio::test]
    async fn what_has_expired_is_not_kept() {
        let cache = TokenCache::new(10, HARD_MAXIMUM);
        let made = cache
            .get_or_login("k".to_owned(), Box::pin(async { Ok::<_, ()>(login(Duration::ZERO)) }))
            .await
            .unwrap();
        assert_eq!(made.1, CacheHit::Miss);
        let again = cache
            .get_or_login("k".to_owned(), Box::pin(async { Ok::<_, ()>(login(Duration::ZERO)) }))
            .await
            .unwrap();
        assert_eq!(again.1, CacheHit::Miss);
    }
}
