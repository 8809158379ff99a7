//! Servers that are asked about certificates, answering in every way that there is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cms::cert::x509::Certificate as Decoded;
use der::asn1::{BitString, GeneralizedTime, OctetString};
use der::oid::db::{rfc5280, rfc5912};
use der::{DateTime, Decode, Encode};
use percent_encoding::percent_decode_str;
use rcgen::{CertificateParams, CrlDistributionPoint, ExtendedKeyUsagePurpose};
use rstest::rstest;
use serde_json::json;
use sha1::{Digest, Sha1};
use weir_testkit::{NotationAuthority, NotationSigner, ocsp_servers};
use weir_verify::notation::{JWS_TYPE, Outcome, SignatureEnvelope, TrustPolicy};
use x509_cert::ext::Extension;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_ocsp::{
    BasicOcspResponse, CertId, CertStatus, OcspGeneralizedTime, OcspRequest, OcspResponse, ResponderId,
    ResponseData, RevokedInfo, SingleResponse, Version,
};

use super::{DIGEST, NOW, good, judge_asking, policy, strict};

pub(super) const SERVER: &str = "http://ocsp.test/status";
const LIST: &str = "http://crl.test/list";

/// The answer of a server, by default: all is well until tomorrow.
struct Answer<'a> {
    status: CertStatus,
    until: Option<&'a str>,
    serial: u8,
    /// Since when the certificate is not valid.
    invalid_from: Option<&'a str>,
    is_critical: bool,
    /// Signer, if it is not the authority, and true when the signer's certificate comes along.
    by: Option<(&'a NotationSigner, bool)>,
}

impl Default for Answer<'_> {
    fn default() -> Self {
        let until = Some("2026-01-02T00:00:00Z");
        Self {
            status: CertStatus::good(),
            until,
            serial: 7,
            invalid_from: None,
            is_critical: false,
            by: None,
        }
    }
}

fn time(text: &str) -> GeneralizedTime {
    GeneralizedTime::from_date_time(text.parse::<DateTime>().unwrap())
}

fn ocsp_time(text: &str) -> OcspGeneralizedTime {
    OcspGeneralizedTime(time(text))
}

fn revoked() -> CertStatus {
    let revocation_time = ocsp_time("2022-01-01T00:00:00Z");
    CertStatus::Revoked(RevokedInfo { revocation_time, revocation_reason: None })
}

pub(super) fn decoded(certificate: &rcgen::Certificate) -> Decoded {
    Decoded::from_der(certificate.der()).unwrap()
}

impl Answer<'_> {
    fn encode(&self, authority: &NotationAuthority) -> Vec<u8> {
        let issuer = decoded(authority.certificate()).tbs_certificate;
        let key = issuer.subject_public_key_info.subject_public_key.raw_bytes();
        let octets = |bytes: &[u8]| OctetString::new(bytes).unwrap();
        let sha1 = |bytes: &[u8]| octets(&Sha1::digest(bytes));
        let extension = |date| Extension {
            extn_id: rfc5280::ID_CE_INVALIDITY_DATE,
            critical: self.is_critical,
            extn_value: octets(&time(date).to_der().unwrap()),
        };
        let single = SingleResponse {
            cert_id: CertId {
                hash_algorithm: AlgorithmIdentifierOwned { oid: rfc5912::ID_SHA_1, parameters: None },
                issuer_name_hash: sha1(&issuer.subject.to_der().unwrap()),
                issuer_key_hash: sha1(key),
                serial_number: SerialNumber::new(&[self.serial]).unwrap(),
            },
            cert_status: self.status,
            this_update: ocsp_time("2025-12-31T00:00:00Z"),
            next_update: self.until.map(ocsp_time),
            single_extensions: self.invalid_from.map(|date| vec![extension(date)]),
        };
        let data = ResponseData {
            version: Version::V1,
            responder_id: ResponderId::ByName(issuer.subject),
            produced_at: ocsp_time("2025-12-31T00:00:00Z"),
            responses: vec![single],
            response_extensions: None,
        };
        let content = data.to_der().unwrap();
        let signature = match self.by {
            None => authority.sign(&content),
            Some((other, _)) => other.sign_bytes(&content),
        };
        let along = self.by.filter(|(_, is_along)| *is_along).map(|(other, _)| &other.chain()[0]);
        let response = BasicOcspResponse {
            tbs_response_data: data,
            signature_algorithm: AlgorithmIdentifierOwned {
                oid: rfc5912::ECDSA_WITH_SHA_256,
                parameters: None,
            },
            signature: BitString::from_bytes(&signature.unwrap()).unwrap(),
            certs: along.map(|certificate| vec![decoded(certificate)]),
        };
        OcspResponse::successful(response).unwrap().to_der().unwrap()
    }
}

struct World {
    authority: NotationAuthority,
    signer: NotationSigner,
}

impl World {
    fn create(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let authority = NotationAuthority::create(|_| {}).unwrap();
        let signer = authority.signer(change).unwrap();
        Self { authority, signer }
    }

    fn judge(
        &self,
        policy: &TrustPolicy,
        server: impl Fn(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Outcome, String> {
        let content = self.signer.sign(DIGEST, &json!({})).unwrap();
        self.judge_one(policy, content, server)
    }

    fn judge_one(
        &self,
        policy: &TrustPolicy,
        content: Vec<u8>,
        server: impl Fn(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Outcome, String> {
        let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
        judge_asking(policy, &self.signer.trusted_pem(), &signature, NOW.parse().unwrap(), server)
    }
}

fn asked() -> World {
    World::create(|params| params.custom_extensions.push(ocsp_servers(&[SERVER])))
}

#[test]
fn what_a_server_is_asked() {
    let world = asked();
    let asked = std::cell::RefCell::new(Vec::new());
    let outcome = world.judge(&strict(), |url| {
        asked.borrow_mut().push(url.to_owned());
        Ok(Answer::default().encode(&world.authority))
    });
    assert_eq!(outcome, Ok(good()));
    let asked = asked.into_inner();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let encoded = asked[0].strip_prefix(&format!("{SERVER}/")).unwrap();
    let request = STANDARD.decode(percent_decode_str(encoded).decode_utf8().unwrap().as_bytes()).unwrap();
    let request = OcspRequest::from_der(&request).unwrap().tbs_request.request_list;
    let [request] = request.as_slice() else { panic!("{request:?}") };
    let issuer = decoded(world.authority.certificate()).tbs_certificate;
    let name = Sha1::digest(issuer.subject.to_der().unwrap());
    assert_eq!(request.req_cert.issuer_name_hash.as_bytes(), name.as_slice());
    assert_eq!(request.req_cert.serial_number.as_bytes(), [7]);
}

/// Results of each level for each answer of the servers.
#[rstest]
#[case::good(Answer::default(), None)]
#[case::revoked(Answer { status: revoked(), ..Answer::default() }, Some("C=US\" is revoked"))]
#[case::unknown(Answer { status: CertStatus::unknown(), ..Answer::default() },
    Some("C=US\" revocation status is unknown: OCSP server http://ocsp.test/status: certificate has unknown status"))]
#[case::old(Answer { until: Some("2025-12-31T23:59:59Z"), ..Answer::default() }, Some("response has expired"))]
#[case::endless(Answer { until: None, ..Answer::default() }, Some("response has expired, or does not say when"))]
#[case::other(Answer { serial: 8, ..Answer::default() }, Some("response is not about the certificate"))]
#[case::critical(Answer { invalid_from: Some("2021-01-01T00:00:00Z"), is_critical: true, ..Answer::default() },
    Some("critical extension"))]
#[case::revoked_since(Answer { status: revoked(), invalid_from: Some("2025-01-01T00:00:00Z"), ..Answer::default() },
    Some("is revoked"))]
fn what_servers_say(#[case] answer: Answer<'_>, #[case] expected: Option<&str>) {
    let world = asked();
    for level in ["strict", "permissive", "audit"] {
        let policy = policy(json!({"level": level}), &["*"]);
        let found = world.judge(&policy, |_| Ok(answer.encode(&world.authority)));
        match (expected, level) {
            (None, _) => assert_eq!(found, Ok(good())),
            (Some(part), "strict") => {
                let error = found.unwrap_err();
                assert!(error.contains(part), "{error}");
            }
            (Some(part), _) => {
                let outcome = found.unwrap();
                assert!(outcome.is_authentic && outcome.logged[0].contains(part), "{outcome:?}");
            }
        }
    }
}

#[test]
fn who_may_answer() {
    let world = asked();
    let responder = |usage: Vec<ExtendedKeyUsagePurpose>, years: (i32, i32)| {
        let signer = world.authority.signer(|params| {
            params.extended_key_usages = usage;
            params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
            params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        });
        signer.unwrap()
    };
    let answering = |by: &NotationSigner, is_along: bool| {
        let answer = Answer { by: Some((by, is_along)), ..Answer::default() }.encode(&world.authority);
        world.judge(&strict(), |_| Ok(answer.clone()))
    };
    let ocsp = || vec![ExtendedKeyUsagePurpose::OcspSigning];
    let good_one = responder(ocsp(), (2020, 2030));
    assert_eq!(answering(&good_one, true), Ok(good()));
    let stranger = NotationAuthority::create(|_| {}).unwrap();
    let strange = stranger.signer(|params| params.extended_key_usages = ocsp()).unwrap();
    for (who, by, is_along) in [
        ("one who does not say who it is", &good_one, false),
        ("one of another authority", &strange, true),
        (
            "one who may sign artifacts",
            &responder(vec![ExtendedKeyUsagePurpose::CodeSigning], (2020, 2030)),
            true,
        ),
        ("the signer, of whom it is asked", &world.signer, true),
        ("one whose time is over", &responder(ocsp(), (2020, 2025)), true),
        ("one whose time is to come", &responder(ocsp(), (2027, 2030)), true),
    ] {
        let error = answering(by, is_along).unwrap_err();
        assert!(
            error.contains("the response is signed neither by the certificate's issuer nor by"),
            "{who}: {error}"
        );
    }
}

#[test]
fn answers_that_are_none() {
    let world = asked();
    let good_one = Answer::default().encode(&world.authority);
    let judge = |answer: &[u8]| world.judge(&strict(), |_| Ok(answer.to_vec()));
    assert_eq!(judge(&good_one), Ok(good()));
    for at in 0..good_one.len() {
        let mut damaged = good_one.clone();
        damaged[at] ^= 1;
        assert!(judge(&damaged).is_err(), "byte {at} of {good_one:02x?}");
    }
    for end in 0..good_one.len() {
        judge(&good_one[..end]).unwrap_err();
    }
    let refused = OcspResponse::try_later().to_der().unwrap();
    assert!(judge(&refused).unwrap_err().contains("server refuses to answer: TryLater"));
}

/// A signer whose authority vouches for the time signed in June 2021.
#[rstest]
#[case("2021-06-02T00:00:00Z", true)]
#[case("2021-06-01T00:00:00Z", false)]
#[case("2021-05-31T00:00:00Z", false)]
fn signed_before_the_key_was_lost(#[case] invalid_from: &str, #[case] is_good: bool) {
    let world = asked();
    let more = json!({
        "crit": ["io.cncf.notary.signingScheme", "io.cncf.notary.authenticSigningTime"],
        "io.cncf.notary.signingScheme": "notary.x509.signingAuthority",
        "io.cncf.notary.authenticSigningTime": "2021-06-01T00:00:00Z",
        "io.cncf.notary.signingTime": null,
    });
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["signingAuthority:test"], "trustedIdentities": ["*"],
    }]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    let answer = Answer { status: revoked(), invalid_from: Some(invalid_from), ..Answer::default() };
    let content = world.signer.sign(DIGEST, &more).unwrap();
    let found = world.judge_one(&policy, content, |_| Ok(answer.encode(&world.authority)));
    assert_eq!(found.is_ok(), is_good, "{found:?}");
}

#[test]
fn the_next_server_and_then_the_list() {
    let other = "http://other.test";
    let world = World::create(|params| {
        params.custom_extensions.push(ocsp_servers(&["ldap://a.test", SERVER, other]));
        params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![LIST.into()] }];
    });
    let answer = |status| Answer { status, ..Answer::default() }.encode(&world.authority);
    let gone = || Err("gone".to_owned());
    let list = |revoked| Ok(super::crl::list(&world.authority, revoked));
    // Answers of the first and the second server and of the list, and the standing that follows.
    let cases = [
        (Ok(answer(CertStatus::good())), gone(), gone(), None),
        (gone(), Ok(answer(CertStatus::good())), gone(), None),
        (gone(), Ok(answer(revoked())), list(&[]), Some("is revoked")),
        (gone(), gone(), list(&[]), None),
        (gone(), gone(), list(&[7]), Some("is revoked")),
        (Ok(answer(CertStatus::unknown())), Ok(answer(revoked())), list(&[]), None),
        (gone(), gone(), gone(), Some("OCSP server http://other.test: gone; CRL http://crl.test/list: gone")),
    ];
    for (number, (first, second, third, expected)) in cases.into_iter().enumerate() {
        let found = world.judge(&strict(), |url| match url {
            LIST => third.clone(),
            _ if url.starts_with(other) => second.clone(),
            _ => first.clone(),
        });
        let error = found.err();
        let is_as_expected = match (&error, expected) {
            (Some(error), Some(part)) => error.contains(part),
            (None, None) => true,
            _ => false,
        };
        assert!(is_as_expected, "case {number}: {error:?}");
    }
}

#[test]
fn strangers_are_not_asked_after() {
    let world = asked();
    let trusted = NotationAuthority::create(|_| {}).unwrap();
    let content = world.signer.sign(DIGEST, &json!({})).unwrap();
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    let judge = |policy: &TrustPolicy| {
        let nobody = |url: &str| panic!("{url} is asked");
        judge_asking(policy, &trusted.certificate().pem(), &signature, NOW.parse().unwrap(), nobody)
    };
    let outcome = judge(&policy(json!({"level": "audit"}), &["*"])).unwrap();
    assert_eq!(outcome.logged[1], "revocation: not asked for, since nobody knows who signed");
    let enforced = policy(json!({"level": "audit", "override": {"revocation": "enforce"}}), &["*"]);
    assert_eq!(judge(&enforced).unwrap_err(), "not asked for, since nobody knows who signed");
    judge(&strict()).unwrap_err();
    let skipped = policy(json!({"level": "strict", "override": {"revocation": "skip"}}), &["*"]);
    let nobody = |url: &str| panic!("{url} is asked");
    assert_eq!(world.judge(&skipped, nobody), Ok(good()));
}
