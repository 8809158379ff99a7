//! HTTP/1.1 connections with a limit on their number and on the time of a head, for servers that strangers may call.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::future::{FutureExt, ready};
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::certificate::Certificate;

/// Pause after a connection that could not be accepted.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time that what is in flight at a stop has (NTF-118).
const GRACE: Duration = Duration::from_secs(5);
/// Most headers of a request. Go counts bytes only; place for these is taken for each head, 64 bytes a header.
const MAX_HEADERS: usize = 1_000;

/// The limits for the callers of one server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; more wait in the kernel.
    pub connections: usize,
    /// Time for the head of a request.
    pub head_timeout: Duration,
    /// Largest head in bytes.
    pub head: usize,
}

/// Answers each request with `handler` until `stop`, then lets what is in flight end. With a certificate, only over TLS.
pub async fn serve<H, F>(
    listener: TcpListener,
    certificate: Option<Certificate>,
    limits: Limits,
    stop: CancellationToken,
    handler: H,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let (connections, certificate) = (TaskTracker::new(), certificate.map(Arc::new));
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut http = http1::Builder::new();
    // Go writes header names in title case, and scripts compare them.
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).title_case_headers(true);
    // The buffer alone bounds a head by what was read at once with its end.
    http.max_buf_size(limits.head).max_header_size(limits.head).max_headers(MAX_HEADERS);
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let Some((permit, accepted)) = stop.run_until_cancelled(next).await else { break };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: it takes a moment until one is free.
            #[expect(clippy::disallowed_methods, reason = "a server is no run")]
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let handler = handler.clone();
        let service = service_fn(move |request| match bad_host(&request) {
            None => handler(request).map(Ok::<_, Infallible>).left_future(),
            Some(reason) => ready(Ok(refusal(reason))).right_future(),
        });
        let (http, stop, certificate) = (http.clone(), stop.clone(), certificate.clone());
        connections.spawn(async move {
            match certificate {
                None => converse(http.serve_connection(TokioIo::new(stream), service), &stop).await,
                Some(certificate) => {
                    let greeted = certificate.greet(stream, limits.head_timeout);
                    // A caller that speaks no TLS, or speaks it slowly, gets no answer.
                    if let Some(Some(stream)) = stop.run_until_cancelled(greeted).await {
                        converse(http.serve_connection(TokioIo::new(stream), service), &stop).await;
                    }
                }
            }
            drop(permit);
        });
    }
    connections.close();
    connections.wait().await;
}

/// The fault of a request's `Host`, by the rules of Go's server: one, unless the request is older than HTTP/1.1.
fn bad_host<B>(request: &Request<B>) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 || request.method() == Method::CONNECT => None,
        (None, _) => Some("400 Bad Request: missing required Host header"),
        // Go leaves its reason out here.
        (Some(_), Some(_)) => Some("400 Bad Request"),
        (Some(host), None) => {
            let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"!$%&()*+,-.:;=['_]~".contains(byte);
            let is_host = host.as_bytes().iter().all(fits);
            (!is_host).then_some("400 Bad Request: malformed Host header")
        }
    }
}

/// The answer to a bad request, after which the connection ends.
fn refusal(reason: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(reason));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Lets a connection go on until it or the server ends.
async fn converse<I, S>(connection: http1::Connection<I, S>, stop: &CancellationToken)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    tokio::pin!(connection);
    tokio::select! {
        // A client that goes away is no fault of ours.
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(GRACE, connection).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    /// SRC-SCK-13: who sends a head by the letter is shown the door, and keeps nobody waiting.
    #[tokio::test]
    async fn connections_are_not_held_by_half_a_head() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let limits = Limits { connections: 2, head_timeout: Duration::from_millis(200), head: 8192 };
        let serving =
            serve(listener, None, limits, stop.clone(), async |_| Response::new(Body::from("here")));
        let asking = async {
            let mut slow = TcpStream::connect(address).await.unwrap();
            slow.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-").await.unwrap();
            let mut other = TcpStream::connect(address).await.unwrap();
            other.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            other.read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with("here"), "{answer}");
            // The connection ends, whatever was sent before.
            let mut answer = Vec::new();
            slow.read_to_end(&mut answer).await.unwrap();
            assert!(!String::from_utf8_lossy(&answer).contains("here"));
            stop.cancel();
        };
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(serving, asking) }).await.unwrap();
    }

    /// NTF-16: heads are bounded by their bytes, and a request names its host once, as Go's server wants it.
    #[tokio::test]
    async fn heads_are_taken_and_refused_as_by_go() {
        let (name, bound) = ("GET / HTTP/1.1\r\nHost: x\r\n", 64 * 1024);
        let padded = |size: usize| {
            let padding = size - name.len() - "X: \r\n\r\n".len();
            format!("{name}X: {}\r\n\r\n", "x".repeat(padding))
        };
        let many = |count: usize| format!("{name}{}\r\n", "X: y\r\n".repeat(count));
        let cases = [
            (padded(bound - 1), "200", "here"),
            (padded(bound + 40), "431", ""),
            (many(500), "200", "here"),
            (many(MAX_HEADERS), "431", ""),
            ("GET / HTTP/1.0\r\n\r\n".to_owned(), "200", "here"),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400", "400 Bad Request: missing required Host header"),
            ("GET http://x/ HTTP/1.1\r\n\r\n".to_owned(), "400", "missing required Host header"),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n".to_owned(), "200", "here"),
            (format!("{name}Host: x\r\n\r\n"), "400", "400 Bad Request"),
            ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n".to_owned(), "400", "malformed Host header"),
            ("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n".to_owned(), "200", "here"),
        ];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let limits = Limits { connections: 20, head_timeout: Duration::from_secs(20), head: bound };
        let serving =
            serve(listener, None, limits, stop.clone(), async |_| Response::new(Body::from("here")));
        let asking = async {
            for (head, status, text) in cases {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                // The client's end, so that the connection goes after its answer. It may be gone already.
                let _ = stream.shutdown().await;
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer).await;
                let answer = String::from_utf8(answer).unwrap();
                let shown = head.get(..60).unwrap_or(&head);
                let found = answer.split(' ').nth(1);
                assert_eq!(found, Some(status), "{shown:?}: {answer}");
                assert!(answer.ends_with(text), "{shown:?}: {answer}");
            }
            stop.cancel();
        };
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(serving, asking) }).await.unwrap();
    }
}
