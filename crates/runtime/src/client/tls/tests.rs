use std::net::SocketAddr;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rstest::rstest;
use tower::ServiceExt;
use weir_testkit::{Identity, Proxy, TlsFront};

use super::*;
use crate::client::transport::way;
use crate::service::install_crypto;

const HOST: &str = "127.0.0.1";

/// Makes the certificate of a server as its own authority, or as one that `issuer` has signed.
fn identity(is_ca: IsCa, issuer: Option<&Issuer<'static, KeyPair>>) -> (Identity, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
    params.is_ca = is_ca;
    let key = KeyPair::generate().unwrap();
    let certificate = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    let (pem, key_pem) = (certificate.unwrap().pem(), key.serialize_pem());
    (Identity { ca_pem: pem.clone(), certificate_pem: pem, key_pem }, Issuer::new(params, key))
}

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

/// Returns true when a server with this identity is believed.
async fn is_believed(config: &mut Config, identity: &Identity, target: SocketAddr, is_proxy: bool) -> bool {
    let front = TlsFront::start(identity, target).await.unwrap();
    let address = format!("https://{}", front.address());
    if is_proxy {
        config.proxy_url = Some(address.parse().unwrap());
        return way(config).unwrap().oneshot(format!("http://{target}").parse().unwrap()).await.is_ok();
    }
    let connected = over(config, way(config).unwrap()).unwrap().oneshot(address.parse().unwrap()).await;
    connected.is_ok()
}

/// KS-IMP-1: whoever has the key of one server that is believed does not speak for others, a proxy included.
#[rstest]
#[tokio::test]
async fn the_certificate_of_a_server_vouches_for_no_other(
    #[values(false, true)] is_file: bool,
    #[values(false, true)] is_proxy: bool,
) {
    install_crypto();
    let proxy = Proxy::start(&[]).await.unwrap();
    let (server, with_its_key) = identity(IsCa::NoCa, None);
    let (forged, _) = identity(IsCa::NoCa, Some(&with_its_key));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &server.certificate_pem).unwrap();
    let mut config = Config::new("https://api.example".parse().unwrap());
    match is_file {
        true => config.root_cert_file = Some(file.path().to_owned()),
        false => config.root_cert = Some(vec![der(&server.certificate_pem)]),
    }
    assert!(is_believed(&mut config, &server, proxy.address(), is_proxy).await);
    assert!(!is_believed(&mut config, &forged, proxy.address(), is_proxy).await);
}

/// A Pod's `ca.crt` changes while the Pod runs; no connection fails while it is written.
#[tokio::test]
async fn a_file_of_authorities_is_read_again() {
    install_crypto();
    let target = Proxy::start(&[]).await.unwrap();
    let authority = || identity(IsCa::Ca(BasicConstraints::Unconstrained), None);
    let [(old, by_old), (new, by_new)] = [authority(), authority()];
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &old.ca_pem).unwrap();
    let mut config = Config::new("https://api.example".parse().unwrap());
    config.root_cert_file = Some(file.path().to_owned());
    let connector = over(&config, way(&config).unwrap()).unwrap();
    let servers = [by_old, by_new].map(|issuer| identity(IsCa::NoCa, Some(&issuer)).0);
    for (content, expected) in
        [(old.ca_pem, [true, false]), (new.ca_pem, [false, true]), (String::new(), [false, true])]
    {
        std::fs::write(file.path(), content).unwrap();
        for (server, expected) in servers.iter().zip(expected) {
            let front = TlsFront::start(server, target.address()).await.unwrap();
            let address = format!("https://{}", front.address()).parse().unwrap();
            assert_eq!(connector.clone().oneshot(address).await.is_ok(), expected);
        }
    }
}

/// As in Go, certificates that cannot be read are passed over where others are there.
#[rstest]
#[case::none(None, Some(false))]
#[case::odd(Some(vec![vec![0; 9]]), None)]
#[case::authority(Some(vec![der(&Identity::for_names(&[]).unwrap().ca_pem)]), Some(true))]
#[case::server(Some(vec![der(&Identity::for_names(&[]).unwrap().certificate_pem)]), Some(true))]
#[case::beside_an_odd_one(Some(vec![vec![0; 9], der(&Identity::for_names(&[]).unwrap().ca_pem)]), Some(true))]
fn certificates_that_can_be_read_are_believed(
    #[case] root_cert: Option<Vec<Vec<u8>>>,
    #[case] expected: Option<bool>,
) {
    let mut config = Config::new("https://cluster.example".parse().unwrap());
    config.root_cert = root_cert;
    assert_eq!(verifier(&config).ok().map(|verifier| verifier.is_some()), expected);
}
