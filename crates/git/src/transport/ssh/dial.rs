//! Connecting to a host that has several addresses, of which some may not answer.

use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::Error;

/// Time after which the next address is tried beside the ones before, as in Go. Without that, one silent address, such as an
/// IPv6 address that nothing routes, would take all the time of the operation.
const PATIENCE: Duration = Duration::from_millis(300);
/// Addresses of a host that are tried.
const MAX_ADDRESSES: usize = 32;

/// Connects to the address of a host that answers first.
pub(super) async fn dial(host: &str, port: u16) -> Result<TcpStream, Error> {
    let unknown = || failed(String::new(), format!("lookup {host}: no such host"));
    let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| unknown())?;
    reach(addresses).await.map_err(|refusal| refusal.unwrap_or_else(unknown))
}

/// Connects to the address that answers first; the error is that of the first one that has refused, if there is any.
async fn reach(addresses: impl Iterator<Item = SocketAddr>) -> Result<TcpStream, Option<Error>> {
    let (mut attempts, mut refusal) = (FuturesUnordered::new(), None);
    for address in addresses.take(MAX_ADDRESSES) {
        attempts.push(attempt(address));
        match timeout(PATIENCE, attempts.next()).await {
            Ok(Some(Ok(stream))) => return Ok(stream),
            Ok(Some(Err(error))) => refusal = refusal.or(Some(error)),
            Ok(None) | Err(_) => {}
        }
    }
    while let Some(outcome) = attempts.next().await {
        match outcome {
            Ok(stream) => return Ok(stream),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal)
}

async fn attempt(address: SocketAddr) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(address).await.map_err(|error| {
        let words = weir_http::not_connected(error.kind());
        failed(
            format!(" {address}"),
            words.map_or_else(|| error.to_string(), |words| format!("connect: {words}")),
        )
    })?;
    // Only a matter of speed.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

fn failed(place: String, reason: String) -> Error {
    Error::Dial { place, reason }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Attempts after which a listener's queue of one is full on any system.
    const MANY: usize = 16;

    /// A listener that answers nobody any more, and what fills its queue.
    async fn silent() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let (address, mut queue) = (listener.local_addr().unwrap(), Vec::new());
        while let Ok(stream) = timeout(PATIENCE, TcpStream::connect(address)).await {
            queue.push(stream.unwrap());
            assert!(queue.len() < MANY, "the queue of {address} does not fill");
        }
        (listener, queue)
    }

    #[tokio::test]
    async fn a_silent_address_does_not_keep_others_from_being_tried() {
        let (silent, _queue) = silent().await;
        let open = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = [&silent, &open].map(|listener| listener.local_addr().unwrap());
        let stream = reach(addresses.into_iter()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[1]);
    }

    #[tokio::test]
    async fn the_first_refusal_is_told() {
        let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        let refusal = reach(addresses.into_iter()).await.unwrap_err().unwrap();
        assert_eq!(refusal.to_string(), "dial tcp 127.0.0.1:1: connect: connection refused");
        assert!(reach(std::iter::empty()).await.unwrap_err().is_none());
    }
}
