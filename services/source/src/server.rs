//! The artifact server: Flux's contract, files by path over HTTP (SRC-STO-14…17).

mod connection;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::services::ServeDir;
use weir_artifact::{RelPath, Store};

/// Time for the head of a request: longer only for clients that want to hold connections (SRC-SCK-13).
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Components of an artifact's path: kind, namespace, name, file.
const DEPTH: usize = 4;

/// Decides what is served.
#[derive(Clone)]
struct Guard {
    store: Store,
    leader: watch::Receiver<bool>,
}

/// Serves the store below `root` until `stop`. A replica that does not lead answers its probe and has no artifacts: only
/// the leader's files are current.
pub(crate) async fn serve(
    listener: TcpListener,
    root: &Path,
    store: Store,
    leader: watch::Receiver<bool>,
    stop: CancellationToken,
) {
    let files = ServeDir::new(root).append_index_html_on_directories(false);
    let routes = Router::new()
        .fallback_service(files)
        .layer(middleware::from_fn_with_state(Guard { store, leader }, guard))
        .layer(CatchPanicLayer::new());
    connection::serve(listener, routes, HEAD_TIMEOUT, stop).await;
}

/// Lets only finished artifacts through: no directory, no lock, nothing outside the root. The root itself answers 200,
/// which is the stock readiness probe.
async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if request.uri().path() == "/" {
        return StatusCode::OK.into_response();
    }
    let Some(path) = artifact_path(request.uri().path()).filter(|_| *guard.leader.borrow()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let is_served = tokio::task::spawn_blocking(move || guard.store.open_file(&path).is_ok()).await;
    if !is_served.unwrap_or(false) {
        return StatusCode::NOT_FOUND.into_response();
    }
    next.run(request).await
}

/// The path of an artifact; what else lies in the root (Git objects, files being written) is nobody's business.
fn artifact_path(uri: &str) -> Option<RelPath> {
    let decoded = percent_decode_str(uri.trim_start_matches('/')).decode_utf8().ok()?;
    let path = RelPath::parse(&decoded).ok()?;
    (path.depth() == DEPTH && !path.as_str().starts_with('.')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

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

    /// SRC-SCK-13: who sends a head by the letter is shown the door, and keeps nobody waiting.
    #[tokio::test]
    async fn connections_are_not_held_by_half_a_head() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let routes = Router::new().route("/", axum::routing::get(async || "here"));
        let serving = connection::serve(listener, routes, Duration::from_millis(200), stop.clone());
        let asking = async {
            let mut slow = TcpStream::connect(address).await.unwrap();
            slow.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-").await.unwrap();
            let mut other = TcpStream::connect(address).await.unwrap();
            other.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            other.read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with("here"), "{answer}");
            // The end of the connection, whatever is said before.
            let mut answer = Vec::new();
            let end = tokio::time::timeout(Duration::from_secs(10), slow.read_to_end(&mut answer)).await;
            assert!(end.is_ok(), "the connection is still open");
            stop.cancel();
        };
        tokio::join!(serving, asking);
    }
}
