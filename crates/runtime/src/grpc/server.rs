//! The gRPC server of a process: services are added, then it serves until it is stopped.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::RoutesBuilder;
use tonic::transport::Server;
use tower::Service;

use super::MAX_CONCURRENT_STREAMS;
use super::connection::{Connection, accepted};
use crate::certificate::Certificate;

/// Pause between two checks of an idle connection, so that clients that vanished free their streams.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Time that a client has to agree upon TLS.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Clients that agree upon TLS at once; more wait in the kernel.
const MAX_GREETINGS: usize = 256;

/// Connections at once; more wait in the kernel. Some tens are there as a rule: one of each service, and those of people.
const MAX_CONNECTIONS: usize = 512;

/// Errors that keep the server from serving.
#[derive(Debug, thiserror::Error)]
pub enum GrpcError {
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

    /// Serves, with health and reflection, until `stop`; with a certificate over TLS only.
    ///
    /// # Errors
    ///
    /// When the transport fails.
    pub async fn serve(
        mut self,
        listener: TcpListener,
        certificate: Option<Certificate>,
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
        let router = Server::builder()
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .http2_keepalive_interval(Some(KEEPALIVE))
            .add_routes(self.routes.routes());
        let (connections, stop) = (accepted(listener, MAX_CONNECTIONS), stop.cancelled_owned());
        match certificate {
            None => router.serve_with_incoming_shutdown(connections, stop).await?,
            Some(certificate) => {
                let connections = greeted(connections, Arc::new(certificate));
                router.serve_with_incoming_shutdown(connections, stop).await?;
            }
        }
        Ok(())
    }
}

/// Returns the connections of clients that speak TLS. Slow ones hold up nobody, unless there are very many of them.
fn greeted(
    connections: impl Stream<Item = io::Result<Connection>>,
    certificate: Arc<Certificate>,
) -> impl Stream<Item = io::Result<TlsStream<Connection>>> {
    let greeted = connections.map(move |stream| {
        let certificate = Arc::clone(&certificate);
        async move {
            match stream {
                Ok(stream) => certificate.greet(stream, GREETING_TIMEOUT).await.map(Ok),
                Err(error) => Some(Err(error)),
            }
        }
    });
    greeted.buffer_unordered(MAX_GREETINGS).filter_map(ready)
}
