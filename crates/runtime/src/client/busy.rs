//! A request that the API server is too busy for is sent again when it asks for that, as by Kubernetes' own clients.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::Policy;

/// Times that one request is sent again.
const MAX_RETRIES: u32 = 10;
/// Longest pause before that. The server asks for a second as a rule.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Sends a request again after the pause that the answer names. An answer without one is an error at once, such as that of an API whose own
/// server is away: a run that waited for it would hold up others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WhenAsked {
    retries: u32,
}

impl<T> Policy<Request<Body>, Response<T>, BoxError> for WhenAsked {
    type Future = Sleep;

    #[expect(clippy::disallowed_methods, reason = "a short wait within one request, as the server asks for")]
    fn retry(
        &mut self,
        _request: &mut Request<Body>,
        result: &mut Result<Response<T>, BoxError>,
    ) -> Option<Sleep> {
        let pause = pause(result.as_ref().ok()?)?;
        self.retries += 1;
        (self.retries <= MAX_RETRIES).then(|| tokio::time::sleep(pause))
    }

    /// Streams are not sent twice.
    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let body = request.body().try_clone()?;
        let mut clone = Request::new(body);
        *clone.method_mut() = request.method().clone();
        *clone.uri_mut() = request.uri().clone();
        *clone.version_mut() = request.version();
        *clone.headers_mut() = request.headers().clone();
        *clone.extensions_mut() = request.extensions().clone();
        Some(clone)
    }
}

/// Returns the pause that a server which cannot answer now asks for.
fn pause<T>(answer: &Response<T>) -> Option<Duration> {
    let status = answer.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rstest::rstest;
    use tokio::time::Instant;
    use tower::retry::RetryLayer;
    use tower::{Layer, ServiceExt};

    use super::*;

    /// The last number is how long the answer takes.
    #[rstest]
    #[case::busy_once(429, Some("1"), 1, 2, 1)]
    #[case::out_of_order_twice(503, Some("2"), 2, 3, 4)]
    #[case::for_good(429, Some("1"), u32::MAX, 11, 10)]
    #[case::for_long(429, Some("3600"), 1, 2, 10)]
    #[case::without_a_pause(503, None, u32::MAX, 1, 0)]
    #[case::with_a_date(503, Some("Fri, 31 Dec 1999 23:59:59 GMT"), u32::MAX, 1, 0)]
    #[case::refused(409, Some("1"), u32::MAX, 1, 0)]
    #[tokio::test(start_paused = true)]
    async fn a_request_is_sent_again_as_the_server_asks_for(
        #[case] status: u16,
        #[case] retry_after: Option<&'static str>,
        #[case] times: u32,
        #[case] sent: u32,
        #[case] seconds: u64,
    ) {
        let requests = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&requests);
        let server = tower::service_fn(move |request: Request<Body>| {
            let is_busy = counted.fetch_add(1, Ordering::SeqCst) < times;
            async move {
                let body = request.into_body().collect_bytes().await.unwrap();
                assert_eq!(body, "{}");
                let mut answer = Response::builder().status(if is_busy { status } else { 200 });
                if let Some(retry_after) = retry_after {
                    answer = answer.header(RETRY_AFTER, retry_after);
                }
                Ok::<_, BoxError>(answer.body(()).unwrap())
            }
        });
        let since = Instant::now();
        let request = Request::patch("/api/v1/nodes/a").body(Body::from(b"{}".to_vec())).unwrap();
        let answer = RetryLayer::new(WhenAsked::default()).layer(server).oneshot(request).await.unwrap();
        let expected = if times < MAX_RETRIES { 200 } else { status };
        assert_eq!((answer.status().as_u16(), requests.load(Ordering::SeqCst)), (expected, sent));
        assert_eq!(since.elapsed().as_secs(), seconds);
    }
}
