//! API servers whose own certificate stands where a kubeconfig has an authority, as Go accepts it (KS-IMP-1): the TLS library knows
//! authorities only.

use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use kube::Config;
use kube::client::{ClientBuilder, ConfigExt};
use rustls::pki_types::{CertificateDer, ServerName};
use weir_runtime::client::{self, Transport};

/// Makes a client that believes the certificates of its kubeconfig, those of servers too; nothing where it has none that can be
/// read.
pub(super) fn builder(config: &Config) -> Result<Option<ClientBuilder<Transport>>, String> {
    if config.accept_invalid_certs {
        return Ok(None);
    }
    let certificates = config.root_cert.iter().flatten().map(|bytes| CertificateDer::from(bytes.clone()));
    let Some(verifier) = weir_http::verifier(certificates) else { return Ok(None) };
    let failed = |error: &dyn std::fmt::Display| format!("TLS of the remote cluster: {error}");
    // The library would take each certificate for an authority, and refuse all for one that it cannot read.
    let mut without = config.clone();
    without.root_cert = Some(Vec::new());
    let mut tls = without.rustls_client_config().map_err(|error| failed(&error))?;
    tls.dangerous().set_certificate_verifier(verifier);
    let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(|error| failed(&error))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let way = client::way(config).map_err(|error| failed(&error))?;
    let https = https.enable_http1().wrap_connector(way);
    client::over(config, https).map(Some).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rustls::pki_types::pem::PemObject;
    use weir_testkit::Identity;

    use super::*;

    fn der(pem: &str) -> Vec<u8> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
    }

    /// As in Go, what cannot be read is passed over where something else is there.
    #[rstest]
    #[case::none(None, false)]
    #[case::odd(Some(vec![vec![0; 9]]), false)]
    #[case::authority(Some(vec![der(&Identity::for_names(&[]).unwrap().ca_pem)]), true)]
    #[case::server(Some(vec![der(&Identity::for_names(&[]).unwrap().certificate_pem)]), true)]
    #[case::beside_an_odd_one(Some(vec![vec![0; 9], der(&Identity::for_names(&[]).unwrap().ca_pem)]), true)]
    #[tokio::test]
    async fn certificates_that_can_be_read_are_believed(
        #[case] root_cert: Option<Vec<Vec<u8>>>,
        #[case] expected: bool,
    ) {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut config = Config::new("https://cluster.example".parse().unwrap());
        config.root_cert = root_cert;
        assert_eq!(builder(&config).unwrap().is_some(), expected);
    }
}
