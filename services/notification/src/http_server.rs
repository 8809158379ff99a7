//! The plain HTTP/1 server under both endpoints: limits on heads, bodies, time and connections (NTF-2, NTF-16).

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::HttpMetrics;

/// Largest body, as in Flux; a larger one is answered with 413 before anything looks at it.
pub const MAX_BODY: usize = 3 * 1024 * 1024;
/// Largest head.
const MAX_HEAD: usize = 256 * 1024;
/// Time for a head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a whole request.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections of one endpoint; more wait in the kernel.
const MAX_CONNECTIONS: usize = 512;
/// Bodies held at once: with the largest ones 96 MiB.
const MAX_BODIES: usize = 32;
/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for requests in flight at a stop (NTF-118).
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A request with its body not read yet.
pub struct Call {
    /// Path and query.
    pub uri: Uri,
    /// Headers.
    pub headers: HeaderMap,
    body: Incoming,
    bodies: Arc<Semaphore>,
}

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// Larger than [`MAX_BODY`].
    TooLarge,
    /// The connection broke, or it took too long.
    Unreadable,
}

impl BodyError {
    /// The status that says so.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable => StatusCode::BAD_REQUEST,
        }
    }
}

impl Call {
    /// Reads the body.
    pub async fn read(self) -> Result<Bytes, BodyError> {
        // The semaphore is never closed.
        let _permit = self.bodies.acquire().await;
        read(self.body, true).await
    }

    /// Reads the body and throws it away: what it costs is bounded by time, not by memory.
    pub async fn discard(self) -> Result<(), BodyError> {
        read(self.body, false).await.map(drop)
    }
}

async fn read(mut body: Incoming, keep: bool) -> Result<Bytes, BodyError> {
    let work = async {
        let (mut kept, mut size) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Unreadable)?.into_data() else { continue };
            size += data.len();
            if size > MAX_BODY {
                return Err(BodyError::TooLarge);
            }
            if keep {
                kept.extend_from_slice(&data);
            }
        }
        Ok(Bytes::from(kept))
    };
    tokio::time::timeout(READ_TIMEOUT, work).await.unwrap_or(Err(BodyError::Unreadable))
}

/// An answer of a status and a text.
pub fn answer(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    if !text.is_empty() {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(http::header::CONTENT_TYPE, plain);
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    }
    response
}

/// Serves until `stop`, then answers what is in flight.
pub async fn serve<H, F>(listener: TcpListener, metrics: HttpMetrics, stop: CancellationToken, handler: H)
where
    H: Fn(Call) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let connections = TaskTracker::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let bodies = Arc::new(Semaphore::new(MAX_BODIES));
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let Some((permit, accepted)) = stop.run_until_cancelled(next).await else { break };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: it takes a moment until one is free.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (handler, metrics, bodies) = (handler.clone(), metrics.clone(), bodies.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (handler, metrics, bodies) = (handler.clone(), metrics.clone(), bodies.clone());
            async move { Ok::<_, Infallible>(measured(request, handler, metrics, bodies).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_HEAD)
            // Go writes header names so, and scripts compare them.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), service);
        let stop = stop.clone();
        connections.spawn(async move {
            tokio::pin!(connection);
            tokio::select! {
                // A client that goes away is no fault of ours.
                _ = connection.as_mut() => {}
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection).await;
                }
            }
            drop(permit);
        });
    }
    connections.close();
    connections.wait().await;
}

async fn measured<H, F>(
    request: Request<Incoming>,
    handler: H,
    metrics: HttpMetrics,
    bodies: Arc<Semaphore>,
) -> Response<Body>
where
    H: Fn(Call) -> F,
    F: Future<Output = Response<Body>>,
{
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let started = Instant::now();
    let _in_flight = metrics.request_started(&path);
    let response = handler(Call { uri: parts.uri, headers: parts.headers, body, bodies }).await;
    let size = axum::body::HttpBody::size_hint(response.body()).exact().unwrap_or(0);
    metrics.request_ended(&path, &method, response.status(), started.elapsed(), size);
    response
}
