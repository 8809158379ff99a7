//! Certificates: which are trusted, and whether a signer's lead to one of them.

pub(super) mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{date, name};

/// Ends of the keys of a Secret that hold certificates.
const SUFFIXES: [&str; 2] = [".crt", ".pem"];
/// `id-kp-codeSigning`, encoded.
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
/// `id-kp-timeStamping`, encoded.
const TIME_STAMPING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 8];
/// Certificates of a store. Each is compared with each of a signature's.
const MAX_TRUSTED: usize = 1000;

/// The trusted certificates of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    trusted: Vec<CertificateDer<'static>>,
}

impl Certificates {
    /// Reads all keys that end in `.crt` or `.pem`, as PEM or DER: one certificate each.
    ///
    /// # Errors
    /// When one of them is no certificate. Nothing when there are none.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Option<Self>, String> {
        let mut trusted = Vec::new();
        for (name, value) in data {
            if !SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
                continue;
            }
            let certificate = first(value);
            X509Certificate::from_der(&certificate)
                .map_err(|_| format!("failed to parse certificate '{name}': x509: malformed certificate"))?;
            trusted.push(certificate);
        }
        trusted.truncate(MAX_TRUSTED);
        Ok((!trusted.is_empty()).then_some(Self { trusted }))
    }

    /// Checks that the first certificate is trusted at a time, or leads to a trusted one through those between them.
    ///
    /// # Errors
    /// Fails when it does not.
    pub(super) fn lead_to(&self, chain: &[CertificateDer<'_>], at: Timestamp) -> Result<(), String> {
        let trusted = chain.iter().position(|certificate| self.trusted.contains(certificate));
        let untrusted = "the signature's certificate chain does not contain any trusted certificate";
        let Some((leaf, above)) = chain.split_first() else { return Err(untrusted.to_owned()) };
        let Some(trusted) = trusted else { return Err(untrusted.to_owned()) };
        // A signer that is trusted itself needs nobody to vouch for it, and the library would refuse it (DEP-OCI-8).
        let Some(above) = trusted.checked_sub(1).and_then(|last| above.get(..=last)) else { return Ok(()) };
        let Some((anchor, between)) = above.split_last() else { return Ok(()) };
        let failed = |error: webpki::Error| {
            format!("the signature's certificate chain does not lead to a trusted certificate: {error}")
        };
        let anchors = [anchor_from_trusted_cert(anchor).map_err(failed)?];
        let leaf = EndEntityCert::try_from(leaf).map_err(failed)?;
        verified(&leaf, between, &anchors, at, CODE_SIGNING).map(drop).map_err(failed)
    }

    /// Returns the chain of a timestamping authority, through certificates that came along to a trusted one, all of
    /// them valid at a time. A trusted certificate is a chain already.
    pub(super) fn timestamping(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        at: Timestamp,
    ) -> Result<Vec<CertificateDer<'static>>, String> {
        if self.trusted.contains(leaf) {
            are_valid(std::slice::from_ref(leaf), at)?;
            return Ok(vec![leaf.clone().into_owned()]);
        }
        let valid = self.trusted.iter().filter(|one| are_valid(std::slice::from_ref(one), at).is_ok());
        let known = valid.filter_map(|one| Some((one, anchor_from_trusted_cert(one).ok()?)));
        let (trusted, anchors): (Vec<_>, Vec<_>) = known.unzip();
        let failed = |error: webpki::Error| error.to_string();
        let entity = EndEntityCert::try_from(leaf).map_err(failed)?;
        let path = verified(&entity, between, &anchors, at, TIME_STAMPING).map_err(failed)?;
        let end = anchors.iter().position(|anchor| anchor == path.anchor());
        let end = end.and_then(|end| trusted.get(end)).ok_or("no certificate is trusted")?;
        let between = path.intermediate_certificates().map(|found| found.der().into_owned());
        let leaf = leaf.clone().into_owned();
        Ok(std::iter::once(leaf).chain(between).chain([(*end).clone()]).collect())
    }
}

/// Returns the first block of a PEM text, or what is no PEM as it is. As with Flux, certificates after the first
/// block (the rest of a chain, other authorities) are not trusted.
fn first(value: &[u8]) -> CertificateDer<'static> {
    let block = <(SectionKind, Vec<u8>)>::from_pem_slice(value);
    CertificateDer::from(block.map_or_else(|_| value.to_vec(), |(_, content)| content))
}

fn verified<'a>(
    leaf: &'a EndEntityCert<'a>,
    between: &'a [CertificateDer<'a>],
    anchors: &'a [TrustAnchor<'a>],
    at: Timestamp,
    usage: &'static [u8],
) -> Result<VerifiedPath<'a>, webpki::Error> {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let usage = KeyUsage::required_if_present(usage);
    leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, anchors, between, at, usage, None, None)
}

/// Checks that all certificates are valid at a time.
///
/// # Errors
/// Fails when one has expired, is not valid yet, or cannot be read.
pub(super) fn are_valid(chain: &[CertificateDer<'_>], at: Timestamp) -> Result<(), String> {
    for der in chain {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let validity = certificate.validity();
        let (when, what, bound) = if at.as_second() > validity.not_after.timestamp() {
            ("after", "was expired at", validity.not_after)
        } else if at.as_second() < validity.not_before.timestamp() {
            ("before", "will be valid from", validity.not_before)
        } else {
            continue;
        };
        let (subject, bound) = (name::written(certificate.subject()), date::of_certificate(bound));
        return Err(format!(
            "verification time is {when} certificate \"{subject}\" validity period, it {what} \"{bound}\""
        ));
    }
    Ok(())
}

/// Checks that all certificates were valid when somebody signed.
///
/// # Errors
/// Fails when one was not, or cannot be read.
pub(super) fn were_valid(chain: &[CertificateDer<'_>], signed_at: Timestamp) -> Result<(), String> {
    for der in chain {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let (from, until) = (certificate.validity().not_before, certificate.validity().not_after);
        if !(from.timestamp()..=until.timestamp()).contains(&signed_at.as_second()) {
            let (subject, time) = (name::written(certificate.subject()), date::written(signed_at));
            return Err(format!(
                "certificate \"{subject}\" was not valid when the digital signature was produced at \"{time}\""
            ));
        }
    }
    Ok(())
}

/// Returns true when one of the certificates is not valid any more at a time.
pub(super) fn are_over(chain: &[CertificateDer<'_>], at: Timestamp) -> bool {
    let mut read = chain.iter().filter_map(|der| X509Certificate::from_der(der).ok());
    read.any(|(_, certificate)| at.as_second() > certificate.validity().not_after.timestamp())
}
