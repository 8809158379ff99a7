//! The rules of the Notary Project for every chain, whatever a policy says (SRC-OCI-26): each certificate is made by
//! the next, the last by itself, and each is used for its declared purpose.

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{ExtendedKeyUsage, FromDer, X509Certificate, X509Error};

use super::super::name;
use super::super::signed::Signed;

/// `digitalSignature` and `nonRepudiation`, as bits: all that a signer's key may be for.
const SIGNING: u16 = 0b11;

/// The purpose of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Purpose {
    /// To sign artifacts.
    CodeSigning,
    /// To say when something was signed.
    Timestamping,
}

/// The rule that a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum RuleError {
    #[error("certificate chain must contain at least one certificate")]
    Empty,
    #[error("certificate cannot be read: {0}")]
    Malformed(String),
    #[error("certificate with subject \"{subject}\" is not issued by \"{issuer}\"")]
    NotIssued { subject: String, issuer: String },
    #[error("certificate chain must end with a root, \"{0}\" is not made by itself")]
    NoRoot(String),
    #[error("certificate chain has a root \"{0}\" before its end")]
    EarlyRoot(String),
    #[error("certificate with subject \"{0}\" signs certificates and is no certificate authority")]
    NoAuthority(String),
    #[error("certificate with subject \"{0}\" is too far from the leaf for its path length")]
    TooLong(String),
    #[error("certificate with subject \"{0}\" signs and is a certificate authority")]
    Authority(String),
    #[error("certificate with subject \"{0}\" has no key usage, or one that is not critical")]
    NoKeyUsage(String),
    #[error("the key usage of certificate with subject \"{0}\" does not fit its place in the chain")]
    KeyUsage(String),
    #[error("the extended key usage of certificate with subject \"{0}\" does not fit its purpose")]
    ExtendedKeyUsage(String),
}

/// Checks that a chain, leaf first, is whole and fit for a purpose.
pub(in super::super) fn check(chain: &[CertificateDer<'_>], purpose: Purpose) -> Result<(), RuleError> {
    let read: Result<Vec<_>, RuleError> = chain.iter().map(|der| read(der)).collect();
    let read = read?;
    let (leaf, above) = read.split_first().ok_or(RuleError::Empty)?;
    is_leaf(leaf, purpose)?;
    for (below, authority) in above.iter().enumerate() {
        is_authority(authority, below, purpose)?;
    }
    for (der, [certificate, issuer]) in chain.iter().zip(read.windows(2).filter_map(|two| two.as_array())) {
        if is_made_by(der, certificate, certificate) {
            return Err(RuleError::EarlyRoot(subject(certificate)));
        }
        if !is_made_by(der, certificate, issuer) {
            return Err(RuleError::NotIssued { subject: subject(certificate), issuer: subject(issuer) });
        }
    }
    match (chain.last(), read.last()) {
        (Some(der), Some(root)) if is_made_by(der, root, root) => Ok(()),
        (_, root) => Err(RuleError::NoRoot(root.map(subject).unwrap_or_default())),
    }
}

fn read<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, RuleError> {
    let (_, certificate) =
        X509Certificate::from_der(der).map_err(|error| RuleError::Malformed(error.to_string()))?;
    Ok(certificate)
}

/// Returns true when a certificate, also given as it is encoded, is named and signed after an issuer.
fn is_made_by(der: &[u8], certificate: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> bool {
    certificate.issuer().as_raw() == issuer.subject().as_raw()
        && Signed::read(der).is_ok_and(|signed| signed.is_by(issuer.public_key().raw))
}

fn is_leaf(leaf: &X509Certificate<'_>, purpose: Purpose) -> Result<(), RuleError> {
    if leaf.is_ca() {
        return Err(RuleError::Authority(subject(leaf)));
    }
    let usage = key_usage(leaf, purpose)?;
    if usage & 1 == 0 || usage & !SIGNING != 0 {
        return Err(RuleError::KeyUsage(subject(leaf)));
    }
    let extended = leaf.extended_key_usage().map_err(malformed)?;
    let fits = match (purpose, extended) {
        (Purpose::CodeSigning, None) => true,
        (Purpose::CodeSigning, Some(found)) => !is_for_others(found.value),
        (Purpose::Timestamping, None) => false,
        (Purpose::Timestamping, Some(found)) => found.critical && is_for_time_only(found.value),
    };
    if fits { Ok(()) } else { Err(RuleError::ExtendedKeyUsage(subject(leaf))) }
}

/// Uses that one who signs artifacts may not have besides.
fn is_for_others(usage: &ExtendedKeyUsage<'_>) -> bool {
    usage.server_auth
        || usage.client_auth
        || usage.email_protection
        || usage.time_stamping
        || usage.ocsp_signing
}

/// Returns true when there is no use but to say the time (RFC 3161, 2.3).
fn is_for_time_only(usage: &ExtendedKeyUsage<'_>) -> bool {
    let others = usage.any
        || usage.server_auth
        || usage.client_auth
        || usage.code_signing
        || usage.email_protection
        || usage.ocsp_signing
        || !usage.other.is_empty();
    usage.time_stamping && !others
}

/// `below` counts the authorities between this one and the leaf.
fn is_authority(authority: &X509Certificate<'_>, below: usize, purpose: Purpose) -> Result<(), RuleError> {
    let constraints = authority.basic_constraints().map_err(malformed)?;
    let Some(constraints) = constraints.map(|found| found.value).filter(|found| found.ca) else {
        return Err(RuleError::NoAuthority(subject(authority)));
    };
    let limit = constraints.path_len_constraint.and_then(|limit| usize::try_from(limit).ok());
    if limit.is_some_and(|limit| limit < below) {
        return Err(RuleError::TooLong(subject(authority)));
    }
    let certificates = 1 << 5;
    if key_usage(authority, purpose)? & certificates == 0 {
        return Err(RuleError::KeyUsage(subject(authority)));
    }
    Ok(())
}

/// Returns the allowed uses of a key, as bits.
fn key_usage(certificate: &X509Certificate<'_>, purpose: Purpose) -> Result<u16, RuleError> {
    let usage = certificate.key_usage().map_err(malformed)?;
    let usage = usage.filter(|usage| usage.critical || purpose == Purpose::Timestamping);
    Ok(usage.ok_or_else(|| RuleError::NoKeyUsage(subject(certificate)))?.value.flags)
}

fn malformed(error: X509Error) -> RuleError {
    RuleError::Malformed(error.to_string())
}

fn subject(certificate: &X509Certificate<'_>) -> String {
    name::written(certificate.subject())
}
