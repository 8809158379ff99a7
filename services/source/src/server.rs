//! The artifact server: Flux's contract, files by path over HTTP (SRC-STO-14…17).

mod access;
mod files;

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::services::ServeDir;
use weir_artifact::{RelPath, Store};
use weir_runtime::certificate::Certificate;
use weir_runtime::connections::{self, Limits};

pub(crate) use self::access::ArtifactAccess;
use self::files::Artifacts;

/// A connection costs some 50 KiB, and a thousand consumers are a large cluster. A head takes longer, or is larger, only
/// from clients that want to hold connections (SRC-SCK-13).
const LIMITS: Limits = Limits { connections: 1024, head_timeout: Duration::from_secs(10), head: 64 * 1024 };
/// Components of an artifact's path: kind, namespace, name, file.
const DEPTH: usize = 4;

/// The files that are served, and the rule about who may read them.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) store: Store,
    /// True when this replica leads.
    pub(crate) leader: watch::Receiver<bool>,
    /// Check of credentials; none when anybody may read.
    pub(crate) access: Option<ArtifactAccess>,
}

/// Serves the store until `stop`. A replica that does not lead answers its probe and has no artifacts: only
/// the leader's files are current.
pub(crate) async fn serve(
    listener: TcpListener,
    certificate: Option<Certificate>,
    gate: Gate,
    stop: CancellationToken,
) {
    let files = ServeDir::with_backend("", Artifacts(gate.store.clone()));
    let files = files.append_index_html_on_directories(false);
    let routes = Router::new()
        .fallback_service(files)
        .layer(middleware::from_fn_with_state(gate, guard))
        .layer(CatchPanicLayer::new());
    connections::serve(listener, certificate, LIMITS, stop, move |request| {
        routes.clone().oneshot(request).map(|answer| answer.unwrap_or_else(|never| match never {}))
    })
    .await;
}

/// Lets only paths of artifacts through: nothing beside them, nothing in them. The root itself answers 200,
/// which is the stock readiness probe.
async fn guard(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if request.uri().path() == "/" {
        return StatusCode::OK.into_response();
    }
    let Some(path) = artifact_path(request.uri().path()).filter(|_| *gate.leader.borrow()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if let Some(access) = &gate.access
        && let Err(refusal) = access.admit(request.headers(), &path).await
    {
        return refusal;
    }
    if !is_simple_range(request.headers()) {
        request.headers_mut().remove(RANGE);
    }
    next.run(request).await
}

/// Returns false for a part that is wanted on a condition, and for several parts at once. The file server takes no notice of
/// the first and refuses the second; HTTP lets both have the whole file.
fn is_simple_range(headers: &HeaderMap) -> bool {
    let is_list = |range: &HeaderValue| range.as_bytes().contains(&b',');
    !headers.contains_key(IF_RANGE) && !headers.get_all(RANGE).iter().any(is_list)
}

/// The path of an artifact; what else lies in the root (Git objects, files being written) is nobody's business.
fn artifact_path(uri: &str) -> Option<RelPath> {
    let decoded = percent_decode_str(uri.trim_start_matches('/')).decode_utf8().ok()?;
    let path = RelPath::parse(&decoded).ok()?;
    (path.depth() == DEPTH && !path.as_str().starts_with('.')).then_some(path)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/gitrepository/ns/app/abc.tar.gz", true)]
    #[case("/gitrepository/ns/app/a%62c.tar.gz", true)]
    #[case("/gitrepository/ns/app", false)]
    #[case("/gitrepository/ns/app/deeper/file", false)]
    #[case("/.git-stores/ns/app/HEAD", false)]
    #[case("/%2egit-stores/ns/app/HEAD", false)]
    #[case("/gitrepository/ns/app/%2e%2e", false)]
    #[case("/gitrepository/ns/app/%ff", false)]
    fn artifacts_have_four_components(#[case] uri: &str, #[case] is_one: bool) {
        assert_eq!(artifact_path(uri).is_some(), is_one);
    }
}
