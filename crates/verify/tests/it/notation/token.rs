//! Timestamp tokens, made here from the documented format so that all of it can be wrong.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use der::asn1::{Int, ObjectIdentifier, OctetString, SetOfVec};
use der::oid::db::{rfc5911, rfc5912};
use der::{Any, Decode, Encode, Sequence, Tag};
use serde_json::Value;
use sha2::{Digest, Sha256};
use weir_testkit::NotationSigner;
use x509_cert::attr::Attribute;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::ocsp::decoded;

const TIMESTAMP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const SIGNING_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");
pub(super) const BASELINE: &str = "0.4.0.2023.1.1";

/// The statement of a token, by default: a message existed in June 2021.
#[derive(Clone)]
pub(crate) struct Token {
    pub(super) version: u8,
    pub(super) policy: &'static str,
    pub(super) time: &'static str,
    /// Seconds that the time may be wrong.
    pub(super) seconds: Option<u32>,
    pub(super) kind: ObjectIdentifier,
    /// Content hashed in the signed attribute, if it differs from the token's.
    pub(super) content: Option<&'static [u8]>,
    /// True when the signer's certificate is named after its issuer too.
    pub(super) names_issuer: bool,
    pub(super) signing_time: Option<&'static str>,
    /// Attributes that are left out.
    pub(super) without: Option<ObjectIdentifier>,
}

#[derive(Sequence)]
struct Accuracy {
    seconds: u32,
}

#[derive(Sequence)]
struct Imprint {
    algorithm: AlgorithmIdentifierOwned,
    hash: OctetString,
}

#[derive(Sequence)]
struct Info {
    version: u8,
    policy: ObjectIdentifier,
    imprint: Imprint,
    serial: Int,
    time: Any,
    accuracy: Option<Accuracy>,
    is_ordered: bool,
    nonce: Int,
}

#[derive(Sequence)]
struct Named {
    certificates: Vec<CertificateName>,
}

#[derive(Sequence)]
struct CertificateName {
    hash: OctetString,
    issuer: Option<IssuerName>,
}

#[derive(Sequence)]
struct IssuerName {
    names: Vec<GeneralName>,
    serial: SerialNumber,
}

impl Default for Token {
    fn default() -> Self {
        Self {
            version: 1,
            policy: "1.2.3.4",
            time: "20210601000000Z",
            seconds: None,
            kind: TIMESTAMP,
            content: None,
            names_issuer: true,
            signing_time: None,
            without: None,
        }
    }
}

fn sha256() -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid: rfc5912::ID_SHA_256, parameters: None }
}

fn octets(bytes: &[u8]) -> OctetString {
    OctetString::new(bytes).unwrap()
}

fn any(value: &impl Encode) -> Any {
    Any::from_der(&value.to_der().unwrap()).unwrap()
}

impl Token {
    /// A token about a message, with the certificate of `by` and the others of its chain.
    pub(crate) fn encode(&self, message: &[u8], by: &NotationSigner) -> Vec<u8> {
        let info = Info {
            version: self.version,
            policy: self.policy.parse().unwrap(),
            imprint: Imprint { algorithm: sha256(), hash: octets(&Sha256::digest(message)) },
            serial: Int::new(&[1]).unwrap(),
            time: Any::new(Tag::GeneralizedTime, self.time.as_bytes()).unwrap(),
            accuracy: self.seconds.map(|seconds| Accuracy { seconds }),
            is_ordered: true,
            nonce: Int::new(&[7]).unwrap(),
        };
        let content = info.to_der().unwrap();
        let signer = self.signer(&content, by);
        let certificates = by.chain().iter().map(|one| CertificateChoices::Certificate(decoded(one)));
        let data = SignedData {
            version: CmsVersion::V3,
            digest_algorithms: SetOfVec::try_from(vec![sha256()]).unwrap(),
            encap_content_info: EncapsulatedContentInfo {
                econtent_type: self.kind,
                econtent: Some(any(&octets(&content))),
            },
            certificates: Some(CertificateSet::try_from(certificates.collect::<Vec<_>>()).unwrap()),
            crls: None,
            signer_infos: SignerInfos::try_from(vec![signer]).unwrap(),
        };
        ContentInfo { content_type: rfc5911::ID_SIGNED_DATA, content: any(&data) }.to_der().unwrap()
    }

    fn signer(&self, content: &[u8], by: &NotationSigner) -> SignerInfo {
        let certificate = decoded(&by.chain()[0]);
        let (issuer, serial) =
            (certificate.tbs_certificate.issuer.clone(), certificate.tbs_certificate.serial_number.clone());
        let names = vec![GeneralName::DirectoryName(issuer.clone())];
        let named = Named {
            certificates: vec![CertificateName {
                hash: octets(&Sha256::digest(certificate.to_der().unwrap())),
                issuer: self.names_issuer.then(|| IssuerName { names, serial: serial.clone() }),
            }],
        };
        let digest = Sha256::digest(self.content.unwrap_or(content));
        let time = |time: &str| Any::new(Tag::UtcTime, time.as_bytes()).unwrap();
        let attributes = [
            Some((rfc5911::ID_CONTENT_TYPE, any(&self.kind))),
            Some((rfc5911::ID_MESSAGE_DIGEST, any(&octets(&digest)))),
            Some((SIGNING_CERTIFICATE, any(&named))),
            self.signing_time.map(|text| (rfc5911::ID_SIGNING_TIME, time(text))),
        ];
        let attributes = attributes.into_iter().flatten().filter(|(kind, _)| Some(*kind) != self.without);
        let attributes = attributes
            .map(|(oid, value)| Attribute { oid, values: SetOfVec::try_from(vec![value]).unwrap() })
            .collect::<Vec<_>>();
        let attributes = SetOfVec::try_from(attributes).unwrap();
        let signature = by.sign_bytes(&attributes.to_der().unwrap()).unwrap();
        SignerInfo {
            version: CmsVersion::V1,
            sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
                issuer,
                serial_number: serial,
            }),
            digest_alg: sha256(),
            signed_attrs: Some(attributes),
            signature_algorithm: AlgorithmIdentifierOwned {
                oid: rfc5912::ECDSA_WITH_SHA_256,
                parameters: None,
            },
            signature: octets(&signature),
            unsigned_attrs: None,
        }
    }
}

/// Returns the parts of tokens that nobody signs: the hash algorithms, the name of the signer, and the authority's
/// certificate.
pub(super) fn idle(by: &NotationSigner) -> Vec<Vec<u8>> {
    let certificate = decoded(&by.chain()[0]).tbs_certificate;
    let (issuer, serial_number) = (certificate.issuer, certificate.serial_number);
    let name = IssuerAndSerialNumber { issuer, serial_number }.to_der().unwrap();
    let hashes = SetOfVec::try_from(vec![sha256()]).unwrap().to_der().unwrap();
    vec![hashes, name, by.chain()[1].der().to_vec()]
}

/// The attribute that names the certificate of the signer.
pub(super) const NAME: ObjectIdentifier = SIGNING_CERTIFICATE;

/// The signature in an envelope of JSON.
pub(super) fn signature_of(envelope: &[u8]) -> Vec<u8> {
    let envelope: Value = serde_json::from_slice(envelope).unwrap();
    URL_SAFE_NO_PAD.decode(envelope["signature"].as_str().unwrap()).unwrap()
}

/// An envelope of JSON with a timestamp.
pub(super) fn stamped(envelope: &[u8], token: &[u8]) -> Vec<u8> {
    let mut envelope: Value = serde_json::from_slice(envelope).unwrap();
    envelope["header"]["io.cncf.notary.timestampSignature"] = STANDARD.encode(token).into();
    envelope.to_string().into_bytes()
}
