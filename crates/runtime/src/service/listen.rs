use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ServiceError;
use crate::args::{DEFAULT_GRPC_ADDR, RuntimeArgs, listen_addr};
use crate::certificate::{Certificate, Protocol, TlsFiles};
use crate::grpc::GrpcServer;

/// Opens a listener; `None` when the address switches it off.
pub(super) async fn listen(what: &'static str, addr: &str) -> Result<Option<TcpListener>, ServiceError> {
    let Some(addr) = listen_addr(addr)? else { return Ok(None) };
    let listener =
        TcpListener::bind(addr).await.map_err(|source| ServiceError::Listen { what, addr, source })?;
    tracing::info!(logger = "setup", what, addr = %listener.local_addr().unwrap_or(addr), "listening");
    Ok(Some(listener))
}

/// Serves gRPC at its address until `stop`.
pub(super) async fn serve_grpc(
    server: GrpcServer,
    args: &RuntimeArgs,
    tasks: &TaskTracker,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    let listener = match listen("gRPC", &args.grpc_addr).await {
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
