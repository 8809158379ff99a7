use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ServiceError;
use crate::args::{DEFAULT_GRPC_ADDR, RuntimeArgs, listen_addr};
use crate::certificate::{Certificate, Protocol, TlsFiles};
use crate::grpc::GrpcServer;
use crate::probe;

/// Connections that wait to be accepted; as many as the standard library lets wait.
const BACKLOG: i32 = 128;

/// Opens a listener; the one of every interface takes IPv4 too, and IPv4 alone where the system has no IPv6.
///
/// # Errors
/// When the address is taken or not of this machine.
pub fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let is_every = addr.is_ipv6() && addr.ip().is_unspecified();
    match open(addr) {
        Err(error) if is_every && error.kind() != io::ErrorKind::AddrInUse => {
            open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, addr.port())))
        }
        opened => opened,
    }
}

fn open(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    if addr.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Opens a listener; `None` when the address switches it off.
pub(super) fn listen(what: &'static str, addr: &str) -> Result<Option<TcpListener>, ServiceError> {
    let Some(addr) = listen_addr(addr)? else { return Ok(None) };
    let listener = bind(addr).map_err(|source| ServiceError::Listen { what, addr, source })?;
    tracing::info!(logger = "setup", what, addr = %listener.local_addr().unwrap_or(addr), "listening");
    Ok(Some(listener))
}

/// Serves metrics or probes at an address until `stop`.
pub(super) fn serve_http(
    addr: &str,
    router: Router,
    tasks: &TaskTracker,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    if let Some(listener) = listen("metrics and probes", addr)? {
        tasks.spawn(probe::serve(listener, router, stop));
    }
    Ok(())
}

/// Serves gRPC at its address until `stop`.
pub(super) async fn serve_grpc(
    server: GrpcServer,
    args: &RuntimeArgs,
    tasks: &TaskTracker,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    let listener = match listen("gRPC", &args.grpc_addr) {
        // Flux's arguments know no gRPC port, and several services may run on one host with them.
        Err(error) if error.is_port_taken() && args.grpc_addr == DEFAULT_GRPC_ADDR => {
            tracing::warn!(logger = "setup", %error, "gRPC is not served");
            None
        }
        listener => listener?,
    };
    let Some(listener) = listener else { return Ok(()) };
    let files = args.grpc_tls_cert.clone().zip(args.grpc_tls_key.clone());
    let certificate = files.map(|(cert, key)| Certificate::new(TlsFiles { cert, key }, Protocol::Http2));
    if let Some(certificate) = &certificate
        && let Err(error) = certificate.check().await
    {
        tracing::error!(logger = "setup", %error, "gRPC serves nobody until the certificate can be used");
    }
    tasks.spawn(async move {
        if let Err(error) = server.serve(listener, certificate, stop).await {
            tracing::error!(%error, "gRPC server ended");
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn every_interface_takes_both_families() {
        let listener = bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        listener.accept().await.unwrap();
        if listener.local_addr().unwrap().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.unwrap();
            listener.accept().await.unwrap();
        }
        let taken = bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
