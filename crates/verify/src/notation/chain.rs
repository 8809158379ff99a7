//! Certificates: which are trusted, and whether a signer's lead to one of them.

use jiff::Timestamp;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use std::collections::BTreeMap;
use std::time::Duration;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, ParsedExtension, X509Certificate};

/// How keys of a Secret end that hold certificates.
const SUFFIXES: [&str; 2] = [".crt", ".pem"];
/// `id-kp-codeSigning`, encoded.
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
/// How a certificate names an OCSP server; the issuer's certificate is named in the same place.
const OCSP: &str = "1.3.6.1.5.5.7.48.1";
/// Certificates of a store. Each is compared with each of a signature's.
const MAX_TRUSTED: usize = 1000;

/// The trusted certificates of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    trusted: Vec<CertificateDer<'static>>,
}

impl Certificates {
    /// Reads all keys that end in `.crt` or `.pem`, as PEM or DER.
    ///
    /// # Errors
    /// When one of them is no certificate. Nothing when there are none.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Option<Certificates>, String> {
        let mut trusted = Vec::new();
        for (name, value) in data {
            if !SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
                continue;
            }
            let pem: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(value).collect();
            let read = match pem {
                Ok(read) if !read.is_empty() => read,
                _ => vec![CertificateDer::from(value.clone())],
            };
            for certificate in &read {
                X509Certificate::from_der(certificate)
                    .map_err(|error| format!("failed to parse certificate '{name}': {error}"))?;
            }
            trusted.extend(read);
        }
        trusted.truncate(MAX_TRUSTED);
        Ok((!trusted.is_empty()).then_some(Certificates { trusted }))
    }

    /// Whether the first certificate is trusted, or made by one that is through those between them, at a time.
    pub(super) fn lead_to(&self, chain: &[CertificateDer<'_>], at: Timestamp) -> Result<(), String> {
        let trusted = chain.iter().position(|certificate| self.trusted.contains(certificate));
        let untrusted = "signature is not produced by a trusted signer";
        let Some((leaf, above)) = chain.split_first() else { return Err(untrusted.to_owned()) };
        let Some(trusted) = trusted else { return Err(untrusted.to_owned()) };
        may_sign(leaf)?;
        // A signer that is trusted itself needs nobody to vouch for it, and the library would refuse it (DEP-OCI-8).
        let Some(above) = trusted.checked_sub(1).and_then(|last| above.get(..=last)) else { return Ok(()) };
        let Some((anchor, between)) = above.split_last() else { return Ok(()) };
        let failed = |error: webpki::Error| format!("{untrusted}: {error}");
        let anchor = anchor_from_trusted_cert(anchor).map_err(failed)?;
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        EndEntityCert::try_from(leaf)
            .map_err(failed)?
            .verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &[anchor],
                between,
                UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
                KeyUsage::required_if_present(CODE_SIGNING),
                None,
                None,
            )
            .map(drop)
            .map_err(failed)
    }
}

/// Whether a certificate's key may make signatures, if the certificate says what it may.
fn may_sign(leaf: &CertificateDer<'_>) -> Result<(), String> {
    let (_, certificate) = X509Certificate::from_der(leaf).map_err(|error| error.to_string())?;
    let usage = certificate.key_usage().map_err(|error| error.to_string())?;
    if usage.is_some_and(|usage| !usage.value.digital_signature()) {
        return Err("signing certificate is not for digital signatures".to_owned());
    }
    let extended = certificate.extended_key_usage().map_err(|error| error.to_string())?;
    if extended.is_some_and(|extended| !extended.value.code_signing && !extended.value.any) {
        return Err("signing certificate is not for code signing".to_owned());
    }
    Ok(())
}

/// Whether all certificates are valid at a time.
pub(super) fn are_valid(chain: &[CertificateDer<'_>], at: Timestamp) -> Result<(), String> {
    for der in chain {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let (validity, subject) = (certificate.validity(), certificate.subject());
        if at.as_second() > validity.not_after.timestamp() {
            return Err(format!(
                "certificate \"{subject}\" is expired at {at}, after {}",
                validity.not_after
            ));
        }
        if at.as_second() < validity.not_before.timestamp() {
            return Err(format!(
                "certificate \"{subject}\" is not valid yet at {at}, before {}",
                validity.not_before
            ));
        }
    }
    Ok(())
}

/// Refuses certificates whose revocation could be asked for, since nobody is asked: what cannot be known is not taken for
/// good. Those that name nobody to ask cannot be revoked, and a root, which only itself could revoke, never is.
pub(super) fn is_revocable(chain: &[CertificateDer<'_>]) -> Result<(), String> {
    for (index, der) in chain.iter().enumerate() {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let is_root = index + 1 == chain.len() && certificate.issuer() == certificate.subject();
        let mut extensions = certificate.extensions().iter();
        if !is_root && extensions.any(|extension| names_who_to_ask(extension.parsed_extension())) {
            let subject = certificate.subject();
            return Err(format!(
                "revocation of certificate \"{subject}\" is not checked by this version; override 'revocation' in the trust \
                 policy to accept it"
            ));
        }
    }
    Ok(())
}

/// Whether an extension names a list of what is revoked, or an OCSP server.
fn names_who_to_ask(extension: &ParsedExtension<'_>) -> bool {
    match extension {
        ParsedExtension::CRLDistributionPoints(_) => true,
        ParsedExtension::AuthorityInfoAccess(access) => {
            access.accessdescs.iter().any(|found| found.access_method.to_id_string() == OCSP)
        }
        _ => false,
    }
}
