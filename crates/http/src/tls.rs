//! The authorities trusted over TLS: the system's certificate authorities, which the process reads once and only when
//! a server must be checked, and beside them those of an object (SRC-TLS-1).

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};

use crate::client_certificate::{ClientCertificate, Pair, unusable};
use crate::clients::ClientError;
use crate::pinned;
use crate::profile::Profile;

/// Protocols that are offered, the better one first.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Certificates of one Secret that are read, of more it is refused; a bundle of the whole public web has 150.
const MAX_CERTIFICATES: usize = 1000;

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider()));

/// The system's authorities, shared by all clients of the process: each copy costs some 300 KiB, reading them more. None
/// on a system without any.
static SYSTEM: LazyLock<Option<Arc<Believed>>> =
    LazyLock::new(|| Believed::of(crate::system::authorities()).1);

/// The configuration of clients without certificates of their own; they share its resumable sessions too.
static DEFAULT: LazyLock<Result<ClientConfig, Error>> = LazyLock::new(|| config(Trust::default(), None));

/// The configuration for a profile. Invalid certificates are reqwest's own business (SRC-OCI-20).
pub(crate) fn client_config(profile: &Profile) -> Result<ClientConfig, ClientError> {
    if profile.ca.is_none() && profile.certificate.is_none() && profile.server_name.is_none() {
        return DEFAULT.clone().map_err(|source| ClientError::Tls { source });
    }
    let own = profile.ca.as_deref().map(authorities).transpose()?;
    let name = profile.server_name.as_deref().map(server_name).transpose()?;
    let pair = profile.certificate.as_ref().map(ClientCertificate::pair).transpose()?;
    config(Trust { own, is_alone: profile.ca_alone, name }, pair).map_err(|source| {
        match profile.certificate {
            Some(_) => unusable(&source),
            None => ClientError::Tls { source },
        }
    })
}

fn server_name(name: &str) -> Result<ServerName<'static>, ClientError> {
    ServerName::try_from(name.to_owned()).map_err(|_| ClientError::ServerName { name: name.to_owned() })
}

/// Returns the configuration of a profile for a protocol other than HTTP: it offers the server no protocol (ALPN).
///
/// # Errors
/// When the profile's authorities or its certificate cannot be used.
pub fn tls_config(profile: &Profile) -> Result<Arc<ClientConfig>, ClientError> {
    let mut config = client_config(profile)?;
    config.alpn_protocols.clear();
    Ok(Arc::new(config))
}

/// Returns a verifier that believes these certificates alone: a server that shows one of them, and those for which an authority
/// among them vouches. Certificates that cannot be read are passed over; returns nothing where there are no others.
pub fn verifier(
    certificates: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Option<Arc<dyn ServerCertVerifier>> {
    let own = Some(Believed::of(certificates).1?);
    Some(Arc::new(Trust { own, is_alone: true, name: None }))
}

pub(crate) fn config(trust: Trust, pair: Option<Pair>) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(PROVIDER.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let mut config = match pair {
        Some((chain, key)) => {
            let pair = CertifiedKey::new(chain, PROVIDER.key_provider.load_private_key(key)?);
            check_pair(&pair)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

/// Checks that a certificate and a key belong together. The library cannot read certificates of version 1, which `openssl` makes
/// where nobody asks for extensions; in these, the bytes of the key are looked for.
fn check_pair(pair: &CertifiedKey) -> Result<(), Error> {
    match pair.keys_match() {
        Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(()),
        Err(Error::InvalidCertificate(CertificateError::Other(_))) if holds_key(pair) => Ok(()),
        Err(Error::InvalidCertificate(CertificateError::Other(_))) => {
            Err(InconsistentKeys::KeyMismatch.into())
        }
        checked => checked,
    }
}

fn holds_key(pair: &CertifiedKey) -> bool {
    let (certificate, key) = (pair.end_entity_cert(), pair.key.public_key());
    let (Ok(certificate), Some(key)) = (certificate, key) else { return true };
    !key.is_empty() && certificate.windows(key.len()).any(|part| part == key.as_ref())
}

/// The authorities of a bundle. As in Go, those that cannot be read are passed over, and one at least must be left.
fn authorities(pem: &[u8]) -> Result<Arc<Believed>, ClientError> {
    let readable = CertificateDer::pem_slice_iter(pem).flatten().take(MAX_CERTIFICATES + 1);
    let (count, believed) = Believed::of(readable);
    if count > MAX_CERTIFICATES {
        return Err(ClientError::CaTooLarge { limit: MAX_CERTIFICATES });
    }
    believed.ok_or(ClientError::Ca)
}

/// Certificates that are believed.
#[derive(Debug)]
struct Believed {
    /// Judges servers by the authorities among them, if there are any. A server's own certificate is none: whoever has its key
    /// could sign for all other servers.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// Digests of all of them, of which one may be that of a server.
    digests: HashSet<[u8; 32]>,
}

impl Believed {
    /// Returns the number of all certificates, and those that can be read, if there are any.
    fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> (usize, Option<Arc<Self>>) {
        let (mut count, mut roots, mut digests) = (0, RootCertStore::empty(), HashSet::new());
        for certificate in certificates {
            count += 1;
            let Some(is_authority) = pinned::is_authority(&certificate) else { continue };
            digests.insert(digest(&certificate));
            if is_authority {
                roots.add_parsable_certificates([certificate]);
            }
        }
        // No verifier can be made of no authorities.
        let authorities =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), PROVIDER.clone()).build().ok();
        let is_empty = digests.is_empty();
        (count, (!is_empty).then(|| Arc::new(Self { authorities, digests })))
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_authorities =
            match &self.authorities {
                Some(verifier) => {
                    verifier.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
                }
                None => Err(pinned::refusal(end_entity, name)
                    .unwrap_or_else(|| CertificateError::UnknownIssuer.into())),
            };
        match by_authorities {
            Err(_) if self.digests.contains(&digest(end_entity)) => {
                pinned::check_pinned(end_entity, name, now).map(|()| ServerCertVerified::assertion())
            }
            Err(error @ Error::InvalidCertificate(CertificateError::Other(_))) => {
                Err(pinned::refusal(end_entity, name).unwrap_or(error))
            }
            decided => decided,
        }
    }
}

fn digest(certificate: &CertificateDer<'_>) -> [u8; 32] {
    Sha256::digest(certificate).into()
}

/// Believes the object's own authorities and those of the system, or its own alone.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    own: Option<Arc<Believed>>,
    is_alone: bool,
    /// Name that certificates must be for; nothing where it is the host of the URL.
    name: Option<ServerName<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let server_name = self.name.as_ref().unwrap_or(server_name);
        let by = |believed: &Arc<Believed>| {
            believed.verify(end_entity, intermediates, server_name, ocsp_response, now)
        };
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        if self.is_alone
            && let Some(own) = &self.own
        {
            return by(own);
        }
        let own = self.own.as_ref().map_or_else(|| Err(unknown.clone()), by);
        // Of two refusals the one with more detail is reported.
        own.or_else(|refusal| match SYSTEM.as_ref().map_or_else(|| Err(unknown.clone()), by) {
            Err(_) if refusal != unknown => Err(refusal),
            decided => decided,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &PROVIDER.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &PROVIDER.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}
