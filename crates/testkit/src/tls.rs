use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::Error;

/// A server certificate for the loopback address, and the CA that vouches for it; all in PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The CA.
    pub ca_pem: String,
    /// The server's certificate.
    pub certificate_pem: String,
    /// Its key.
    pub key_pem: String,
}

impl Identity {
    pub(crate) fn for_loopback() -> Result<Self, Error> {
        Self::for_names(&[])
    }

    /// A certificate for the loopback address and further host names or addresses, such as those of a cloud that a
    /// [`Proxy`](crate::Proxy) leads to the test's own server.
    ///
    /// # Errors
    /// When no certificate can be made.
    pub fn for_names(names: &[&str]) -> Result<Self, Error> {
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::new(Vec::<String>::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(DnType::CommonName, "weir-test-ca");
        let ca_pem = ca.self_signed(&ca_key)?.pem();

        let key = KeyPair::generate()?;
        let names = ["localhost"].iter().chain(names).map(|name| (*name).to_owned());
        let mut server = CertificateParams::new(names.collect::<Vec<_>>())?;
        server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let certificate_pem = server.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
        Ok(Self { ca_pem, certificate_pem, key_pem: key.serialize_pem() })
    }

    /// A certificate that is its own authority, as `openssl req -x509` makes it.
    ///
    /// # Errors
    /// When no certificate can be made.
    pub fn of_its_own(names: &[&str]) -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut server =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
        server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate_pem = server.self_signed(&key)?.pem();
        Ok(Self { ca_pem: certificate_pem.clone(), certificate_pem, key_pem: key.serialize_pem() })
    }

    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        self.acceptor_for(WebPkiClientVerifier::no_client_auth())
    }

    pub(crate) fn acceptor_for(&self, clients: Arc<dyn ClientCertVerifier>) -> Result<TlsAcceptor, Error> {
        let certificate =
            CertificateDer::from_pem_slice(self.certificate_pem.as_bytes()).map_err(Error::tls)?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).map_err(Error::tls)?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_client_cert_verifier(clients).with_single_cert(vec![certificate], key)
            })
            .map_err(Error::tls)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The provider of all cryptography of the kit's own.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// Trusts one CA, in PEM.
pub(crate) fn trusting(ca_pem: &str) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).map_err(Error::tls)?).map_err(Error::tls)?;
    Ok(roots)
}
