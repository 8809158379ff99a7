//! The artifact server: Flux's contract, files by path over HTTP (SRC-STO-14…17).

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::services::ServeDir;
use weir_artifact::{RelPath, Store};

/// Time that running downloads have after the stop.
const GRACE: Duration = Duration::from_secs(5);

/// Serves the store below `root` until `stop`.
pub(crate) async fn serve(listener: TcpListener, root: &Path, store: Store, stop: CancellationToken) {
    let files = ServeDir::new(root).append_index_html_on_directories(false);
    let routes = Router::new()
        .fallback_service(files)
        .layer(middleware::from_fn_with_state(store, guard))
        .layer(CatchPanicLayer::new());
    let graceful = axum::serve(listener, routes).with_graceful_shutdown(stop.clone().cancelled_owned());
    let late = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        result = graceful.into_future() => {
            if let Err(error) = result {
                tracing::error!(%error, "artifact server ended");
            }
        }
        () = late => {}
    }
}

/// Lets only finished artifacts through: no directory, no lock, nothing outside the root. The root itself answers 200,
/// which is the stock readiness probe.
async fn guard(State(store): State<Store>, request: Request, next: Next) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if request.uri().path() == "/" {
        return StatusCode::OK.into_response();
    }
    let decoded = percent_decode_str(request.uri().path().trim_start_matches('/')).decode_utf8();
    let path = decoded.ok().and_then(|path| RelPath::parse(&path).ok());
    // Kinds of objects do not begin with a dot; what else lies in the root is nobody's business.
    let Some(path) = path.filter(|path| !path.as_str().starts_with('.')) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let is_served = tokio::task::spawn_blocking(move || store.open_file(&path).is_ok()).await;
    if !is_served.unwrap_or(false) {
        return StatusCode::NOT_FOUND.into_response();
    }
    next.run(request).await
}
