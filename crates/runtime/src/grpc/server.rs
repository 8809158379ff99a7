//! The gRPC server of a process: services are added, then it serves until it is told to stop.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;

use crate::certificate::TlsFiles;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::RoutesBuilder;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tower::Service;

use super::MAX_CONCURRENT_STREAMS;

/// How often an idle connection is checked, so that clients that vanished free their streams.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Why the server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum GrpcError {
    /// A certificate file is not readable.
    #[error("gRPC certificate '{path}': {source}")]
    Certificate {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Descriptors for reflection do not decode.
    #[error("gRPC reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The transport failed.
    #[error("gRPC server: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// A server that is being put together.
#[derive(Default)]
pub struct GrpcServer {
    routes: RoutesBuilder,
    names: Vec<&'static str>,
}

impl GrpcServer {
    /// Adds a service.
    pub fn add<S>(&mut self, service: S)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        self.names.push(S::NAME);
        self.routes.add_service(service);
    }

    /// Serves, with health and reflection, until `stop`.
    ///
    /// # Errors
    ///
    /// When the certificate cannot be read, or the transport fails.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        tls: Option<TlsFiles>,
        stop: CancellationToken,
    ) -> Result<(), GrpcError> {
        let (health, health_service) = tonic_health::server::health_reporter();
        for name in &self.names {
            health.set_service_status(*name, tonic_health::ServingStatus::Serving).await;
        }
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(weir_proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        self.routes.add_service(health_service);
        self.routes.add_service(reflection().build_v1()?);
        // grpcurl before 1.8.8 and many generated clients still ask the older version.
        self.routes.add_service(reflection().build_v1alpha()?);
        let mut server = Server::builder()
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .http2_keepalive_interval(Some(KEEPALIVE))
            .tcp_nodelay(true);
        if let Some(files) = tls {
            let identity = Identity::from_pem(read(files.cert).await?, read(files.key).await?);
            server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
        }
        let router = server.add_routes(self.routes.routes());
        Ok(router
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop.cancelled_owned())
            .await?)
    }
}

async fn read(path: PathBuf) -> Result<Vec<u8>, GrpcError> {
    tokio::fs::read(&path).await.map_err(|source| GrpcError::Certificate { path, source })
}
