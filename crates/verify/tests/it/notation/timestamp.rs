//! Signatures with expired certificates, and authorities that attest when they were made.

use ciborium::Value as Cbor;
use der::oid::db::rfc5911;
use rcgen::{
    BasicConstraints, CertificateParams, CrlDistributionPoint, CustomExtension, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::{NotationAuthority, NotationSigner};
use weir_verify::notation::{COSE_TYPE, JWS_TYPE, Outcome, SignatureEnvelope, TrustPolicy};

use super::token::{BASELINE, NAME, Token, idle, signature_of, stamped};
use super::{DIGEST, NOW, good, judge_asking};

const LIST: &str = "http://crl.test/list";

/// A signer whose certificate was valid in 2021 only, and a timestamping authority, of different authorities.
struct World {
    signer: NotationSigner,
    clock: NotationSigner,
    clocks: NotationAuthority,
}

/// One who may say the time.
fn clock(params: &mut CertificateParams) {
    params.extended_key_usages = Vec::new();
    params.custom_extensions.push(time_only(true));
}

/// The extended key usage of those who say the time; the test kit's library does not make it critical.
fn time_only(is_critical: bool) -> CustomExtension {
    let mut usage = CustomExtension::from_oid_content(
        &[2, 5, 29, 37],
        vec![0x30, 10, 0x06, 8, 0x2b, 6, 1, 5, 5, 7, 3, 8],
    );
    usage.set_criticality(is_critical);
    usage
}

impl World {
    fn create(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let signers = NotationAuthority::create(|_| {}).unwrap();
        let signer = signers.signer(|params| {
            params.not_before = date_time_ymd(2021, 1, 1);
            params.not_after = date_time_ymd(2022, 1, 1);
        });
        let clocks = NotationAuthority::create(|params| {
            params.distinguished_name.push(rcgen::DnType::CommonName, "time authority");
        });
        let clocks = clocks.unwrap();
        let clock = clocks.signer(|params| {
            clock(params);
            change(params);
        });
        Self { signer: signer.unwrap(), clock: clock.unwrap(), clocks }
    }

    fn trusted(&self) -> String {
        self.signer.trusted_pem() + &self.clock.trusted_pem()
    }

    fn judge(&self, policy: &TrustPolicy, token: &Token) -> Result<Outcome, String> {
        let envelope = self.signer.sign(DIGEST, &json!({})).unwrap();
        let token = token.encode(&signature_of(&envelope), &self.clock);
        judge(policy, &self.trusted(), stamped(&envelope, &token))
    }
}

fn judge(policy: &TrustPolicy, trusted: &str, content: Vec<u8>) -> Result<Outcome, String> {
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    let nobody = |url: &str| panic!("{url} is asked");
    judge_asking(policy, trusted, &signature, NOW.parse().unwrap(), nobody)
}

fn policy(verification: Value) -> TrustPolicy {
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": verification,
        "trustStores": ["ca:test", "tsa:clocks"], "trustedIdentities": ["*"],
    }]});
    TrustPolicy::parse(policy.to_string().as_bytes()).unwrap()
}

fn strict() -> TrustPolicy {
    policy(json!({"level": "strict"}))
}

#[rstest]
#[case::plain(Token::default())]
#[case::by_its_hash(Token { names_issuer: false, ..Token::default() })]
#[case::fractions(Token { time: "20210601000000.123456Z", ..Token::default() })]
#[case::inexact(Token { seconds: Some(3600), ..Token::default() })]
#[case::signed_in_time(Token { signing_time: Some("210601000000Z"), ..Token::default() })]
#[case::first_moment(Token { time: "20210101000000Z", ..Token::default() })]
#[case::last_moment(Token { time: "20220101000000Z", ..Token::default() })]
fn what_was_signed_in_time(#[case] token: Token) {
    let world = World::create(|_| {});
    assert_eq!(world.judge(&strict(), &token), Ok(good()));
    let after = policy(json!({"level": "strict", "verifyTimestamp": "afterCertExpiry"}));
    assert_eq!(world.judge(&after, &token), Ok(good()));
    let without = super::policy(json!({"level": "strict"}), &["*"]);
    assert!(
        world.judge(&without, &token).unwrap_err().contains("was expired at"),
        "without a store it is not read"
    );
}

/// Results of each level for each token.
#[rstest]
#[case::late(Token { time: "20220101000001Z", ..Token::default() }, "timestamp can be after certificate \"CN=signer,ST=WA,O=weir,C=US\" validity period, \
    it was expired at \"Sat, 01 Jan 2022 00:00:00 +0000\"")]
#[case::early(Token { time: "20201231235959Z", ..Token::default() }, "timestamp can be before certificate \"CN=signer,ST=WA,O=weir,C=US\" validity period, \
    it will be valid from \"Fri, 01 Jan 2021 00:00:00 +0000\"")]
#[case::perhaps_late(Token { time: "20211231235959Z", seconds: Some(2), ..Token::default() }, "timestamp can be after")]
#[case::perhaps_early(Token { time: "20210101000001Z", seconds: Some(2), ..Token::default() }, "timestamp can be before")]
#[case::by_its_policy(Token { time: "20220101000000Z", policy: BASELINE, ..Token::default() }, "timestamp can be after")]
#[case::no_time(Token { time: "yesterday", ..Token::default() }, "the time of the token cannot be read")]
#[case::another_zone(Token { time: "20210601000000+0100", ..Token::default() }, "the time of the token cannot be read")]
#[case::version(Token { version: 2, ..Token::default() }, "does not contain a timestamp of version 1")]
#[case::kind(Token { kind: rfc5911::ID_DATA, ..Token::default() }, "does not contain a timestamp of version 1")]
#[case::content(Token { content: Some(b"other"), ..Token::default() }, "about another content")]
#[case::nameless(Token { without: Some(NAME), ..Token::default() }, "no signed attribute 1.2.840.113549.1.9.16.2.47")]
#[case::typeless(Token { without: Some(rfc5911::ID_CONTENT_TYPE), ..Token::default() }, "no signed attribute")]
#[case::undigested(Token { without: Some(rfc5911::ID_MESSAGE_DIGEST), ..Token::default() }, "no signed attribute")]
#[case::signed_late(Token { signing_time: Some("410601000000Z"), ..Token::default() }, "signing time is outside")]
fn tokens_that_prove_nothing(#[case] token: Token, #[case] part: &str) {
    let world = World::create(|_| {});
    let error = world.judge(&strict(), &token).unwrap_err();
    assert!(error.contains(part), "{error}");
    let outcome = world.judge(&policy(json!({"level": "permissive"})), &token).unwrap();
    assert!(outcome.is_authentic, "{outcome:?}");
    assert!(
        outcome.logged[0].starts_with("authenticTimestamp: ") && outcome.logged[0].contains(part),
        "{outcome:?}"
    );
}

#[test]
fn what_has_no_token() {
    let world = World::create(|_| {});
    let fresh = NotationSigner::create(weir_testkit::NotationCertificate::Good).unwrap();
    let missing = "no timestamp countersignature was found in the signature envelope";
    let after = policy(json!({"level": "strict", "verifyTimestamp": "afterCertExpiry"}));
    let always = policy(json!({"level": "strict", "verifyTimestamp": "always"}));
    let judged = |policy: &TrustPolicy, signer: &NotationSigner| {
        judge(policy, &signer.trusted_pem(), signer.sign(DIGEST, &json!({})).unwrap())
    };
    assert_eq!(judged(&strict(), &world.signer).unwrap_err(), missing);
    assert_eq!(judged(&after, &world.signer).unwrap_err(), missing);
    assert_eq!(judged(&always, &fresh).unwrap_err(), missing);
    assert_eq!(judged(&after, &fresh), Ok(good()), "valid certificates need nobody who says the time");
}

#[test]
fn tokens_that_are_not_what_they_were() {
    let world = World::create(|_| {});
    let envelope = world.signer.sign(DIGEST, &json!({})).unwrap();
    let token = Token::default().encode(&signature_of(&envelope), &world.clock);
    let judged = |token: &[u8]| judge(&strict(), &world.trusted(), stamped(&envelope, token));
    assert_eq!(judged(&token), Ok(good()));
    // The parts without a signature: hints, and the certificate of the authority, which is in the store as well.
    let idle: Vec<_> = idle(&world.clock).into_iter().map(|part| place(&token, &part)).collect();
    for at in 0..token.len() {
        let mut damaged = token.clone();
        damaged[at] ^= 1;
        let does_not_matter = idle.iter().any(|range| range.contains(&at));
        assert!(judged(&damaged).is_err() || does_not_matter, "byte {at} does not matter");
    }
    for end in (0..token.len()).step_by(7) {
        judged(&token[..end]).unwrap_err();
    }
    judged(&[token.as_slice(), b"more"].concat()).unwrap_err();
    assert!(judged(&[0x30; 40_000]).unwrap_err().contains("token is larger than 32768 bytes"));
    let many = [&[0x31, 0x82, 0x01, 0x02][..], &[0x05, 0x00].repeat(129)].concat();
    assert!(judged(&many).unwrap_err().contains("more than 128 elements in one list, or"));
    let deep = (0..33).fold(vec![0x05, 0x00], |inner, _| {
        let length = u8::try_from(inner.len()).unwrap();
        [&[0x30, length][..], &inner].concat()
    });
    assert!(judged(&deep).unwrap_err().contains("or is nested deeper than 32 levels"));
    let other = Token::default().encode(b"another message", &world.clock);
    assert!(judged(&other).unwrap_err().contains("mismatched message"));
    let stranger = World::create(|_| {});
    let theirs = Token::default().encode(&signature_of(&envelope), &stranger.clock);
    let error = judged(&theirs).unwrap_err();
    assert!(error.contains("signing certificate does not lead to a trusted one"), "{error}");
}

fn place(all: &[u8], part: &[u8]) -> std::ops::Range<usize> {
    let start = all.windows(part.len()).position(|window| window == part).unwrap();
    start..start + part.len()
}

/// Certificates of those who say the time.
#[rstest]
#[case::signer(|params: &mut CertificateParams| {
    params.custom_extensions.clear();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
}, "does not lead to a trusted one")]
#[case::anything(|params: &mut CertificateParams| params.custom_extensions.clear(), "the extended key usage")]
#[case::not_critical(|params: &mut CertificateParams| params.custom_extensions = vec![time_only(false)],
    "the extended key usage")]
#[case::more(|params: &mut CertificateParams| {
    params.custom_extensions.clear();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::TimeStamping, ExtendedKeyUsagePurpose::CodeSigning];
}, "the extended key usage")]
#[case::no_usage(|params: &mut CertificateParams| params.key_usages.clear(), "has no key usage")]
#[case::ciphers(|params: &mut CertificateParams| params.key_usages.push(KeyUsagePurpose::KeyEncipherment),
    "the key usage of certificate")]
#[case::over(|params: &mut CertificateParams| params.not_after = date_time_ymd(2021, 5, 1), "does not lead to a trusted one")]
#[case::to_come(|params: &mut CertificateParams| params.not_before = date_time_ymd(2021, 7, 1),
    "does not lead to a trusted one")]
fn clocks_that_do_not_count(#[case] change: fn(&mut CertificateParams), #[case] part: &str) {
    let error = World::create(change).judge(&strict(), &Token::default()).unwrap_err();
    assert!(error.contains(part), "{error}");
}

#[test]
fn clocks_that_are_authorities() {
    let world = World::create(|_| {});
    let error = World::create(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    error.judge(&strict(), &Token::default()).unwrap_err();
    // A certificate that has expired by now was valid at the time of the timestamp.
    let over = World::create(|params| params.not_after = date_time_ymd(2021, 8, 1));
    assert_eq!(over.judge(&strict(), &Token::default()), Ok(good()));
    // One that is trusted itself, and made by itself.
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    clock(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let alone = World { clock: NotationSigner::new(key, vec![certificate]), ..world };
    assert_eq!(alone.judge(&strict(), &Token::default()), Ok(good()));
}

/// Returns true when those who say the time were taken back is asked too.
#[rstest]
#[case(&[], None)]
#[case(&[8], None)]
#[case(&[7], Some("timestamping certificate with subject \"CN=signer,ST=WA,O=weir,C=US\" is revoked"))]
fn clocks_that_were_taken_back(#[case] revoked: &[u8], #[case] expected: Option<&str>) {
    let world = World::create(|params| {
        params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![LIST.into()] }];
    });
    let envelope = world.signer.sign(DIGEST, &json!({})).unwrap();
    let token = Token::default().encode(&signature_of(&envelope), &world.clock);
    let content = stamped(&envelope, &token);
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    let list = super::crl::list(&world.clocks, revoked);
    let judged = |policy: &TrustPolicy, answer: Result<Vec<u8>, String>| {
        judge_asking(policy, &world.trusted(), &signature, NOW.parse().unwrap(), |url| {
            assert_eq!(url, LIST);
            answer.clone()
        })
    };
    assert_eq!(judged(&strict(), Ok(list.clone())).err().as_deref(), expected);
    // The override is about the revocation of signers, as with Flux.
    let skipped = policy(json!({"level": "strict", "override": {"revocation": "skip"}}));
    assert_eq!(judged(&skipped, Ok(list)).err().as_deref(), expected);
    let error = judged(&strict(), Err("gone".into())).unwrap_err();
    assert!(error.contains("revocation status is unknown: CRL http://crl.test/list: gone"), "{error}");
}

#[test]
fn the_same_in_cbor() {
    let world = World::create(|_| {});
    let envelope = world.signer.sign_cose(DIGEST, &["io.cncf.notary.signingScheme"]).unwrap();
    let judged = |change: fn(&mut Vec<u8>)| {
        let mut value: Cbor = ciborium::from_reader(envelope.as_slice()).unwrap();
        let Cbor::Tag(_, parts) = &mut value else { panic!("{value:?}") };
        let Cbor::Array(parts) = parts.as_mut() else { panic!("no parts") };
        let Cbor::Bytes(signature) = parts[3].clone() else { panic!("no signature") };
        let mut token = Token::default().encode(&signature, &world.clock);
        change(&mut token);
        let Cbor::Map(headers) = &mut parts[1] else { panic!("no headers") };
        headers.push((Cbor::Text("io.cncf.notary.timestampSignature".into()), Cbor::Bytes(token)));
        let mut content = Vec::new();
        ciborium::into_writer(&value, &mut content).unwrap();
        let signature = SignatureEnvelope { media_type: COSE_TYPE.into(), content };
        judge_asking(&strict(), &world.trusted(), &signature, NOW.parse().unwrap(), |_| Err("gone".into()))
    };
    assert_eq!(judged(|_| {}), Ok(good()));
    judged(|token| *token.last_mut().unwrap() ^= 1).unwrap_err();
    assert_eq!(
        judged(Vec::clear).unwrap_err(),
        "no timestamp countersignature was found in the signature envelope"
    );
}
