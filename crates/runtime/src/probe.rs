//! The plain HTTP endpoints that Kubernetes and Prometheus ask: `/healthz`, `/readyz` and `/metrics` (MAN-12).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

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
///
/// # Errors
/// When the listener breaks.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> std::io::Result<()> {
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_said_once_it_is_true() {
        let readiness = Readiness::default();
        assert_eq!(readiness.clone().answer().0, StatusCode::SERVICE_UNAVAILABLE);
        readiness.declare();
        assert_eq!(readiness.answer(), (StatusCode::OK, "ok"));
    }
}
