//! The plain HTTP/1 server under both endpoints: limits on heads, bodies, time and connections (NTF-2, NTF-16).

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use weir_runtime::connections::{self, Limits};

use crate::metrics::HttpMetrics;

/// Largest body, as in Flux; a larger one is answered with 413 before anything looks at it.
pub const MAX_BODY: usize = 3 * 1024 * 1024;
/// Limits of one endpoint on connections and heads.
const LIMITS: Limits = Limits { connections: 512, head_timeout: Duration::from_secs(10), head: 256 * 1024 };
/// Time for a whole request.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Bodies held at once: with the largest ones 96 MiB.
const MAX_BODIES: usize = 32;

/// A request with its body not read yet.
pub struct Call {
    /// Path and query.
    pub uri: Uri,
    /// Headers.
    pub headers: HeaderMap,
    body: Incoming,
    bodies: Arc<Semaphore>,
}

/// Errors that leave a request without a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// Larger than [`MAX_BODY`].
    TooLarge,
    /// The connection broke, or it took too long.
    Unreadable,
}

impl BodyError {
    /// Returns the HTTP status of the error.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable => StatusCode::BAD_REQUEST,
        }
    }
}

impl Call {
    /// Reads the body.
    ///
    /// # Errors
    /// When the body is too large, too slow, or ends early.
    pub async fn read(self) -> Result<Bytes, BodyError> {
        // The semaphore is never closed.
        let _permit = self.bodies.acquire().await;
        read(self.body, true).await
    }

    /// Reads the body and throws it away: what it costs is bounded by time, not by memory.
    ///
    /// # Errors
    /// As [`Call::read`].
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
    let bodies = Arc::new(Semaphore::new(MAX_BODIES));
    connections::serve(listener, None, LIMITS, stop, move |request| {
        measured(request, handler.clone(), metrics.clone(), bodies.clone())
    })
    .await;
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
