//! HTTP/1.1 connections with a limit on their number and on the time of a head.

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at once; more wait in the kernel. Each costs some 50 KiB, and a thousand consumers are a large cluster.
const MAX_CONNECTIONS: usize = 1024;
/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time that running downloads have after the stop.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until `stop`, then lets running downloads end.
pub(super) async fn serve(
    listener: TcpListener,
    routes: Router,
    head_timeout: Duration,
    stop: CancellationToken,
) {
    let connections = TaskTracker::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes.clone()));
        let stop = stop.clone();
        connections.spawn(async move {
            tokio::pin!(connection);
            tokio::select! {
                // A client that goes away is no fault of ours.
                _ = connection.as_mut() => {}
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(GRACE, connection).await;
                }
            }
            drop(permit);
        });
    }
    connections.close();
    connections.wait().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_client_that_never_ends_its_head_is_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let routes = Router::new().fallback(|| async { "found" });
        let client = async {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert!(!String::from_utf8_lossy(&answer).contains("found"));
            let mut stream = TcpStream::connect(addr).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
            stream.read_to_end(&mut answer).await.unwrap();
            assert!(String::from_utf8_lossy(&answer).ends_with("found"));
            stop.cancel();
        };
        let serving = serve(listener, routes, Duration::from_millis(200), stop.clone());
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(serving, client) }).await.unwrap();
    }
}
