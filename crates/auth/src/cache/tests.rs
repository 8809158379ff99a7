use prometheus_client::encoding::text::encode;
use weir_http::Profile;

use super::*;

fn login(life: Duration) -> Login {
    Login::bearer("t".to_owned().into(), SystemTime::now() + life)
}

fn refused() -> Result<Login, LoginError> {
    Err(LoginError::GateDisabled)
}

async fn get(
    cache: &TokenCache,
    key: &str,
    made: Result<Login, LoginError>,
) -> Result<Arc<Login>, LoginError> {
    get_for(Operation::default(), cache, key, made).await
}

async fn get_for(
    operation: Operation,
    cache: &TokenCache,
    key: &str,
    made: Result<Login, LoginError>,
) -> Result<Arc<Login>, LoginError> {
    let http = Profile::default();
    let caller = Caller {
        kind: "OCIRepository",
        namespace: "ns",
        name: "app",
        account: None,
        http: &http,
        timeout: HARD_MAXIMUM,
    };
    cache.get_or_login(&caller, operation, key.to_owned(), Box::pin(async { made })).await
}

#[tokio::test]
async fn kept_until_renewal() {
    let cache = TokenCache::new(10, HARD_MAXIMUM);
    get(&cache, "aws/flux-system", Ok(login(HARD_MAXIMUM))).await.unwrap();
    get(&cache, "aws/flux-system", refused()).await.unwrap();
    get(&cache, "aws/tenant", refused()).await.unwrap_err();
}

/// No issuer can name a life with which the cache cannot reckon.
#[tokio::test]
async fn a_life_without_end() {
    let cache = TokenCache::new(10, HARD_MAXIMUM);
    get(&cache, "k", Ok(login(Duration::from_secs(i64::MAX as u64 / 2)))).await.unwrap();
    get(&cache, "k", refused()).await.unwrap();
}

#[tokio::test]
async fn what_has_expired_is_not_kept() {
    let cache = TokenCache::new(10, HARD_MAXIMUM);
    get(&cache, "k", Ok(login(Duration::ZERO))).await.unwrap();
    get(&cache, "k", refused()).await.unwrap_err();
}

#[tokio::test]
async fn nothing_is_kept_by_a_cache_of_size_zero() {
    let cache = TokenCache::new(0, HARD_MAXIMUM);
    get(&cache, "k", Ok(login(HARD_MAXIMUM))).await.unwrap();
    cache.cache.run_pending_tasks().await;
    get(&cache, "k", refused()).await.unwrap_err();
}

#[tokio::test]
async fn metrics_of_an_object_go_with_it() {
    let (cache, mut registry) = (TokenCache::new(10, HARD_MAXIMUM), Registry::default());
    cache.register(&mut registry);
    get(&cache, "k", Ok(login(HARD_MAXIMUM))).await.unwrap();
    get(&cache, "k", refused()).await.unwrap();
    get(&cache, "other", refused()).await.unwrap_err();
    for operation in Operation::ALL.into_iter().skip(1) {
        get_for(operation, &cache, "k", refused()).await.unwrap();
    }
    let shown = |registry: &Registry| {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    };
    let text = shown(&registry);
    for line in [
        "gotk_token_cache_events_total{event_type=\"cache_hit\",kind=\"OCIRepository\",name=\"app\",namespace=\"ns\",operation=\"reconcile\"} 1",
        "gotk_token_cache_events_total{event_type=\"cache_miss\",kind=\"OCIRepository\",name=\"app\",namespace=\"ns\",operation=\"reconcile\"} 2",
        "event_type=\"cache_hit\",kind=\"OCIRepository\",name=\"app\",namespace=\"ns\",operation=\"post\"} 1",
        "operation=\"fetch_kubeconfig\"} 1",
        "operation=\"decrypt_with_aws\"} 1",
        "operation=\"decrypt_with_azure\"} 1",
        "operation=\"decrypt_with_gcp\"} 1",
        "operation=\"decrypt_with_vault\"} 1",
        "gotk_token_cached_items 1",
        "gotk_token_cache_requests_total{status=\"success\"} 8",
        "gotk_token_cache_requests_total{status=\"failure\"} 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    cache.forget("OCIRepository", "ns", "app");
    assert!(!shown(&registry).contains("name=\"app\""));
}
