#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Clients against real servers and proxies.

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};
use rstest::rstest;
use weir_http::{ClientCertificate, Clients, Profile, Proxy};
use weir_testkit::{Identity, Server};

/// More than the servers here say.
const MAX_BODY: usize = 1024;
const HOST: &str = "registry.example.com";

async fn server(identity: Option<&Identity>) -> Server {
    Server::start(Router::new().route("/", get(async || "hello")), identity).await.unwrap()
}

async fn ask(profile: &Profile, url: &str) -> Result<String, String> {
    let client = Clients::new("test").get(profile).unwrap();
    match client.get(url).send().await {
        Ok(response) => {
            let body = weir_http::read_capped(response, MAX_BODY).await.unwrap();
            Ok(String::from_utf8(body.to_vec()).unwrap())
        }
        Err(error) => Err(weir_http::reason(&error, &url::Url::parse(url).unwrap())),
    }
}

fn through(address: &str, credentials: Option<(&str, &str)>) -> Option<Proxy> {
    let credentials = credentials.map(|(user, password)| (user.to_owned(), password.to_owned().into()));
    Some(Proxy { address: url::Url::parse(address).unwrap(), credentials })
}

#[tokio::test]
async fn authorities_of_an_object() {
    let identity = Identity::for_names(&[HOST]).unwrap();
    let server = server(Some(&identity)).await;
    let url = format!("https://{}/", server.address());
    let known = Profile { ca: Some(identity.ca_pem.clone().into()), ..Profile::default() };
    assert_eq!(ask(&known, &url).await.unwrap(), "hello");
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(ask(&Profile::default(), &url).await.unwrap_err(), unknown);
    let other = Identity::for_names(&[HOST]).unwrap();
    let other = Profile { ca: Some(other.ca_pem.into()), ..Profile::default() };
    assert!(ask(&other, &url).await.is_err());
    let anyone = Profile { accept_invalid_certificates: true, ..Profile::default() };
    assert_eq!(ask(&anyone, &url).await.unwrap(), "hello");
}

/// A server's own certificate in the place of an authority, as Go takes it (SRC-TLS-1): one that is its own authority, and one that
/// somebody else has signed.
#[rstest]
#[case::its_own_authority(Identity::of_its_own(&["127.0.0.1"]).unwrap())]
#[case::of_somebody_else(Identity::for_names(&[]).unwrap())]
#[tokio::test]
async fn the_certificate_of_the_server_itself(#[case] identity: Identity) {
    let server = server(Some(&identity)).await;
    let url = format!("https://{}/", server.address());
    let trusting = |ca: &str| Profile { ca: Some(ca.into()), ..Profile::default() };
    assert_eq!(ask(&trusting(&identity.certificate_pem), &url).await.unwrap(), "hello");
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let other = Identity::of_its_own(&["127.0.0.1"]).unwrap();
    for profile in [Profile::default(), trusting(&other.certificate_pem)] {
        assert_eq!(ask(&profile, &url).await.unwrap_err(), unknown);
    }
}

#[tokio::test]
async fn the_certificate_of_the_server_itself_is_for_its_names() {
    let identity = Identity::of_its_own(&[HOST]).unwrap();
    let server = server(Some(&identity)).await;
    let url = format!("https://{}/", server.address());
    let profile = Profile { ca: Some(identity.certificate_pem.into()), ..Profile::default() };
    let error = ask(&profile, &url).await.unwrap_err();
    let expected = "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't \
                    contain any IP SANs";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn names_must_fit() {
    let identity = Identity::for_names(&[HOST]).unwrap();
    let server = server(Some(&identity)).await;
    let proxy = weir_testkit::Proxy::start(&[("other.example.com:443", server.address())]).await.unwrap();
    let profile = Profile {
        ca: Some(identity.ca_pem.into()),
        proxy: through(&format!("http://{}", proxy.address()), None),
        ..Profile::default()
    };
    let error = ask(&profile, "https://other.example.com/").await.unwrap_err();
    let expected = "tls: failed to verify certificate: x509: certificate is valid for localhost, \
                    registry.example.com, not other.example.com";
    assert_eq!(error, expected);
}

/// KS-DEC-13: a server that is asked by its address may have a certificate for its name only.
#[rstest]
#[case(HOST, Ok("hello"))]
#[case("other.example.com", Err("not other.example.com"))]
#[case("no name", Err("no name of a server"))]
#[tokio::test]
async fn a_certificate_may_have_to_be_for_another_name(
    #[case] name: &str,
    #[case] expected: Result<&str, &str>,
) {
    let identity = Identity::for_names(&[HOST]).unwrap();
    let server = server(Some(&identity)).await;
    let proxy = weir_testkit::Proxy::start(&[("10.0.0.1:443", server.address())]).await.unwrap();
    let profile = Profile {
        ca: Some(identity.ca_pem.into()),
        proxy: through(&format!("http://{}", proxy.address()), None),
        server_name: Some(name.to_owned()),
        ..Profile::default()
    };
    let found = match Clients::new("test").get(&profile) {
        Ok(_) => ask(&profile, "https://10.0.0.1/").await,
        Err(error) => Err(error.to_string()),
    };
    match (expected, found) {
        (Ok(expected), found) => assert_eq!(found.as_deref(), Ok(expected)),
        (Err(expected), Err(error)) => assert!(error.contains(expected), "{error}"),
        (Err(_), Ok(_)) => panic!("accepted"),
    }
}

#[tokio::test]
async fn plain_answers_to_tls_clients() {
    let server = server(None).await;
    let error = ask(&Profile::default(), &format!("https://{}/", server.address())).await.unwrap_err();
    assert_eq!(error, "http: server gave HTTP response to HTTPS client");
}

#[rstest]
#[case("http", "https", "CONNECT registry.example.com:443")]
#[case("http", "http", "GET registry.example.com:80")]
#[case("socks5", "https", "SOCKS5 registry.example.com:443")]
#[case("socks5", "http", "SOCKS5 registry.example.com:80")]
#[tokio::test]
async fn proxies(#[case] proxy_scheme: &str, #[case] scheme: &str, #[case] expected: &str) {
    let identity = Identity::for_names(&[HOST]).unwrap();
    let (plain, tls) = (server(None).await, server(Some(&identity)).await);
    let routes = [("registry.example.com:443", tls.address()), ("registry.example.com:80", plain.address())];
    let proxy = weir_testkit::Proxy::start_with_password(&routes, "user", "hunter2").await.unwrap();
    let address = format!("{proxy_scheme}://{}", proxy.address());
    let profile = |credentials| Profile {
        ca: Some(identity.ca_pem.clone().into()),
        proxy: through(&address, credentials),
        ..Profile::default()
    };
    let url = format!("{scheme}://{HOST}/");
    assert_eq!(ask(&profile(Some(("user", "hunter2"))), &url).await.unwrap(), "hello");
    let request = &proxy.requests()[0];
    assert_eq!(format!("{} {}", request.method, request.target), expected);
    // A plain request gets the proxy's own answer; a tunnel is not opened.
    let refused = ask(&profile(Some(("user", "wrong"))), &url).await;
    assert!(refused.as_deref().is_ok_and(str::is_empty) || refused.is_err(), "{refused:?}");
}

/// A client that shows a certificate, or the reason why there is none.
fn showing(chain: &str, key: &str) -> Result<(), String> {
    let certificate = Some(ClientCertificate::new(chain, key));
    let client = Clients::new("test").get(&Profile { certificate, ..Profile::default() });
    client.map(drop).map_err(|error| error.to_string())
}

fn refused(reason: &str) -> Result<(), String> {
    Err(format!("failed to parse TLS certificate and key: tls: {reason}"))
}

#[test]
fn an_unusable_authority() {
    let profile = Profile { ca: Some(b"no PEM".to_vec()), ..Profile::default() };
    let error = Clients::new("test").get(&profile).unwrap_err().to_string();
    assert_eq!(error, "failed to parse CA certificate");
}

/// As Go reads a bundle: what cannot be read in it counts for nothing, and the rest is believed.
#[rstest]
#[case::no_certificate("CERTIFICATE", "AAAA")]
#[case::no_base64("CERTIFICATE", "%%%%")]
#[case::something_else("X509 CRL", "AAAA")]
#[tokio::test]
async fn bundles_with_an_odd_block(#[case] label: &str, #[case] block: &str) {
    let identity = Identity::for_names(&["127.0.0.1"]).unwrap();
    let server = server(Some(&identity)).await;
    let odd = format!("-----BEGIN {label}-----\n{block}\n-----END {label}-----\n");
    let trusting = |ca: String| Profile { ca: Some(ca.into()), ..Profile::default() };
    let url = format!("https://{}/", server.address());
    for bundle in [format!("{odd}{}", identity.ca_pem), format!("{}\n{odd}", identity.ca_pem)] {
        assert_eq!(ask(&trusting(bundle), &url).await.unwrap(), "hello");
    }
    let error = Clients::new("test").get(&trusting(odd)).unwrap_err().to_string();
    assert_eq!(error, "failed to parse CA certificate");
}

/// An authority that is not read would be missed at some server only.
#[rstest]
#[case(1000, None)]
#[case(1001, Some("failed to parse CA certificate: more than 1000 certificates"))]
fn bundles_of_many_authorities(#[case] count: usize, #[case] message: Option<&str>) {
    let ca = format!("{}\n", Identity::for_names(&[]).unwrap().ca_pem).repeat(count);
    let got = Clients::new("test").get(&Profile { ca: Some(ca.into()), ..Profile::default() });
    assert_eq!(got.err().map(|error| error.to_string()).as_deref(), message);
}

/// A certificate of the chain that is not sent would be missed at some server only.
#[rstest]
#[case(1000, Ok(()))]
#[case(1001, refused("more than 1000 certificates"))]
fn long_chains(#[case] count: usize, #[case] expected: Result<(), String>) {
    let Identity { certificate_pem, key_pem, .. } = Identity::for_names(&[]).unwrap();
    assert_eq!(showing(&format!("{certificate_pem}\n").repeat(count), &key_pem), expected);
}

/// As Go reads them: a block that cannot be read, or is of another kind, is none.
#[rstest]
#[case::certificate("CERTIFICATE")]
#[case::key("PRIVATE KEY")]
fn certificates_and_keys_with_an_odd_block(#[case] label: &str) {
    let Identity { certificate_pem, key_pem, .. } = Identity::for_names(&[]).unwrap();
    let odd = format!("-----BEGIN {label}-----\n%%%%\n-----END {label}-----\n");
    assert_eq!(showing(&format!("{odd}{certificate_pem}"), &format!("{odd}{key_pem}")), Ok(()));
    assert_eq!(
        showing(&format!("{certificate_pem}\n{key_pem}"), &format!("{certificate_pem}\n{key_pem}")),
        Ok(())
    );
}

/// CLI-SEC04: a key inside the file of the certificate is not the key.
#[test]
fn keys_of_other_certificates() {
    let (one, two) = (Identity::for_names(&[]).unwrap(), Identity::for_names(&[]).unwrap());
    let chains = [one.certificate_pem.clone(), format!("{}\n{}", one.certificate_pem, one.key_pem)];
    for chain in chains {
        assert_eq!(showing(&chain, &two.key_pem), refused("private key does not match public key"));
    }
}

/// Texts that hold no certificate, or no key of TLS, in Go's words.
#[rstest]
#[case(None, None, "failed to find any PEM data in certificate input")]
#[case(
    Some("PRIVATE KEY"),
    None,
    "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
)]
#[case(
    Some("PUBLIC KEY"),
    None,
    "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [PUBLIC KEY]"
)]
#[case(Some("CERTIFICATE"), None, "failed to find any PEM data in key input")]
#[case(
    Some("CERTIFICATE"),
    Some("CERTIFICATE"),
    "found a certificate rather than a key in the PEM for the private key"
)]
#[case(
    Some("CERTIFICATE"),
    Some("PUBLIC KEY"),
    "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [PUBLIC KEY]"
)]
#[case(Some("CERTIFICATE"), Some("OPENSSH PRIVATE KEY"), "failed to parse private key")]
#[case(Some("CERTIFICATE"), Some("ENCRYPTED PRIVATE KEY"), "failed to parse private key")]
#[case(Some("CERTIFICATE"), Some("PRIVATE KEY"), "failed to parse private key")]
fn texts_that_are_something_else(
    #[case] chain: Option<&str>,
    #[case] key: Option<&str>,
    #[case] reason: &str,
) {
    let certificate = Identity::for_names(&[]).unwrap().certificate_pem;
    let block = |form: Option<&str>| match form {
        None => "no PEM".to_owned(),
        Some("CERTIFICATE") => certificate.clone(),
        Some(form) => format!("-----BEGIN {form}-----\nb3BlbnNzaC1rZXktdjEA\n-----END {form}-----\n"),
    };
    assert_eq!(showing(&block(chain), &block(key)), refused(reason));
}

/// A client certificate as `openssl x509 -req` makes it without extensions, and its key.
const VERSION_1: [&str; 2] = [
    "-----BEGIN CERTIFICATE-----
MIIBHjCBxQIUVLHPIC6s6f/pE5NFysvspY8iO/wwCgYIKoZIzj0EAwIwETEPMA0G
A1UEAwwGY2xpZW50MCAXDTI2MTEyODA4MDMwMVoYDzIxMjYxMTA0MDgwMzAxWjAR
MQ8wDQYDVQQDDAZjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATmd3ID
9nGCuRK0yHbiOKvcBTUyE2lTcat67lYXV2vEA7Yox2P38CwyC9swRcKRSMi/KXkA
rLoP+4C8b+G0xpKxMAoGCCqGSM49BAMCA0gAMEUCIQCcm6AaISwTFl/PhqURv0IK
9dKJyIyB7P5U1or+rSfhTwIgUYxIrmKZHuLPTr8s66ssOf6X8GqIXp4Ua/pSvDrU
GsE=
-----END CERTIFICATE-----",
    "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpyY+PZR3SB4TL9r4
5eOB3MMFqTkZSKjpEWBNnUbCv0mhRANCAATmd3ID9nGCuRK0yHbiOKvcBTUyE2lT
cat67lYXV2vEA7Yox2P38CwyC9swRcKRSMi/KXkArLoP+4C8b+G0xpKx
-----END PRIVATE KEY-----",
];

#[test]
fn certificates_of_version_1() {
    let [chain, key] = VERSION_1;
    assert_eq!(showing(chain, key), Ok(()));
    let other = Identity::for_names(&[]).unwrap().key_pem;
    assert_eq!(showing(chain, &other), refused("private key does not match public key"));
}

/// SRC-SCK-7: a redirect that repeats the body must not take a secret to another server.
#[tokio::test]
async fn secret_bodies_stay_with_their_server() {
    let echo = post(async |body: String| body);
    let elsewhere = Server::start(Router::new().route("/token", echo.clone()), None).await.unwrap();
    let there = format!("http://{}/token", elsewhere.address());
    let away = post(async move || Redirect::temporary(&there));
    let near = post(async || Redirect::temporary("/token"));
    let routes = Router::new().route("/away", away).route("/near", near).route("/token", echo);
    let server = Server::start(routes, None).await.unwrap();
    let send = async |path: &str, secret_bodies| {
        let client = Clients::new("test").get(&Profile { secret_bodies, ..Profile::default() }).unwrap();
        let request = client.post(format!("http://{}{path}", server.address())).body("hunter2");
        let response = request.send().await?;
        Ok::<_, reqwest::Error>(weir_http::read_capped(response, MAX_BODY).await.unwrap())
    };
    assert_eq!(send("/near", true).await.unwrap(), "hunter2");
    assert!(send("/away", true).await.unwrap_err().is_redirect());
    assert_eq!(send("/away", false).await.unwrap(), "hunter2");
}
