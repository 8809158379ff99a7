//! The certificate of a server, read anew when its file changes: certificates last for weeks, servers longer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// PEM files of a server's certificate.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain.
    pub cert: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is not readable.
    #[error("TLS file '{path}': {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        source: std::io::Error,
    },
    /// A file is no PEM of what it should be.
    #[error("TLS file '{path}': {source}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key cannot be used together.
    #[error("TLS certificate '{path}': {source}")]
    Pair {
        /// The certificate's file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: rustls::Error,
    },
}

/// A certificate in use.
pub struct Certificate {
    files: TlsFiles,
    /// With the time at which the file of the certificate was written.
    current: Mutex<(SystemTime, TlsAcceptor)>,
}

impl Certificate {
    /// Reads certificate and key.
    ///
    /// # Errors
    ///
    /// When they cannot be read or do not belong together.
    pub async fn open(files: TlsFiles) -> Result<Self, CertificateError> {
        let current = (written(&files.cert).await?, acceptor(&files).await?);
        Ok(Self { files, current: Mutex::new(current) })
    }

    /// What accepts connections with the certificate as it is now. One that is broken changes nothing.
    pub async fn acceptor(&self) -> TlsAcceptor {
        if let Err(error) = self.refresh().await {
            tracing::warn!(%error, "the new certificate cannot be used, the old one is");
        }
        self.current.lock().1.clone()
    }

    async fn refresh(&self) -> Result<(), CertificateError> {
        let written = written(&self.files.cert).await?;
        if self.current.lock().0 != written {
            let acceptor = acceptor(&self.files).await?;
            *self.current.lock() = (written, acceptor);
        }
        Ok(())
    }
}

async fn written(path: &Path) -> Result<SystemTime, CertificateError> {
    let written = async { tokio::fs::metadata(path).await?.modified() };
    written.await.map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

async fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, CertificateError> {
    let TlsFiles { cert, key } = files;
    let broken = |path: &PathBuf| {
        let path = path.clone();
        move |source| CertificateError::Pem { path, source }
    };
    let (chain, private) = (read(cert).await?, read(key).await?);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let private = PrivateKeyDer::from_pem_slice(&private).map_err(broken(key))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain.map_err(broken(cert))?, private)
        .map_err(|source| CertificateError::Pair { path: cert.clone(), source })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn read(path: &PathBuf) -> Result<Vec<u8>, CertificateError> {
    tokio::fs::read(path).await.map_err(|source| CertificateError::Read { path: path.clone(), source })
}
