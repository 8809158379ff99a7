//! The plain HTTP endpoints that Kubernetes and Prometheus ask: `/healthz`, `/readyz` and `/metrics` (MAN-12).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use futures::FutureExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::connections::{self, Limits};
use crate::metrics::Metrics;

/// A kubelet and a few Prometheus servers ask here. Whoever holds connections, or sends a head by the letter, makes room for
/// them soon, and takes no memory worth naming.
const LIMITS: Limits = Limits { connections: 128, head_timeout: Duration::from_secs(10), head: 64 * 1024 };

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// True when a process can serve: false until its caches are complete and its ports are open. A standby is ready as
/// well, so that a rollout does not wait for the Lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// From now on the process is ready.
    pub(crate) fn declare(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn answer(&self) -> (StatusCode, &'static str) {
        if self.0.load(Ordering::Acquire) {
            (StatusCode::OK, "ok")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "starting: caches are not complete yet")
        }
    }
}

/// Routes of the probes: the process is alive as long as it runs (MAN-11), and ready when it can serve (NTF-24).
pub(crate) fn probes(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(move || async move { readiness.answer() }))
}

/// Route of the metrics.
pub(crate) fn metrics(metrics: Metrics) -> Router {
    Router::new().route(
        "/metrics",
        get(move || async move {
            match metrics.encode() {
                Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
            }
        }),
    )
}

/// Serves until `stop`; requests in flight are answered.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    connections::serve(listener, None, LIMITS, stop, move |request| {
        router.clone().oneshot(request).map(|answer| answer.unwrap_or_else(|never| match never {}))
    })
    .await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    /// MAN-12: a head that never ends holds its connection for a while only.
    #[tokio::test(start_paused = true)]
    async fn nobody_holds_the_probes_by_half_a_head() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let asking = async {
            let mut slow = TcpStream::connect(address).await.unwrap();
            slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-").await.unwrap();
            // Ends when the server has closed it; the clock of the test goes on while nobody does anything.
            let mut answer = Vec::new();
            slow.read_to_end(&mut answer).await.unwrap();
            let mut other = TcpStream::connect(address).await.unwrap();
            other.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            other.read_to_string(&mut answer).await.unwrap();
            assert!(answer.contains(" 200 ") && answer.ends_with("ok"), "{answer}");
            stop.cancel();
        };
        let serving = serve(listener, probes(Readiness::default()), stop.clone());
        tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(serving, asking) }).await.unwrap();
    }

    #[test]
    fn ready_is_said_once_it_is_true() {
        let readiness = Readiness::default();
        assert_eq!(readiness.clone().answer().0, StatusCode::SERVICE_UNAVAILABLE);
        readiness.declare();
        assert_eq!(readiness.answer(), (StatusCode::OK, "ok"));
    }
}
