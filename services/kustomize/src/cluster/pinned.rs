//! API servers whose own certificate stands where a kubeconfig has an authority, as Go accepts it (KS-IMP-1): the TLS library knows
//! authorities only.

use std::sync::Arc;

use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use kube::Config;
use kube::client::{ClientBuilder, ConfigExt};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use weir_runtime::client::{self, Transport};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Makes a client that also believes in the certificates that its kubeconfig names; nothing where none of them can be that of a
/// server.
pub(super) fn builder(config: &Config) -> Result<Option<ClientBuilder<Transport>>, String> {
    let Some(certificates) = &config.root_cert else { return Ok(None) };
    if config.accept_invalid_certs || !certificates.iter().any(|certificate| has_names(certificate)) {
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| format!("TLS of the remote cluster: {error}");
    let mut tls = config.rustls_client_config().map_err(|error| failed(&error))?;
    let pinned = Pinned::new(certificates, tls.crypto_provider()).map_err(|error| failed(&error))?;
    tls.dangerous().set_certificate_verifier(Arc::new(pinned));
    let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(|error| failed(&error))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let way = client::way(config).map_err(|error| failed(&error))?;
    let https = https.enable_http1().wrap_connector(way);
    client::over(config, https).map(Some).map_err(|error| failed(&error))
}

/// Returns true for a certificate that names servers; authorities rarely do.
fn has_names(certificate: &[u8]) -> bool {
    X509Certificate::from_der(certificate)
        .is_ok_and(|(_, parsed)| matches!(parsed.subject_alternative_name(), Ok(Some(_))))
}

/// Believes the authorities among the certificates, and a server that shows one of the certificates themselves.
#[derive(Debug)]
struct Pinned {
    certificates: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl Pinned {
    fn new(certificates: &[Vec<u8>], provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let certificates: Vec<_> =
            certificates.iter().map(|bytes| CertificateDer::from(bytes.clone())).collect();
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| error.to_string())?;
        }
        let usual =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        Ok(Self { certificates, usual: usual.map_err(|error| error.to_string())? })
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let usual = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let is_pinned = self.certificates.iter().any(|pinned| pinned.as_ref() == end_entity.as_ref());
        if usual.is_ok() || !is_pinned {
            return usual;
        }
        weir_http::check_pinned(end_entity, server_name, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use rustls::CertificateError;
    use rustls::pki_types::pem::PemObject;
    use weir_testkit::Identity;

    use super::*;

    /// Seconds since 1970: a day in 2026, one before the certificates are valid, and one after.
    const TODAY: u64 = 1_800_000_000;
    const TOO_EARLY: u64 = 1;
    const TOO_LATE: u64 = 100_000_000_000;

    fn certificate(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    /// The verdict about a server that shows `shown`, by who has pinned `pinned`.
    fn verdict(pinned: &str, shown: &str, name: &str, seconds: u64) -> Result<(), Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let pinned = Pinned::new(&[certificate(pinned).to_vec()], &provider).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        pinned.verify_server_cert(&certificate(shown), &[], &name, &[], now).map(drop)
    }

    #[rstest]
    #[case::own("localhost", TODAY, None)]
    #[case::address("127.0.0.1", TODAY, None)]
    #[case::other_name("example.com", TODAY, Some("not valid for name"))]
    #[case::not_yet("localhost", TOO_EARLY, Some("NotValidYet"))]
    #[case::expired("localhost", TOO_LATE, Some("Expired"))]
    fn a_pinned_certificate_must_be_good_itself(
        #[case] name: &str,
        #[case] seconds: u64,
        #[case] expected: Option<&str>,
    ) {
        let server = Identity::for_names(&[]).unwrap().certificate_pem;
        let found = verdict(&server, &server, name, seconds);
        match (expected, found) {
            (None, found) => assert_eq!(found, Ok(())),
            (Some(expected), Err(error)) => assert!(error.to_string().contains(expected), "{error}"),
            (Some(expected), Ok(())) => panic!("accepted in spite of {expected}"),
        }
    }

    #[test]
    fn others_are_judged_by_authorities() {
        let [own, other] = [Identity::for_names(&[]).unwrap(), Identity::for_names(&[]).unwrap()];
        let unknown = Err(CertificateError::UnknownIssuer.into());
        assert_eq!(verdict(&own.certificate_pem, &other.certificate_pem, "localhost", TODAY), unknown);
        assert_eq!(verdict(&own.ca_pem, &own.certificate_pem, "localhost", TODAY), Ok(()));
        assert!(verdict(&own.ca_pem, &own.ca_pem, "localhost", TODAY).is_err());
    }

    #[test]
    fn authorities_need_no_client_of_their_own() {
        let identity = Identity::for_names(&[]).unwrap();
        assert!(has_names(&certificate(&identity.certificate_pem)));
        assert!(!has_names(&certificate(&identity.ca_pem)));
    }
}
