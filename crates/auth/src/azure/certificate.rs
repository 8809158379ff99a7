//! Certificates with their keys, in the forms that applications have: PEM, or PKCS#12 with or without a password
//! (SRC-BKT-11). Every form that Azure's library for Go accepts is accepted, and PKCS#12 as OpenSSL 3 writes it too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::EncodingKey;
use p12_keystore::Pkcs12Archive;
use rustls::SignatureAlgorithm;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use tokio::sync::Semaphore;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificate_error::{CertificateError, MAX_CHAIN, MAX_FILE};

const PEM_MARK: &[u8] = b"-----BEGIN ";
/// Object identifier of scrypt in PKCS#12, which may ask for much memory. Nobody's tools write it, so it is refused where it is seen.
const SCRYPT: [u8; 11] = [0x06, 0x09, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b];
/// Files that are opened at a time: a password is stretched for as long as the file asks, up to the library's bounds.
static OPENING: Semaphore = Semaphore::const_new(1);

/// A certificate, those above it, and its RSA key.
pub struct ClientCertificate {
    leaf: CertificateDer<'static>,
    above: Vec<CertificateDer<'static>>,
    key: EncodingKey,
}

/// The content of a file, in its order.
#[derive(Default)]
struct Content {
    certificates: Vec<CertificateDer<'static>>,
    keys: Vec<PrivateKeyDer<'static>>,
}

impl ClientCertificate {
    /// Reads a file. The certificate is the one that the key belongs to, wherever it stands.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no certificate with its key.
    pub fn read(file: &[u8], password: &str) -> Result<Self, CertificateError> {
        if file.len() > MAX_FILE {
            return Err(CertificateError::TooLarge);
        }
        let is_pem = file.windows(PEM_MARK.len()).any(|window| window == PEM_MARK);
        let Content { mut certificates, keys } = if is_pem { pem(file)? } else { pkcs12(file, password)? };
        if certificates.len() > MAX_CHAIN {
            return Err(CertificateError::TooManyCertificates);
        }
        let [key] = <[PrivateKeyDer<'_>; 1]>::try_from(keys).map_err(|keys| match keys.len() {
            0 => CertificateError::NoKey,
            _ => CertificateError::SeveralKeys,
        })?;
        let signing = any_supported_type(&key).map_err(|_| CertificateError::NoKey)?;
        let public = signing.public_key().filter(|_| signing.algorithm() == SignatureAlgorithm::RSA);
        let public = public.ok_or(CertificateError::NoRsaKey)?;
        let is_of_key = |found: &CertificateDer<'_>| {
            X509Certificate::from_der(found).is_ok_and(|(_, found)| found.public_key().raw == public.as_ref())
        };
        let at = certificates.iter().position(is_of_key).ok_or(CertificateError::NoCertificate)?;
        let leaf = certificates.remove(at);
        Ok(Self { leaf, above: certificates, key: encoding_key(&key)? })
    }

    /// Reads a file away from the reactor.
    pub(crate) async fn open(
        file: &SecretSlice<u8>,
        password: &SecretString,
    ) -> Result<Self, CertificateError> {
        let (file, password) = (file.clone(), password.clone());
        let turn = OPENING.acquire().await;
        let opened = tokio::task::spawn_blocking(move || {
            // The caller may be gone before this ends: the turn is over only then.
            let _turn = turn;
            Self::read(file.expose_secret(), password.expose_secret())
        });
        opened.await.unwrap_or(Err(CertificateError::Failed))
    }

    pub(crate) fn leaf(&self) -> &CertificateDer<'static> {
        &self.leaf
    }

    /// The certificate, then the others.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        std::iter::once(&self.leaf).chain(&self.above)
    }

    pub(crate) fn key(&self) -> &EncodingKey {
        &self.key
    }
}

fn pem(file: &[u8]) -> Result<Content, CertificateError> {
    let mut content = Content::default();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(file) {
        let (kind, der) = section.map_err(|_| CertificateError::Pem)?;
        match kind {
            SectionKind::Certificate => content.certificates.push(der.into()),
            SectionKind::PrivateKey => content.keys.push(PrivateKeyDer::Pkcs8(der.into())),
            SectionKind::RsaPrivateKey => content.keys.push(PrivateKeyDer::Pkcs1(der.into())),
            _ => {}
        }
    }
    Ok(content)
}

fn pkcs12(file: &[u8], password: &str) -> Result<Content, CertificateError> {
    if file.windows(SCRYPT.len()).any(|window| window == SCRYPT) {
        return Err(CertificateError::Scrypt);
    }
    let archive = Pkcs12Archive::from_pkcs12(file, password).map_err(|_| CertificateError::Pkcs12)?;
    let keys = archive.keys.iter().map(|bag| PrivateKeyDer::Pkcs8(bag.key.as_der().to_vec().into()));
    Ok(Content {
        certificates: archive.certs.iter().map(|bag| bag.cert.as_der().to_vec().into()).collect(),
        keys: keys.collect(),
    })
}

fn encoding_key(key: &PrivateKeyDer<'_>) -> Result<EncodingKey, CertificateError> {
    let label = if matches!(key, PrivateKeyDer::Pkcs1(_)) { "RSA PRIVATE KEY" } else { "PRIVATE KEY" };
    let text = STANDARD.encode(key.secret_der());
    let pem = SecretString::from(format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n"));
    EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).map_err(|_| CertificateError::NoKey)
}
