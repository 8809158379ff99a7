//! TLS towards API servers, and towards the proxies before them. Certificates in the place of an authority count as those of any other
//! `ca.crt` (KS-IMP-1): an authority vouches for others, the own certificate of a server for this server alone. The library takes each
//! of them for an authority.

use std::path::PathBuf;
use std::sync::Arc;

use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use kube::Config;
use kube::client::{ConfigExt, RustlsTlsError};
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Speaks TLS over the connections of `connector`, as a configuration says.
///
/// # Errors
///
/// When the configuration's certificates or the name of its server are not usable.
pub(super) fn over<C>(config: &Config, connector: C) -> kube::Result<HttpsConnector<C>> {
    let Some(verifier) = verifier(config)? else {
        return config.rustls_https_connector_with_connector(connector);
    };
    let mut without = config.clone();
    (without.root_cert, without.root_cert_file) = (Some(Vec::new()), None);
    let mut tls = without.rustls_client_config()?;
    tls.dangerous().set_certificate_verifier(verifier);
    let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(RustlsTlsError::InvalidServerName);
        let name = name.map_err(kube::Error::RustlsTls)?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(https.enable_http1().wrap_connector(connector))
}

/// Returns the verifier of a configuration that names certificates; nothing for one that trusts the system's, or any.
fn verifier(config: &Config) -> kube::Result<Option<Arc<dyn ServerCertVerifier>>> {
    if config.accept_invalid_certs {
        return Ok(None);
    }
    if let Some(path) = &config.root_cert_file {
        return Ok(Some(Arc::new(Reread::new(path.clone())?)));
    }
    let Some(certificates) = config.root_cert.as_ref().filter(|given| !given.is_empty()) else {
        return Ok(None);
    };
    let certificates = certificates.iter().map(|bytes| CertificateDer::from(bytes.clone()));
    weir_http::verifier(certificates).map(Some).ok_or_else(|| unusable(unreadable().into()))
}

fn unreadable() -> Error {
    CertificateError::BadEncoding.into()
}

/// Makes the error of certificates of which none can be used.
fn unusable(cause: Box<dyn std::error::Error + Send + Sync>) -> kube::Error {
    kube::Error::RustlsTls(RustlsTlsError::AddRootCertificate(cause))
}

/// Certificates of a file, which is read for each handshake: a Pod's `ca.crt` changes while the Pod runs.
#[derive(Debug)]
struct Reread {
    path: PathBuf,
    /// The last ones that could be read. They count while the file cannot be.
    last: Mutex<Arc<dyn ServerCertVerifier>>,
}

impl Reread {
    fn new(path: PathBuf) -> kube::Result<Self> {
        let last = Mutex::new(Self::read(&path).map_err(|error| unusable(error.into()))?);
        Ok(Self { path, last })
    }

    fn read(path: &PathBuf) -> std::io::Result<Arc<dyn ServerCertVerifier>> {
        let pem = std::fs::read(path)?;
        let found = weir_http::verifier(CertificateDer::pem_slice_iter(&pem).flatten());
        found.ok_or_else(|| std::io::Error::other(unreadable()))
    }

    fn last(&self) -> Arc<dyn ServerCertVerifier> {
        self.last.lock().clone()
    }
}

impl ServerCertVerifier for Reread {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match Self::read(&self.path) {
            Ok(verifier) => *self.last.lock() = verifier,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "authorities cannot be read, the old ones count");
            }
        }
        self.last().verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.last().verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.last().verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.last().supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests;
