//! Connections of a test's own servers.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::Error;

/// Longest head of a request or an answer; tokens in headers have a few KiB.
const MAX_HEAD: usize = 256 * 1024;

/// Listens on a free port of an address of this machine. Returns the listener and where it listens.
pub(crate) async fn listen(own: Ipv4Addr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { address: format!("{own}:0"), source };
    let listener = TcpListener::bind((own, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves each connection in a task of its own; these end with this future. A connection that breaks is its client's business.
pub(crate) async fn serve_each<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream));
        while connections.try_join_next().is_some() {}
    }
}

/// Reads the head of an HTTP message, behind `bytes` that have been read before. Returns the head with its empty line, and
/// the bytes that came after it.
pub(crate) async fn read_head(
    from: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<(String, Vec<u8>)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        if bytes.len() > MAX_HEAD || from.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
