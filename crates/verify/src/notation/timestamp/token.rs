//! Timestamp tokens (RFC 3161, 2.4.2): a time and a hash in a CMS message (RFC 5652), signed by one whom a signed attribute
//! names (RFC 5816).

use cms::cert::CertificateChoices;
use cms::cert::x509::Certificate;
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{SignedData, SignerIdentifier, SignerInfo};
use der::asn1::{AnyRef, IntRef, ObjectIdentifier, OctetStringRef};
use der::oid::db::{rfc5911, rfc5912};
use der::{Any, Decode, Encode, Reader, Sequence, SliceReader, Tag, Tagged};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustls_pki_types::CertificateDer;
use x509_cert::ext::pkix::name::{GeneralName, GeneralNames};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierRef;
use x509_cert::time::Time;

use super::super::chain::{self, Certificates};
use super::super::signature;
use super::algorithm::{algorithm, digest};

/// Bytes of a token: one with three certificates has some 6,000.
const MAX_TOKEN: usize = 32 << 10;
/// Things beside each other in a token, of which some dozens are usual. Sets are sorted, at a cost that is the square of it.
const MAX_BESIDE: usize = 128;
/// Things inside each other in a token: names in extensions of certificates are some 12 deep.
const MAX_DEPTH: usize = 32;
/// Type of a token's content.
const TIMESTAMP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
/// The attribute that names the certificate of the signer.
const SIGNING_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");
/// Policy whose tokens are right to the second without a stated accuracy (ETSI EN 319 421).
const BASELINE: ObjectIdentifier = ObjectIdentifier::new_unwrap("0.4.0.2023.1.1");

/// A token, taken apart and not yet believed.
pub(super) struct Token {
    content: Vec<u8>,
    certificates: Vec<Certificate>,
    signers: Vec<SignerInfo>,
    statement: Statement,
}

/// The statement of a token.
struct Statement {
    /// Hash of the message.
    algorithm: ObjectIdentifier,
    hash: Vec<u8>,
    time: Timestamp,
    /// Largest error of the time.
    accuracy: SignedDuration,
}

#[derive(Debug, thiserror::Error)]
pub(in super::super) enum TokenError {
    #[error("token is larger than {MAX_TOKEN} bytes")]
    TooLarge,
    #[error(
        "token has more than {MAX_BESIDE} elements in one list, or is nested deeper than {MAX_DEPTH} levels"
    )]
    TooMany,
    #[error("token is malformed: {0}")]
    Malformed(#[from] der::Error),
    #[error("token is no signed message of version 3")]
    Version,
    #[error("token does not contain a timestamp of version 1")]
    Content,
    #[error("the time of the token cannot be read")]
    Time,
    #[error("hash algorithm {0} is not supported")]
    Hash(ObjectIdentifier),
    #[error("mismatched message")]
    Message,
    #[error("token has no signer")]
    NoSigner,
    #[error("signer has no signed attribute {0}")]
    NoAttribute(ObjectIdentifier),
    #[error("signer is of another version than 1")]
    SignerVersion,
    #[error("signing certificate is not found in the token")]
    NoCertificate,
    #[error("signing certificate does not lead to a trusted one: {0}")]
    Untrusted(String),
    #[error("signature algorithm {0} is not supported")]
    Algorithm(ObjectIdentifier),
    #[error("signature of the token is invalid")]
    Signature,
    #[error("signed attributes are about another content")]
    Attributes,
    #[error("signing time is outside of the validity of the certificates: {0}")]
    SigningTime(String),
}

#[derive(Sequence)]
struct Imprint<'a> {
    algorithm: AlgorithmIdentifierRef<'a>,
    hash: OctetStringRef<'a>,
}

#[derive(Sequence, Default)]
struct Accuracy {
    seconds: Option<u32>,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    millis: Option<u16>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    micros: Option<u16>,
}

#[derive(Sequence)]
struct CertificateName<'a> {
    algorithm: Option<AlgorithmIdentifierRef<'a>>,
    hash: OctetStringRef<'a>,
    issuer: Option<IssuerName>,
}

#[derive(Sequence)]
struct IssuerName {
    names: GeneralNames,
    serial: SerialNumber,
}

impl Token {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, TokenError> {
        if bytes.len() > MAX_TOKEN {
            return Err(TokenError::TooLarge);
        }
        if !is_modest(bytes, MAX_DEPTH)? {
            return Err(TokenError::TooMany);
        }
        let message = ContentInfo::from_der(bytes)?;
        if message.content_type != rfc5911::ID_SIGNED_DATA {
            return Err(TokenError::Version);
        }
        let data: SignedData = message.content.decode_as()?;
        if data.version != CmsVersion::V3 {
            return Err(TokenError::Version);
        }
        let content = data.encap_content_info;
        let octets = content.econtent.filter(|_| content.econtent_type == TIMESTAMP);
        let octets = octets.ok_or(TokenError::Content)?;
        let content = octets.decode_as::<OctetStringRef<'_>>()?.as_bytes().to_vec();
        let statement = Statement::read(&content)?;
        let certificates = data.certificates.map(|found| found.0.into_vec()).unwrap_or_default();
        let certificates = certificates.into_iter().filter_map(|choice| match choice {
            CertificateChoices::Certificate(certificate) => Some(certificate),
            CertificateChoices::Other(_) => None,
        });
        let signers = data.signer_infos.0.into_vec();
        Ok(Self { certificates: certificates.collect(), statement, signers, content })
    }

    /// Checks that it is about a message.
    pub(super) fn is_of(&self, message: &[u8]) -> Result<(), TokenError> {
        let Statement { algorithm, hash, .. } = &self.statement;
        if digest(*algorithm, message)? == *hash { Ok(()) } else { Err(TokenError::Message) }
    }

    /// Between which times the message was there.
    pub(super) fn bounds(&self) -> Result<(Timestamp, Timestamp), TokenError> {
        let Statement { time, accuracy, .. } = self.statement;
        let bounds = time.checked_sub(accuracy).ok().zip(time.checked_add(accuracy).ok());
        bounds.ok_or(TokenError::Time)
    }

    /// The chain of the first signer who is trusted and did sign.
    pub(super) fn signer(&self, trusted: &Certificates) -> Result<Vec<CertificateDer<'static>>, TokenError> {
        let mut failed = TokenError::NoSigner;
        for signer in &self.signers {
            match self.chain_of(signer, trusted) {
                Ok(chain) => return Ok(chain),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn chain_of(
        &self,
        signer: &SignerInfo,
        trusted: &Certificates,
    ) -> Result<Vec<CertificateDer<'static>>, TokenError> {
        let certificate = self.certificate_of(signer)?;
        let encoded = |certificate: &Certificate| certificate.to_der().map(CertificateDer::from);
        let between: Vec<_> = self.certificates.iter().map(encoded).collect::<Result<_, _>>()?;
        let leaf = encoded(certificate)?;
        let chain = trusted.timestamping(&leaf, &between, self.statement.time);
        let chain = chain.map_err(TokenError::Untrusted)?;
        let (digested, signed) = (signer.digest_alg.oid, signer.signature_algorithm.oid);
        let algorithm = algorithm(digested, signed).ok_or(TokenError::Algorithm(signed))?;
        let attributes =
            signer.signed_attrs.as_ref().ok_or(TokenError::NoAttribute(SIGNING_CERTIFICATE))?.to_der()?;
        let key = certificate.tbs_certificate.subject_public_key_info.to_der()?;
        if !signature::is_by(&key, algorithm.as_ref(), &attributes, signer.signature.as_bytes()) {
            return Err(TokenError::Signature);
        }
        let kind: ObjectIdentifier = attribute(signer, rfc5911::ID_CONTENT_TYPE)?.decode_as()?;
        let hash: OctetStringRef<'_> = attribute(signer, rfc5911::ID_MESSAGE_DIGEST)?.decode_as()?;
        if kind != TIMESTAMP || digest(digested, &self.content)? != hash.as_bytes() {
            return Err(TokenError::Attributes);
        }
        if let Ok(time) = attribute(signer, rfc5911::ID_SIGNING_TIME) {
            let time = Time::from_der(&time.to_der()?)?.to_unix_duration().as_secs();
            let time = i64::try_from(time).ok().and_then(|time| Timestamp::from_second(time).ok());
            chain::are_valid(&chain, time.ok_or(TokenError::Time)?).map_err(TokenError::SigningTime)?;
        }
        Ok(chain)
    }

    /// Returns the certificate that a signer names, in the signed attribute by its hash. Its issuer is named there
    /// too, or else beside the signature.
    fn certificate_of(&self, signer: &SignerInfo) -> Result<&Certificate, TokenError> {
        let SignerIdentifier::IssuerAndSerialNumber(beside) = &signer.sid else {
            return Err(TokenError::SignerVersion);
        };
        if signer.version != CmsVersion::V1 {
            return Err(TokenError::SignerVersion);
        }
        let names = attribute(signer, SIGNING_CERTIFICATE)?.sequence(first::<AnyRef<'_>>)?;
        let name = names.sequence(first::<CertificateName<'_>>)?;
        let algorithm = name.algorithm.map_or(rfc5912::ID_SHA_256, |algorithm| algorithm.oid);
        let is_named = |certificate: &Certificate| match &name.issuer {
            None => is_issued(certificate, &beside.serial_number, |issuer| *issuer == beside.issuer),
            Some(named) => is_issued(
                certificate,
                &named.serial,
                |issuer| matches!(named.names.first(), Some(GeneralName::DirectoryName(name)) if *name == *issuer),
            ),
        };
        for certificate in self.certificates.iter().filter(|certificate| is_named(certificate)) {
            if digest(algorithm, &certificate.to_der()?)? == name.hash.as_bytes() {
                return Ok(certificate);
            }
        }
        Err(TokenError::NoCertificate)
    }
}

impl Statement {
    fn read(content: &[u8]) -> Result<Self, TokenError> {
        let parts = AnyRef::from_der(content)?.sequence(|parts| {
            let (version, policy): (u8, AnyRef<'_>) = (parts.decode()?, parts.decode()?);
            let (imprint, _serial): (Imprint<'_>, IntRef<'_>) = (parts.decode()?, parts.decode()?);
            let (time, accuracy): (AnyRef<'_>, Option<Accuracy>) = (parts.decode()?, parts.decode()?);
            // The other fields do not concern the time.
            parts.read_slice(parts.remaining_len())?;
            Ok((version, policy, imprint, time, accuracy.unwrap_or_default()))
        });
        let (version, policy, imprint, time, accuracy) = parts?;
        if version != 1 {
            return Err(TokenError::Content);
        }
        Ok(Self {
            algorithm: imprint.algorithm.oid,
            hash: imprint.hash.as_bytes().to_vec(),
            time: moment(time).ok_or(TokenError::Time)?,
            accuracy: accuracy.duration(policy.value() == BASELINE.as_bytes()),
        })
    }
}

impl Accuracy {
    fn duration(&self, is_baseline: bool) -> SignedDuration {
        let duration = SignedDuration::from_secs(self.seconds.unwrap_or_default().into())
            + SignedDuration::from_millis(self.millis.unwrap_or_default().into())
            + SignedDuration::from_micros(self.micros.unwrap_or_default().into());
        if duration.is_zero() && is_baseline { SignedDuration::from_secs(1) } else { duration }
    }
}

/// Returns true when there is neither too much beside each other nor inside each other.
fn is_modest(values: &[u8], depth: usize) -> der::Result<bool> {
    let mut rest = SliceReader::new(values)?;
    let mut count = 0;
    while !rest.is_finished() {
        let value: AnyRef<'_> = rest.decode()?;
        count += 1;
        if count > MAX_BESIDE || depth == 0 {
            return Ok(false);
        }
        if value.tag().is_constructed() && !is_modest(value.value(), depth - 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A time with or without fractions of a second: the library knows only those without.
fn moment(time: AnyRef<'_>) -> Option<Timestamp> {
    let text = std::str::from_utf8(time.value()).ok().filter(|_| time.tag() == Tag::GeneralizedTime)?;
    let time = DateTime::strptime("%Y%m%d%H%M%S%.fZ", text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The first of several values; the others are read past.
fn first<'a, T: Decode<'a>>(values: &mut SliceReader<'a>) -> der::Result<T> {
    let first = values.decode()?;
    values.read_slice(values.remaining_len())?;
    Ok(first)
}

fn attribute(signer: &SignerInfo, kind: ObjectIdentifier) -> Result<&Any, TokenError> {
    let mut attributes = signer.signed_attrs.iter().flat_map(|attributes| attributes.iter());
    let found = attributes.find(|attribute| attribute.oid == kind);
    found.and_then(|found| found.values.get(0)).ok_or(TokenError::NoAttribute(kind))
}

fn is_issued(
    certificate: &Certificate,
    serial: &SerialNumber,
    is_by: impl Fn(&x509_cert::name::Name) -> bool,
) -> bool {
    let certificate = &certificate.tbs_certificate;
    certificate.serial_number == *serial && is_by(&certificate.issuer)
}
