//! Timestamps (RFC 3161): an authority in the trust policy's `tsa` store proves that a signature existed at a time,
//! so that it counts after its certificates have expired (SRC-OCI-26).

mod algorithm;
mod token;

use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use self::token::{Token, TokenError};
use super::chain::Certificates;
use super::chain::rules::{self, Purpose, RuleError};
use super::envelope::Envelope;
use super::inquiry::Inquiry;
use super::revocation::{self, RevocationError};
use super::{date, name};

#[derive(Debug, thiserror::Error)]
pub(super) enum TimestampError {
    #[error("no timestamp countersignature was found in the signature envelope")]
    Missing,
    #[error("failed to parse timestamp countersignature with error: {0}")]
    Malformed(TokenError),
    #[error("failed to get timestamp from timestamp countersignature with error: {0}")]
    Message(TokenError),
    #[error("failed to verify the timestamp countersignature with error: {0}")]
    Refused(TokenError),
    #[error("failed to validate the timestamping certificate chain with error: {0}")]
    Chain(RuleError),
    #[error("certificate cannot be read")]
    Certificate,
    #[error(
        "timestamp can be before certificate \"{subject}\" validity period, it will be valid from \"{from}\""
    )]
    Early { subject: String, from: String },
    #[error(
        "timestamp can be after certificate \"{subject}\" validity period, it was expired at \"{until}\""
    )]
    Late { subject: String, until: String },
    #[error(transparent)]
    Revocation(#[from] RevocationError),
}

/// Checks that somebody trusted says that the signature was there while all of its certificates were valid.
pub(super) fn check(
    envelope: &Envelope,
    trusted: &Certificates,
    now: Timestamp,
    inquiry: &mut Inquiry<'_>,
) -> Result<(), TimestampError> {
    let token = envelope.timestamp.as_deref().ok_or(TimestampError::Missing)?;
    let token = Token::read(token).map_err(TimestampError::Malformed)?;
    token.is_of(&envelope.signature).map_err(TimestampError::Message)?;
    let chain = token.signer(trusted).map_err(TimestampError::Refused)?;
    rules::check(&chain, Purpose::Timestamping).map_err(TimestampError::Chain)?;
    let (earliest, latest) = token.bounds().map_err(TimestampError::Malformed)?;
    for certificate in &envelope.chain {
        is_within(earliest, latest, certificate)?;
    }
    Ok(revocation::check(&chain, Purpose::Timestamping, None, now, inquiry)?)
}

/// Checks that a certificate was valid from one time to another.
fn is_within(earliest: Timestamp, latest: Timestamp, der: &CertificateDer<'_>) -> Result<(), TimestampError> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| TimestampError::Certificate)?;
    let (validity, subject) = (certificate.validity(), name::written(certificate.subject()));
    let bound = |second: i64| Timestamp::from_second(second).map_err(|_| TimestampError::Certificate);
    if earliest < bound(validity.not_before.timestamp())? {
        return Err(TimestampError::Early { subject, from: date::of_certificate(validity.not_before) });
    }
    if latest > bound(validity.not_after.timestamp())? {
        return Err(TimestampError::Late { subject, until: date::of_certificate(validity.not_after) });
    }
    Ok(())
}
