//! Servers that say of one certificate whether it was taken back (RFC 6960).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use der::asn1::{GeneralizedTime, Null, ObjectIdentifier, OctetString};
use der::oid::db::{rfc5280, rfc5912, rfc6960};
use der::{Any, Decode, Encode};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha384, Sha512};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_ocsp::{
    CertId, CertStatus, OcspRequest, OcspResponse, OcspResponseStatus, Request, ResponseData, TbsRequest,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::super::inquiry::{AddressError, Inquiry, Question, Unanswered, address};
use super::super::signed::Signed;
use super::{Link, Standing};

/// Bytes of an answer, as Flux has it; some 4,000 are usual.
const MAX_ANSWER: usize = 20 * 1024;
/// Time for an answer, as Flux has it.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The hash of a question: the only one that all public authorities understand.
const SHA_1: ObjectIdentifier = rfc5912::ID_SHA_1;

#[derive(Debug, thiserror::Error)]
enum OcspError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("request cannot be made: {0}")]
    Request(der::Error),
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error("response is malformed: {0}")]
    Malformed(#[from] der::Error),
    #[error("server refuses to answer: {0:?}")]
    Refused(OcspResponseStatus),
    #[error("response is of another type")]
    Type,
    #[error("response is not about the certificate")]
    Subject,
    #[error(
        "the response is signed neither by the certificate's issuer nor by a responder that the issuer appointed"
    )]
    Responder,
    #[error("response has a critical extension that is not supported")]
    Critical,
    #[error("response has expired, or does not say when")]
    Expired,
    #[error("certificate has unknown status")]
    Unknown,
}

/// Returns the standing by the first server that gives one.
pub(super) fn standing(servers: &[&str], link: &Link<'_>, inquiry: &mut Inquiry<'_>) -> Standing {
    let mut last = Standing::Unrevocable;
    for server in servers {
        let answer = question(server, link).and_then(|question| Ok(inquiry.ask(question)?));
        match answer.and_then(|answer| read(answer, link)) {
            Ok(true) => return Standing::Revoked,
            Ok(false) => return Standing::Good,
            Err(OcspError::Unanswered(Unanswered::Pending)) => return Standing::Pending,
            Err(error) => {
                last = Standing::Unknown(format!("OCSP server {server}: {error}"));
                // A server that does not know the certificate has answered too: no other server is asked.
                if matches!(error, OcspError::Unknown) {
                    return last;
                }
            }
        }
    }
    last
}

fn question(server: &str, link: &Link<'_>) -> Result<Question, OcspError> {
    let mut url = address(server)?;
    let about = CertId {
        hash_algorithm: AlgorithmIdentifierOwned { oid: SHA_1, parameters: Some(Any::from(Null)) },
        issuer_name_hash: octets(hash(SHA_1, link.issuer.subject().as_raw()))?,
        issuer_key_hash: octets(hash(SHA_1, key(&link.issuer)))?,
        serial_number: SerialNumber::new(link.certificate.raw_serial()).map_err(OcspError::Request)?,
    };
    let request_list = vec![Request { req_cert: about, single_request_extensions: None }];
    let tbs_request = TbsRequest { request_list, ..TbsRequest::default() };
    let request = OcspRequest { tbs_request, optional_signature: None };
    let request = request.to_der().map_err(OcspError::Request)?;
    // In the URL, so that it can be answered from a cache (RFC 6960, A.1): with a serial number of 20 bytes it is short.
    let encoded = STANDARD.encode(&request);
    let encoded = utf8_percent_encode(&encoded, NON_ALPHANUMERIC);
    let path = format!("{}/{encoded}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(Question { url: url.into(), max_answer: MAX_ANSWER, timeout: TIMEOUT })
}

/// Returns true when an answer says that the certificate was taken back before it was used.
fn read(answer: &[u8], link: &Link<'_>) -> Result<bool, OcspError> {
    let response = OcspResponse::from_der(answer)?;
    if response.response_status != OcspResponseStatus::Successful {
        return Err(OcspError::Refused(response.response_status));
    }
    let basic = response.response_bytes.filter(|bytes| bytes.response_type == rfc6960::ID_PKIX_OCSP_BASIC);
    let basic = basic.ok_or(OcspError::Type)?;
    let signed = Signed::read(basic.response.as_bytes())?;
    if !is_by_responder(&signed, &link.issuer, link.moment.now) {
        return Err(OcspError::Responder);
    }
    let data = ResponseData::from_der(signed.content)?;
    let found = data.responses.iter().find(|one| is_about(&one.cert_id, link)).ok_or(OcspError::Subject)?;
    let extensions = found.single_extensions.as_deref().unwrap_or_default();
    if extensions.iter().any(|extension| extension.critical) {
        return Err(OcspError::Critical);
    }
    let until = found.next_update.and_then(|until| seconds(until.0)).ok_or(OcspError::Expired)?;
    if link.moment.now > until {
        return Err(OcspError::Expired);
    }
    match found.cert_status {
        CertStatus::Good(_) => Ok(false),
        CertStatus::Unknown(_) => Err(OcspError::Unknown),
        CertStatus::Revoked(_) => {
            let invalid = extensions.iter().find(|found| found.extn_id == rfc5280::ID_CE_INVALIDITY_DATE);
            let invalid = invalid.and_then(|date| GeneralizedTime::from_der(date.extn_value.as_bytes()).ok());
            let invalid_from = invalid.and_then(seconds);
            Ok(!link.moment.is_before(invalid_from))
        }
    }
}

/// Returns true when the issuer signed an answer, or one for whom the issuer made a certificate to do that. Flux
/// takes whomever the issuer made a certificate for; then one whose certificate was taken back could say that it was
/// not.
fn is_by_responder(signed: &Signed<'_>, issuer: &X509Certificate<'_>, now: Timestamp) -> bool {
    let issuer_key = issuer.public_key().raw;
    let Some(first) = signed.certificates.first() else { return signed.is_by(issuer_key) };
    let Ok((_, responder)) = X509Certificate::from_der(first) else { return false };
    let key = responder.public_key().raw;
    if key == issuer_key {
        return signed.is_by(issuer_key);
    }
    let usage = responder.extended_key_usage().ok().flatten();
    let validity = responder.validity();
    let now = now.as_second();
    usage.is_some_and(|usage| usage.value.ocsp_signing)
        && validity.not_before.timestamp() <= now
        && now <= validity.not_after.timestamp()
        && Signed::read(first).is_ok_and(|certificate| certificate.is_by(issuer_key))
        && signed.is_by(key)
}

fn is_about(about: &CertId, link: &Link<'_>) -> bool {
    let algorithm = about.hash_algorithm.oid;
    let name = hash(algorithm, link.issuer.subject().as_raw());
    about.serial_number.as_bytes() == link.certificate.raw_serial()
        && name.is_some_and(|name| name == about.issuer_name_hash.as_bytes())
        && hash(algorithm, key(&link.issuer)).is_some_and(|key| key == about.issuer_key_hash.as_bytes())
}

/// The key itself, without its kind.
fn key<'a>(certificate: &'a X509Certificate<'_>) -> &'a [u8] {
    &certificate.public_key().subject_public_key.data
}

fn hash(algorithm: ObjectIdentifier, bytes: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        SHA_1 => Some(Sha1::digest(bytes).to_vec()),
        rfc5912::ID_SHA_256 => Some(Sha256::digest(bytes).to_vec()),
        rfc5912::ID_SHA_384 => Some(Sha384::digest(bytes).to_vec()),
        rfc5912::ID_SHA_512 => Some(Sha512::digest(bytes).to_vec()),
        _ => None,
    }
}

fn octets(bytes: Option<Vec<u8>>) -> Result<OctetString, OcspError> {
    OctetString::new(bytes.unwrap_or_default()).map_err(OcspError::Request)
}

fn seconds(time: GeneralizedTime) -> Option<Timestamp> {
    super::timestamp(time.to_unix_duration())
}
