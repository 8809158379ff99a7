//! Tokens from the Secrets of buckets: requested once for each identity, and never shown. The files in `tests/data`
//! hold one key with its certificate and another certificate, and were written by `openssl pkcs12 -export`: with the
//! defaults of OpenSSL 3, with `-legacy`, and without encryption; the password is `hunter2`.

use std::sync::LazyLock;

use axum::http::StatusCode;
use rcgen::{CertificateParams, KeyPair};
use rstest::rstest;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use weir_auth::{BucketLogin, CertificateError, ClientCertificate, Credentials, Logins};
use weir_http::SecretData;

use crate::world::{Cloud, logins};

const HOSTS: [&str; 2] = ["login.microsoftonline.com", "oauth2.googleapis.com"];
const EMAIL: &str = "weir@project.iam.gserviceaccount.com";
const OPENSSL_3: &[u8] = include_bytes!("../data/openssl3.p12");
const LEGACY: &[u8] = include_bytes!("../data/legacy.p12");
const PLAIN: &[u8] = include_bytes!("../data/plain.p12");
const PASSWORD: &str = "hunter2";

/// A key with its certificate.
static IDENTITY: LazyLock<(KeyPair, String)> = LazyLock::new(|| {
    let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048).unwrap();
    let certificate = CertificateParams::new(vec!["weir".to_owned()]).unwrap().self_signed(&key).unwrap();
    (key, certificate.pem())
});

/// Gives a number to each token.
async fn cloud() -> Cloud {
    let issued = std::sync::atomic::AtomicUsize::new(0);
    Cloud::start(&HOSTS, move |request| {
        if request.contains("wrong-secret") {
            let words = "AADSTS7000215: wrong-secret is no secret";
            return (
                StatusCode::UNAUTHORIZED,
                json!({"error": "invalid_client", "error_description": words}),
            );
        }
        let number = issued.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        (StatusCode::OK, json!({"access_token": format!("token-{number}"), "expires_in": 3600}))
    })
    .await
}

fn secret(pairs: &[(&str, &str)]) -> SecretData {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}

fn google(email: &str) -> BucketLogin {
    let key = json!({
        "type": "service_account", "client_email": email, "private_key_id": "k",
        "private_key": IDENTITY.0.serialize_pem(),
    });
    BucketLogin::gcp(&secret(&[("serviceaccount", &key.to_string())])).unwrap()
}

fn application(proof: &[(&str, &[u8])]) -> BucketLogin {
    let mut data = secret(&[("tenantId", "tenant"), ("clientId", "client")]);
    data.extend(proof.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())));
    BucketLogin::azure(&data).unwrap()
}

async fn token(logins: &Logins, cloud: &Cloud, login: &BucketLogin) -> String {
    let found = logins.bucket(&cloud.caller(None), login).await.unwrap();
    let Credentials::Bearer(token) = &found.credentials else { panic!("{found:?}") };
    token.expose_secret().to_owned()
}

/// The header and the claims of a statement in a request, whose signature is that of [`IDENTITY`].
fn statement(request: &str, marker: &str) -> (jsonwebtoken::Header, Value) {
    let (_, rest) = request.split_once(marker).unwrap_or_else(|| panic!("no {marker} in {request}"));
    let statement = rest.split('&').next().unwrap();
    let header = jsonwebtoken::decode_header(statement).unwrap();
    let key = jsonwebtoken::DecodingKey::from_rsa_pem(IDENTITY.0.public_key_pem().as_bytes()).unwrap();
    let mut validation = jsonwebtoken::Validation::new(header.alg);
    validation.validate_aud = false;
    (header, jsonwebtoken::decode(statement, &key, &validation).unwrap().claims)
}

/// SRC-CLD-7: one token for several runs, another one for another Secret, another way, or another machine's memory.
#[tokio::test]
async fn tokens_are_kept_for_who_has_the_secret() {
    let (cloud, other_way) = (cloud().await, self::cloud().await);
    let logins = logins(false, "").await.trusting(&[cloud.ca_pem(), other_way.ca_pem()].concat());
    let (first, second) = (google(EMAIL), google("other@project.iam.gserviceaccount.com"));
    assert_eq!(token(&logins, &cloud, &first).await, "token-0");
    assert_eq!(token(&logins, &cloud, &google(EMAIL)).await, "token-0");
    assert_eq!(token(&logins, &cloud, &second).await, "token-1");
    let secret = |value: &'static [u8]| application(&[("clientSecret", value)]);
    assert_eq!(token(&logins, &cloud, &secret(b"one")).await, "token-2");
    assert_eq!(token(&logins, &cloud, &secret(b"two")).await, "token-3");
    assert_eq!(token(&logins, &cloud, &secret(b"one")).await, "token-2");
    assert_eq!(cloud.requests().len(), 4);
    assert_eq!(cloud.proxied().len(), 2, "one connection to each host");
    assert_eq!(token(&logins, &other_way, &first).await, "token-0");
    assert_eq!(other_way.requests().len(), 1, "another proxy is another key");
}

/// `--token-cache-max-size=0`.
#[tokio::test]
async fn nothing_is_kept_without_a_cache() {
    let cloud = cloud().await;
    let logins = cloud.logins_keeping(0).await;
    let login = google(EMAIL);
    assert_eq!(token(&logins, &cloud, &login).await, "token-0");
    assert_eq!(token(&logins, &cloud, &login).await, "token-1");
}

#[tokio::test]
async fn a_service_account_says_who_it_is() {
    let cloud = cloud().await;
    let logins = cloud.logins(false, "").await;
    token(&logins, &cloud, &google(EMAIL)).await;
    let (header, claims) = statement(&cloud.requests()[0], "assertion=");
    assert_eq!((header.kid.as_deref(), &claims["iss"]), (Some("k"), &json!(EMAIL)));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/devstorage.read_only");
    assert_eq!(claims["aud"], "https://oauth2.googleapis.com/token");
}

#[tokio::test]
async fn an_application_proves_who_it_is() {
    let cloud = cloud().await;
    let logins = cloud.logins(false, "").await;
    let (key, certificate) = &*IDENTITY;
    let pem = format!("{}{certificate}", key.serialize_pem());
    let proof = [("clientCertificate", pem.as_bytes()), ("clientCertificateSendChain", b"1".as_slice())];
    token(&logins, &cloud, &application(&proof)).await;
    token(&logins, &cloud, &application(&[("clientSecret", b"one")])).await;
    let [by_certificate, by_secret] = cloud.requests().try_into().unwrap();
    assert!(by_certificate.contains("scope=https%3A%2F%2Fstorage.azure.com%2F.default"), "{by_certificate}");
    let (header, claims) = statement(&by_certificate, "client_assertion=");
    assert!(header.x5t.is_some() && header.x5t_s256.is_some());
    assert_eq!((header.x5c.map(|chain| chain.len()), &claims["sub"]), (Some(1), &json!("client")));
    assert!(by_secret.contains("client_secret=one"), "{by_secret}");
}

/// PKCS#12 is opened with the Secret's password, and what its key signs goes out.
#[tokio::test]
async fn an_application_has_its_certificate_in_pkcs12() {
    let cloud = cloud().await;
    let logins = cloud.logins(false, "").await;
    let proof =
        |password: &'static [u8]| [("clientCertificate", LEGACY), ("clientCertificatePassword", password)];
    token(&logins, &cloud, &application(&proof(b"hunter2"))).await;
    assert!(cloud.requests()[0].contains("client_assertion="));
    let error = logins.bucket(&cloud.caller(None), &application(&proof(b"hunter3"))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to parse client certificates: the file is neither PEM nor PKCS#12, or its password is another"
    );
    assert_eq!(cloud.requests().len(), 1);
}

/// SRC-SCK-11: servers that repeat their input.
#[tokio::test]
async fn refusals_are_shown_without_the_secret() {
    let cloud = cloud().await;
    let logins = cloud.logins(false, "").await;
    let login = application(&[("clientSecret", b"wrong-secret")]);
    let error = logins.bucket(&cloud.caller(None), &login).await.unwrap_err().to_string();
    assert!(error.ends_with(": AADSTS7000215: <redacted> is no secret"), "{error}");
}

#[rstest]
#[case::openssl_3(OPENSSL_3, PASSWORD)]
#[case::legacy(LEGACY, PASSWORD)]
#[case::not_encrypted(PLAIN, "")]
fn pkcs12_of_openssl(#[case] file: &[u8], #[case] password: &str) {
    assert!(ClientCertificate::read(file, password).is_ok());
}

#[test]
fn certificates_that_cannot_be_used() {
    let (key, certificate) = &*IDENTITY;
    let key = key.serialize_pem();
    let elliptic = KeyPair::generate().unwrap();
    let other =
        CertificateParams::new(vec!["other".to_owned()]).unwrap().self_signed(&elliptic).unwrap().pem();
    let scrypt = [PLAIN, &[0x06, 0x09, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b]].concat();
    for (file, expected) in [
        (certificate.clone().into_bytes(), CertificateError::NoKey),
        (format!("{key}{key}{certificate}").into_bytes(), CertificateError::SeveralKeys),
        (format!("{key}{other}").into_bytes(), CertificateError::NoCertificate),
        (format!("{}{other}", elliptic.serialize_pem()).into_bytes(), CertificateError::NoRsaKey),
        (format!("{key}{}", certificate.repeat(11)).into_bytes(), CertificateError::TooManyCertificates),
        (b"-----BEGIN CERTIFICATE-----\n?".to_vec(), CertificateError::Pem),
        (b"no certificate".to_vec(), CertificateError::Pkcs12),
        (OPENSSL_3.to_vec(), CertificateError::Pkcs12),
        (scrypt, CertificateError::Scrypt),
        (vec![b'-'; (64 << 10) + 1], CertificateError::TooLarge),
    ] {
        assert_eq!(ClientCertificate::read(&file, "").err(), Some(expected));
    }
    let certificates = format!("{other}{certificate}{key}");
    assert!(ClientCertificate::read(certificates.as_bytes(), "").is_ok(), "the key says which one is meant");
}
