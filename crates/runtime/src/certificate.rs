//! The certificate of a server, read anew when its file changes: certificates last for weeks, servers longer.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// PEM files of a server's certificate.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Errors that make a certificate unusable.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is not readable.
    #[error("TLS file '{path}': {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A file is no PEM of what it should be.
    #[error("TLS file '{path}': {source}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// The fault found.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key cannot be used together.
    #[error("TLS certificate '{path}': {source}")]
    Pair {
        /// The certificate's file.
        path: PathBuf,
        /// The fault found.
        #[source]
        source: rustls::Error,
    },
}

/// The protocol that is spoken inside of TLS, which client and server agree upon in their greeting.
#[derive(Debug, Clone, Copy)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, as gRPC needs it.
    Http2,
}

impl Protocol {
    pub(crate) fn alpn(self) -> Vec<u8> {
        match self {
            Self::Http1 => b"http/1.1".to_vec(),
            Self::Http2 => b"h2".to_vec(),
        }
    }
}

/// A certificate in use.
pub struct Certificate {
    files: TlsFiles,
    protocol: Protocol,
    acceptor: Reloaded<TlsAcceptor>,
}

impl Certificate {
    /// Names a certificate, which is read when the first client is greeted.
    pub fn new(files: TlsFiles, protocol: Protocol) -> Self {
        let acceptor = Reloaded::new(files.cert.clone());
        Self { files, protocol, acceptor }
    }

    /// Reads certificate and key, unless that has been done since they changed.
    ///
    /// # Errors
    ///
    /// When they have never been readable, or have never belonged together.
    pub async fn check(&self) -> Result<(), CertificateError> {
        self.acceptor.current(self.read()).await.map(drop)
    }

    /// Greets a client with the certificate as it is now; `None` for one that speaks no TLS, or slowly,
    /// and for all while there is no certificate.
    pub(crate) async fn greet<S>(&self, stream: S, patience: Duration) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let greeting = async {
            let acceptor = self.acceptor.current(self.read()).await.map_err(std::io::Error::other)?;
            acceptor.accept(stream).await
        };
        tokio::time::timeout(patience, greeting).await.ok()?.ok()
    }

    async fn read(&self) -> Result<TlsAcceptor, CertificateError> {
        let TlsFiles { cert, key } = &self.files;
        let (chain, private) = (read_certificates(cert).await?, read(key).await?);
        let private = PrivateKeyDer::from_pem_slice(&private)
            .map_err(|source| CertificateError::Pem { path: key.clone(), source })?;
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|source| CertificateError::Pair { path: cert.clone(), source })?;
        config.alpn_protocols = vec![self.protocol.alpn()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// A value made of a file, made anew when the file changes.
#[derive(Debug)]
pub(crate) struct Reloaded<T> {
    file: PathBuf,
    /// With the time at which the file was written.
    current: Mutex<Option<(SystemTime, T)>>,
}

impl<T: Clone> Reloaded<T> {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, current: Mutex::default() }
    }

    /// Returns the value for the file as it is now. A new file that is broken changes nothing.
    ///
    /// # Errors
    ///
    /// When there has never been a value.
    pub(crate) async fn current(
        &self,
        make: impl Future<Output = Result<T, CertificateError>>,
    ) -> Result<T, CertificateError> {
        let known = self.current.lock().clone();
        let refreshed = async {
            let written = async { tokio::fs::metadata(&self.file).await?.modified() };
            let written = written.await.map_err(unreadable(&self.file))?;
            match &known {
                Some((at, value)) if *at == written => Ok(value.clone()),
                _ => {
                    let value = make.await?;
                    *self.current.lock() = Some((written, value.clone()));
                    Ok(value)
                }
            }
        };
        match (refreshed.await, known) {
            (Err(error), Some((_, value))) => {
                tracing::warn!(%error, "a new certificate cannot be used, the old one is");
                Ok(value)
            }
            (refreshed, _) => refreshed,
        }
    }
}

/// Reads the certificates of a PEM file, of which there must be one.
pub(crate) async fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let certificates = CertificateDer::pem_slice_iter(&read(path).await?).collect::<Result<Vec<_>, _>>();
    let some =
        certificates.and_then(|all| if all.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(all) });
    some.map_err(|source| CertificateError::Pem { path: path.to_owned(), source })
}

async fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    tokio::fs::read(path).await.map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> CertificateError {
    let path = path.to_owned();
    move |source| CertificateError::Read { path, source }
}
