//! TLS towards other services, with authorities that are read anew when their file changes.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use crate::certificate::{CertificateError, Protocol, Reloaded, read_certificates};

/// Failures to set up a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(transparent)]
    Authorities(#[from] CertificateError),
    #[error("'{0}' is no name that a certificate could have")]
    Name(Uri),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The authorities that vouch for other services (`--grpc-tls-ca`).
#[derive(Debug)]
pub(super) struct Authorities {
    file: PathBuf,
    config: Reloaded<Arc<ClientConfig>>,
}

type Connection = TokioIo<TlsStream<TcpStream>>;

impl Authorities {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { config: Reloaded::new(file.clone()), file }
    }

    /// Returns a connector whose connections are always TLS, checked against the authorities of the moment.
    pub(super) fn connector(
        self: Arc<Self>,
    ) -> impl Service<Uri, Response = Connection, Error = ConnectError, Future: Send> + Send + 'static {
        tower::service_fn(move |address: Uri| -> BoxFuture<'static, Result<Connection, ConnectError>> {
            let authorities = Arc::clone(&self);
            async move { authorities.connect(&address).await.map(TokioIo::new) }.boxed()
        })
    }

    async fn connect(&self, address: &Uri) -> Result<TlsStream<TcpStream>, ConnectError> {
        let name = || ConnectError::Name(address.clone());
        let (host, port) = address.host().zip(address.port_u16()).ok_or_else(name)?;
        // Brackets are how a URL writes an IPv6 address; the dot at the end of a name is for the resolver only.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let server = ServerName::try_from(host.trim_end_matches('.').to_owned()).map_err(|_| name())?;
        let config = self.config.current(self.read()).await?;
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(TlsConnector::from(config).connect(server, stream).await?)
    }

    async fn read(&self) -> Result<Arc<ClientConfig>, CertificateError> {
        let unusable = || CertificateError::Pair {
            path: self.file.clone(),
            source: rustls::CertificateError::BadEncoding.into(),
        };
        let verifier = weir_http::verifier(read_certificates(&self.file).await?).ok_or_else(unusable)?;
        let config = ClientConfig::builder().dangerous().with_custom_certificate_verifier(verifier);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![Protocol::Http2.alpn()];
        Ok(Arc::new(config))
    }
}
