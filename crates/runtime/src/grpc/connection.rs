//! The connections of a gRPC server, as many at once as it allows.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::{Connected, TcpConnectInfo};

use crate::connections::ACCEPT_PAUSE;

/// A connection that counts until it is closed.
pub(super) struct Connection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

/// Returns the connections of clients as they come, `at_most` at once.
pub(super) fn accepted(
    listener: TcpListener,
    at_most: usize,
) -> impl Stream<Item = io::Result<Connection>> + Send {
    let room = Arc::new(Semaphore::new(at_most));
    stream::unfold((listener, room), async |(listener, room)| {
        // The semaphore is never closed.
        let permit = room.clone().acquire_owned().await.ok()?;
        loop {
            let accepted = async {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                io::Result::Ok(stream)
            };
            match accepted.await {
                Ok(stream) => {
                    return Some((Ok(Connection { stream, _permit: permit }), (listener, room)));
                }
                // Out of file descriptors, most likely: it takes a moment until one is free.
                #[expect(clippy::disallowed_methods, reason = "a server is no run")]
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    })
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures::StreamExt;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_connection_too_many_waits_until_another_is_closed() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut connections = pin!(accepted(listener, 1));
        let _first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let held = connections.next().await.unwrap().unwrap();
        assert!(timeout(Duration::from_millis(100), connections.next()).await.is_err(), "two at once");
        drop(held);
        assert!(timeout(Duration::from_secs(5), connections.next()).await.unwrap().unwrap().is_ok());
    }
}
