//! The plain HTTP endpoints that Kubernetes and Prometheus ask: `/healthz`, `/readyz` and `/metrics` (MAN-12).

use std::net::SocketAddr;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Routes of the probes: the process answers as long as it runs (MAN-11).
pub(crate) fn probes() -> Router {
    Router::new().route("/healthz", get(|| async { "ok" })).route("/readyz", get(|| async { "ok" }))
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
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> std::io::Result<()> {
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}
