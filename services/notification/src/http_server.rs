//! The plain HTTP/1 server under both endpoints: limits on heads, bodies, time and connections (NTF-2, NTF-16).

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use weir_runtime::connections::{self, Limits};

use crate::metrics::HttpMetrics;

/// Largest body, as in Flux; a larger one is answered with 413 before anything looks at it.
pub const MAX_BODY: usize = 3 * 1024 * 1024;
/// Limits of one endpoint on connections and heads.
const LIMITS: Limits = Limits { connections: 512, head_timeout: Duration::from_secs(10), head: 256 * 1024 };
/// Time for a whole request.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Large bodies held at once: with the largest ones 96 MiB.
const MAX_BODIES: usize = 32;
/// Bytes from which on a body is a large one. Smaller ones wait for nothing; with all connections they are 32 MiB.
const LARGE: usize = 64 * 1024;

/// A request with its body not read yet.
pub struct Call {
    /// Path and query.
    pub uri: Uri,
    /// Headers.
    pub headers: HeaderMap,
    body: Incoming,
    bodies: Arc<Semaphore>,
}

/// The bytes of a request, with their place among the large ones as long as they are held.
#[derive(Debug, Default)]
pub struct Content {
    bytes: Vec<u8>,
    place: Option<OwnedSemaphorePermit>,
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
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
    pub async fn read(self) -> Result<Content, BodyError> {
        within_time(read(self.body, &self.bodies)).await
    }

    /// Reads the body and throws it away: what it costs is bounded by time, not by memory.
    ///
    /// # Errors
    /// As [`Call::read`].
    pub async fn discard(self) -> Result<(), BodyError> {
        within_time(discard(self.body)).await
    }
}

async fn within_time<T>(work: impl Future<Output = Result<T, BodyError>>) -> Result<T, BodyError> {
    tokio::time::timeout(READ_TIMEOUT, work).await.unwrap_or(Err(BodyError::Unreadable))
}

async fn read<B>(mut body: B, places: &Arc<Semaphore>) -> Result<Content, BodyError>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let mut content = Content::default();
    while let Some(data) = next(&mut body).await? {
        let size = content.bytes.len() + data.len();
        if size > MAX_BODY {
            return Err(BodyError::TooLarge);
        }
        // Only here: a caller that sends nothing takes no place from the others.
        if size > LARGE && content.place.is_none() {
            content.place = places.clone().acquire_owned().await.ok();
        }
        content.bytes.extend_from_slice(&data);
    }
    Ok(content)
}

async fn discard<B>(mut body: B) -> Result<(), BodyError>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let mut size = 0;
    while let Some(data) = next(&mut body).await? {
        size += data.len();
        if size > MAX_BODY {
            return Err(BodyError::TooLarge);
        }
    }
    Ok(())
}

/// The next bytes of a body; none at its end.
async fn next<B>(body: &mut B) -> Result<Option<Bytes>, BodyError>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|_| BodyError::Unreadable)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use http_body_util::Full;

    use super::*;

    fn body(size: usize) -> Full<Bytes> {
        Full::new(Bytes::from(vec![b'x'; size]))
    }

    #[tokio::test]
    async fn a_large_body_keeps_its_place_until_it_is_dropped_and_small_ones_need_none() {
        let places = Arc::new(Semaphore::new(1));
        let large = read(body(LARGE + 1), &places).await.unwrap();
        assert_eq!((large.len(), places.available_permits()), (LARGE + 1, 0));
        assert!(
            read(body(LARGE + 1), &places).now_or_never().is_none(),
            "there is no place for a second one"
        );
        assert_eq!(read(body(LARGE), &places).await.unwrap().len(), LARGE);
        drop(large);
        assert!(read(body(LARGE + 1), &places).await.is_ok());
    }

    #[tokio::test]
    async fn bodies_have_a_largest_size() {
        let places = Arc::new(Semaphore::new(1));
        assert!(read(body(MAX_BODY), &places).await.is_ok());
        assert_eq!(read(body(MAX_BODY + 1), &places).await.err(), Some(BodyError::TooLarge));
        assert_eq!(discard(body(MAX_BODY + 1)).await, Err(BodyError::TooLarge));
    }
}
