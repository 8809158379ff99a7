//! Lists of what authorities took back, whole ones and those that add to them.

use der::asn1::{BitString, GeneralizedTime, Ia5String, Null, OctetString, Uint};
use der::oid::AssociatedOid;
use der::oid::ObjectIdentifier;
use der::oid::db::{rfc5280, rfc5912};
use der::{DateTime, Encode};
use rcgen::{CrlDistributionPoint, CustomExtension, KeyUsagePurpose};
use rstest::rstest;
use serde_json::json;
use weir_testkit::NotationAuthority;
use weir_verify::notation::{JWS_TYPE, Outcome, SignatureEnvelope};
use x509_cert::Version;
use x509_cert::crl::{CertificateList, RevokedCert, TbsCertList};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::crl::dp::DistributionPoint;
use x509_cert::ext::pkix::name::{DistributionPointName, GeneralName};
use x509_cert::ext::pkix::{BaseCrlNumber, CrlNumber, CrlReason, FreshestCrl, IssuingDistributionPoint};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::Time;

use super::ocsp::decoded;
use super::{DIGEST, NOW, good, judge_asking, strict};

const LIST: &str = "http://crl.test/list";
const ADDITION: &str = "http://crl.test/addition";

/// A list, unless a test has it otherwise: the first, empty, in force until tomorrow.
#[derive(Clone)]
struct List {
    version: Version,
    number: Option<u8>,
    until: Option<&'static str>,
    entries: Vec<RevokedCert>,
    /// The number of the list that it adds to.
    base: Option<u8>,
    addition: Option<&'static str>,
    scope: Option<IssuingDistributionPoint>,
    other: Option<Extension>,
}

impl Default for List {
    fn default() -> Self {
        Self {
            version: Version::V2,
            number: Some(1),
            until: Some("2026-01-02T00:00:00Z"),
            entries: Vec::new(),
            base: None,
            addition: None,
            scope: None,
            other: None,
        }
    }
}

fn date(text: &str) -> GeneralizedTime {
    GeneralizedTime::from_date_time(text.parse::<DateTime>().unwrap())
}

fn time(text: &str) -> Time {
    Time::from(date(text))
}

fn extension(extn_id: ObjectIdentifier, critical: bool, value: &impl Encode) -> Extension {
    Extension { extn_id, critical, extn_value: OctetString::new(value.to_der().unwrap()).unwrap() }
}

fn entry(serial: u8, reason: Option<CrlReason>, at: &str) -> RevokedCert {
    let reason = reason.map(|reason| vec![extension(CrlReason::OID, false, &reason)]);
    let serial_number = SerialNumber::new(&[serial]).unwrap();
    RevokedCert { serial_number, revocation_date: time(at), crl_entry_extensions: reason }
}

fn point(url: &str) -> DistributionPointName {
    let url = Ia5String::new(url).unwrap();
    DistributionPointName::FullName(vec![GeneralName::UniformResourceIdentifier(url)])
}

fn scope(url: Option<&str>) -> IssuingDistributionPoint {
    IssuingDistributionPoint {
        distribution_point: url.map(point),
        only_contains_user_certs: false,
        only_contains_ca_certs: false,
        only_some_reasons: None,
        indirect_crl: false,
        only_contains_attribute_certs: false,
    }
}

impl List {
    fn encode(&self, authority: &NotationAuthority) -> Vec<u8> {
        let uint = |number: u8| Uint::new(&[number]).unwrap();
        let freshest = |url: &str| {
            let point =
                DistributionPoint { distribution_point: Some(point(url)), reasons: None, crl_issuer: None };
            extension(FreshestCrl::OID, false, &FreshestCrl(vec![point]))
        };
        let extensions = [
            self.number.map(|number| extension(CrlNumber::OID, false, &CrlNumber(uint(number)))),
            self.base.map(|number| extension(BaseCrlNumber::OID, true, &BaseCrlNumber(uint(number)))),
            self.addition.map(freshest),
            self.scope
                .as_ref()
                .map(|scope| extension(rfc5280::ID_CE_ISSUING_DISTRIBUTION_POINT, true, scope)),
            self.other.clone(),
        ];
        let algorithm = AlgorithmIdentifierOwned { oid: rfc5912::ECDSA_WITH_SHA_256, parameters: None };
        let content = TbsCertList {
            version: self.version,
            signature: algorithm.clone(),
            issuer: decoded(authority.certificate()).tbs_certificate.subject,
            this_update: time("2025-12-31T00:00:00Z"),
            next_update: self.until.map(time),
            revoked_certificates: (!self.entries.is_empty()).then(|| self.entries.clone()),
            crl_extensions: Some(extensions.into_iter().flatten().collect()),
        };
        let signature = authority.sign(&content.to_der().unwrap()).unwrap();
        let signature = BitString::from_bytes(&signature).unwrap();
        let list = CertificateList { tbs_cert_list: content, signature_algorithm: algorithm, signature };
        list.to_der().unwrap()
    }
}

/// A good list of serial numbers.
pub(super) fn list(authority: &NotationAuthority, revoked: &[u8]) -> Vec<u8> {
    let entries = revoked.iter().map(|serial| entry(*serial, None, "2022-01-01T00:00:00Z")).collect();
    List { entries, ..List::default() }.encode(authority)
}

fn judge(
    authority: &NotationAuthority,
    points: &[&str],
    extensions: Vec<CustomExtension>,
    server: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Outcome, String> {
    let signer = authority.signer(|params| {
        params.crl_distribution_points =
            points.iter().map(|url| CrlDistributionPoint { uris: vec![(*url).to_owned()] }).collect();
        params.custom_extensions = extensions;
    });
    let signer = signer.unwrap();
    let content = signer.sign(DIGEST, &json!({})).unwrap();
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    judge_asking(&strict(), &signer.trusted_pem(), &signature, NOW.parse().unwrap(), server)
}

fn ends(found: Result<Outcome, String>, expected: Option<&str>) {
    match (found, expected) {
        (Ok(outcome), None) => assert_eq!(outcome, good()),
        (Err(error), Some(part)) => assert!(error.contains(part), "{error}"),
        (found, _) => panic!("{found:?} instead of {expected:?}"),
    }
}

fn hold(serial: u8) -> Vec<RevokedCert> {
    vec![entry(serial, Some(CrlReason::CertificateHold), "2022-01-01T00:00:00Z")]
}

fn strange() -> Extension {
    extension("1.2.3.4".parse().unwrap(), true, &Null)
}

#[rstest]
#[case::empty(List::default(), None)]
#[case::others(List { entries: vec![entry(8, None, NOW), entry(9, None, NOW)], ..List::default() }, None)]
#[case::it(List { entries: vec![entry(8, None, NOW), entry(7, None, NOW)], ..List::default() }, Some("is revoked"))]
#[case::hold(List { entries: hold(7), ..List::default() }, Some("is revoked"))]
#[case::old(List { until: Some("2025-12-31T23:59:59Z"), ..List::default() }, Some("list has expired"))]
#[case::endless(List { until: None, ..List::default() }, Some("does not say when the next one comes"))]
#[case::version(List { version: Version::V1, ..List::default() }, Some("not of version 2"))]
#[case::critical(List { other: Some(strange()), ..List::default() }, Some("critical extension 1.2.3.4"))]
#[case::critical_entry(List { entries: vec![RevokedCert { crl_entry_extensions: Some(vec![strange()]),
    ..entry(7, None, NOW) }], ..List::default() }, Some("critical extension 1.2.3.4"))]
#[case::addition(List { base: Some(1), ..List::default() }, Some("the list is a delta CRL, a complete one is needed"))]
#[case::scope(List { scope: Some(scope(Some(LIST))), ..List::default() }, None)]
#[case::other_scope(List { scope: Some(scope(Some("http://crl.test/other"))), ..List::default() },
    Some("list is about other certificates"))]
#[case::signers(List { scope: Some(IssuingDistributionPoint { only_contains_user_certs: true, ..scope(None) }),
    ..List::default() }, None)]
#[case::authorities(List { scope: Some(IssuingDistributionPoint { only_contains_ca_certs: true, ..scope(None) }),
    ..List::default() }, Some("list is about other certificates"))]
#[case::indirect(List { scope: Some(IssuingDistributionPoint { indirect_crl: true, ..scope(None) }), ..List::default() },
    Some("list is about other certificates"))]
fn what_lists_say(#[case] list: List, #[case] expected: Option<&str>) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    ends(judge(&authority, &[LIST], Vec::new(), |_| Ok(list.encode(&authority))), expected);
}

/// A list announces additions, and another list has them.
#[rstest]
#[case::nothing(List { number: Some(2), base: Some(1), ..List::default() }, Vec::new(), None)]
#[case::it(List { number: Some(2), base: Some(1), entries: vec![entry(7, None, NOW)], ..List::default() }, Vec::new(),
    Some("is revoked"))]
#[case::removed(List { number: Some(2), base: Some(1), entries: vec![entry(7, Some(CrlReason::RemoveFromCRL), NOW)],
    ..List::default() }, hold(7), None)]
#[case::not_removed(List { number: Some(2), base: Some(1), ..List::default() }, hold(7), Some("is revoked"))]
#[case::older(List { number: Some(1), base: Some(1), ..List::default() }, Vec::new(), Some("the delta CRL does not fit its base CRL"))]
#[case::later_base(List { number: Some(3), base: Some(2), ..List::default() }, Vec::new(), Some("the delta CRL does not fit its base CRL"))]
#[case::whole(List { number: Some(2), ..List::default() }, Vec::new(), Some("the list is not a delta CRL"))]
#[case::old(List { number: Some(2), base: Some(1), until: Some("2025-01-01T00:00:00Z"), ..List::default() }, Vec::new(),
    Some("list has expired"))]
fn what_is_added(#[case] addition: List, #[case] entries: Vec<RevokedCert>, #[case] expected: Option<&str>) {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let whole = List { addition: Some(ADDITION), entries, ..List::default() };
    let server = |url: &str| {
        let list = if url == ADDITION { &addition } else { &whole };
        Ok(list.encode(&authority))
    };
    ends(judge(&authority, &[LIST], Vec::new(), server), expected);
    let server = |url: &str| if url == LIST { Ok(whole.encode(&authority)) } else { Err("gone".into()) };
    ends(
        judge(&authority, &[LIST], Vec::new(), server),
        Some("revocation status is unknown: CRL http://crl.test/list: gone"),
    );
}

#[test]
fn the_addition_of_a_list_that_is_not_good_is_not_asked_for() {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let stranger = NotationAuthority::create(|_| {}).unwrap();
    let list = List { addition: Some(ADDITION), ..List::default() };
    let found = judge(&authority, &[LIST], Vec::new(), |url| {
        assert_eq!(url, LIST);
        Ok(list.encode(&stranger))
    });
    ends(found, Some("list is not signed by the issuer"));
}

#[test]
fn lists_that_cannot_be_had() {
    let authority = NotationAuthority::create(|_| {}).unwrap();
    let good_one = list(&authority, &[]);
    let nothing = |_: &str| Ok(good_one.clone());
    ends(
        judge(&authority, &["https://crl.test/list"], Vec::new(), nothing),
        Some("protocol https is not supported"),
    );
    ends(
        judge(&authority, &["ldap://crl.test/list", LIST], Vec::new(), nothing),
        Some("protocol ldap is not supported"),
    );
    let second = |url: &str| if url == LIST { Ok(good_one.clone()) } else { Err("gone".into()) };
    ends(judge(&authority, &[LIST, "http://b.test/"], Vec::new(), second), Some("CRL http://b.test/: gone"));
    let freshest = FreshestCrl(vec![DistributionPoint {
        distribution_point: Some(point(ADDITION)),
        reasons: None,
        crl_issuer: None,
    }]);
    let freshest = CustomExtension::from_oid_content(&[2, 5, 29, 46], freshest.to_der().unwrap());
    ends(
        judge(&authority, &[LIST], vec![freshest], nothing),
        Some("the extension freshestCRL of a certificate is not supported"),
    );
    for at in 0..good_one.len() {
        let mut damaged = good_one.clone();
        damaged[at] ^= 1;
        let found = judge(&authority, &[LIST], Vec::new(), |_| Ok(damaged.clone()));
        assert!(found.is_err(), "byte {at} of {good_one:02x?}");
    }
}

#[test]
fn authorities_that_may_not_sign_lists() {
    let authority =
        NotationAuthority::create(|params| params.key_usages = vec![KeyUsagePurpose::KeyCertSign]).unwrap();
    let found = judge(&authority, &[LIST], Vec::new(), |_| Ok(list(&authority, &[])));
    ends(found, Some("may not sign lists"));
}
