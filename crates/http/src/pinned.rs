//! Servers whose own certificate stands among the authorities, as Go accepts it: one that is its own authority, as `openssl req
//! -x509` makes it, or one that somebody else has signed. The TLS library knows authorities only.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

/// Checks a certificate that is trusted for itself: it must be for this server, be valid now, and be meant for servers. The
/// handshake proves that the server has its key.
pub(crate) fn check_pinned(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<(), Error> {
    let parsed = parse(certificate)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < parsed.validity().not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > parsed.validity().not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let usage = parsed.extended_key_usage().map_err(|_| CertificateError::BadEncoding)?;
    if usage.is_some_and(|usage| !(usage.value.any || usage.value.server_auth)) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    if has_no_names(&parsed) {
        return Err(nameless(name));
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
}

/// Returns true for a certificate that may vouch for others, nothing for one that cannot be read. As in Go, one of version 3 must
/// say so; earlier versions have no field for it, and may.
pub(crate) fn is_authority(certificate: &CertificateDer<'_>) -> Option<bool> {
    let parsed = parse(certificate).ok()?;
    let is_named_so = match parsed.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => parsed.version() != X509Version::V3,
        Err(_) => false,
    };
    // As in Go, an empty list of uses forbids none.
    let may_sign = match parsed.key_usage() {
        Ok(Some(usage)) => usage.value.flags == 0 || usage.value.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    };
    Some(is_named_so && may_sign)
}

/// Returns the reason to refuse a server whose certificate the library does not take for a server's: the certificate has no names, as
/// any of version 1, or it is an authority of its own, which is unknown. Returns nothing for other certificates.
pub(crate) fn refusal(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Option<Error> {
    let parsed = parse(certificate).ok()?;
    if has_no_names(&parsed) {
        return Some(nameless(name));
    }
    (parsed.subject() == parsed.issuer()).then(|| CertificateError::UnknownIssuer.into())
}

fn has_no_names(certificate: &X509Certificate<'_>) -> bool {
    matches!(certificate.subject_alternative_name(), Ok(None))
}

fn nameless(name: &ServerName<'_>) -> Error {
    let expected = name.to_owned();
    CertificateError::NotValidForNameContext { expected, presented: Vec::new() }.into()
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    let parsed = X509Certificate::from_der(certificate);
    parsed.map(|(_, parsed)| parsed).map_err(|_| CertificateError::BadEncoding.into())
}

#[cfg(test)]
mod tests;
