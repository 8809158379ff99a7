//! Notation's signatures, made by the test kit from the documented format.

mod chains;
mod crl;
mod headers;
mod ocsp;
mod openssl;
mod policy;
mod subject;
mod timestamp;
pub(crate) mod token;

use std::collections::BTreeMap;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::NotationCertificate::{Expired, ForServers, Good, Locatable, Ocsp, Revocable, SelfSigned};
use weir_testkit::{NotationCertificate, NotationSigner};
use weir_verify::notation::{
    Answers, COSE_TYPE, Certificates, JWS_TYPE, Judgement, Outcome, SignatureEnvelope, TrustPolicy,
};

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const REPOSITORY: &str = "registry.example.com/app";
/// When it is judged.
const NOW: &str = "2026-01-01T00:00:00Z";
/// Nothing has to be asked more often: servers, a list, one that adds to it, for signers and for timestamps.
const MAX_ROUNDS: usize = 12;
const EXPIRED: &str = "verification time is after certificate \"CN=signer,ST=WA,O=weir,C=US\" validity period, it was expired at \
                       \"Sat, 01 Jan 2022 00:00:00 +0000\"";
const UNTRUSTED: &str = "the signature's certificate chain does not contain any trusted certificate";

fn policy(verification: Value, identities: &[&str]) -> TrustPolicy {
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "signatureVerification": verification,
        "trustStores": ["ca:test"], "trustedIdentities": identities,
    }]});
    TrustPolicy::parse(policy.to_string().as_bytes()).unwrap()
}

fn judge(policy: &TrustPolicy, trusted: &str, content: Vec<u8>) -> Result<Outcome, String> {
    judge_as(JWS_TYPE, policy, trusted, content)
}

fn judge_as(kind: &str, policy: &TrustPolicy, trusted: &str, content: Vec<u8>) -> Result<Outcome, String> {
    let signature = SignatureEnvelope { media_type: kind.into(), content };
    let now: Timestamp = NOW.parse().unwrap();
    judge_asking(policy, trusted, &signature, now, |_| Err("connection refused".into()))
}

/// Judges with the answers that `server` gives.
fn judge_asking(
    policy: &TrustPolicy,
    trusted: &str,
    signature: &SignatureEnvelope,
    now: Timestamp,
    server: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Outcome, String> {
    let certificates = Certificates::from_secret(&one_each(trusted)).unwrap().unwrap();
    let statement = policy.statement(REPOSITORY, "").unwrap();
    let mut answers = Answers::default();
    for _ in 0..MAX_ROUNDS {
        let questions = match statement.verify(&certificates, signature, DIGEST, now, &answers)? {
            Judgement::Decided(outcome) => return Ok(outcome),
            Judgement::Lacking(questions) => questions,
        };
        assert!(!questions.is_empty());
        for question in questions {
            let answer = server(&question.url);
            answers.note(question, answer);
        }
    }
    panic!("asks without end");
}

/// A Secret with a key for each certificate of a PEM text.
fn one_each(pem: &str) -> BTreeMap<String, Vec<u8>> {
    let blocks = pem.split_inclusive("-----END CERTIFICATE-----").filter(|block| block.contains("BEGIN"));
    let entries = blocks.enumerate().map(|(at, block)| (format!("{at}.crt"), block.as_bytes().to_vec()));
    entries.collect()
}

fn good() -> Outcome {
    Outcome { is_authentic: true, logged: Vec::new() }
}

fn strict() -> TrustPolicy {
    policy(json!({"level": "strict"}), &["*"])
}

#[rstest]
#[case(Good)]
#[case(SelfSigned)]
#[case(Locatable)]
fn what_a_trusted_signer_signed(#[case] kind: NotationCertificate) {
    let signer = NotationSigner::create(kind).unwrap();
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    assert_eq!(judge(&strict(), &signer.trusted_pem(), signature.clone()), Ok(good()));
    assert_eq!(judge(&strict(), &signer.own_pem(), signature), Ok(good()), "the signer itself is trusted");
}

#[test]
fn the_same_in_cbor() {
    let signer = NotationSigner::create(Good).unwrap();
    let known = ["io.cncf.notary.signingScheme"];
    let good_one = signer.sign_cose(DIGEST, &known).unwrap();
    assert_eq!(judge_as(COSE_TYPE, &strict(), &signer.trusted_pem(), good_one.clone()), Ok(good()));
    for at in 0..good_one.len() {
        let mut damaged = good_one.clone();
        damaged[at] ^= 1;
        judge_as(COSE_TYPE, &strict(), &signer.trusted_pem(), damaged).unwrap_err();
    }
    let stranger = NotationSigner::create(Good).unwrap();
    let refused =
        |content: Vec<u8>| judge_as(COSE_TYPE, &strict(), &signer.trusted_pem(), content).unwrap_err();
    assert_eq!(refused(stranger.sign_cose(DIGEST, &known).unwrap()), UNTRUSTED);
    let plugin = signer.sign_cose(DIGEST, &["io.cncf.notary.verificationPlugin"]).unwrap();
    assert!(refused(plugin).contains("is not supported"));
    let other = signer.sign_cose(&DIGEST.replace('a', "b"), &known).unwrap();
    assert_eq!(refused(other), "content descriptor mismatch");
    let more = [good_one.as_slice(), b"more"].concat();
    assert_eq!(refused(more), "signature envelope is malformed: has bytes behind its end");
    assert!(refused(signer.sign(DIGEST, &json!({})).unwrap()).starts_with("signature envelope is malformed"));
}

#[test]
fn what_is_never_let_pass() {
    let (signer, stranger) = (NotationSigner::create(Good).unwrap(), NotationSigner::create(Good).unwrap());
    let audit = policy(json!({"level": "audit"}), &["*"]);
    let other = DIGEST.replace('a', "b");
    let trusted = signer.trusted_pem();
    let error = judge(&audit, &trusted, signer.sign(&other, &json!({})).unwrap()).unwrap_err();
    assert_eq!(error, "content descriptor mismatch");
    let good: Value = serde_json::from_slice(&signer.sign(DIGEST, &json!({})).unwrap()).unwrap();
    let theirs: Value = serde_json::from_slice(&stranger.sign(DIGEST, &json!({})).unwrap()).unwrap();
    for field in ["payload", "protected", "signature", "header"] {
        let mut mixed = good.clone();
        // A field that is equal in both is not mixed by taking it from the other.
        mixed[field] = if good[field] == theirs[field] { json!("e30") } else { theirs[field].clone() };
        judge(&audit, &trusted, mixed.to_string().into_bytes()).unwrap_err();
    }
    let says = |more: Value| judge(&audit, &trusted, signer.sign(DIGEST, &more).unwrap()).unwrap_err();
    assert_eq!(says(json!({"alg": "none"})), "signature algorithm \"none\" is not supported");
    assert_eq!(says(json!({"alg": "HS256"})), "signature algorithm \"HS256\" is not supported");
    assert_eq!(says(json!({"alg": "ES384"})), "signature is invalid");
    assert_eq!(says(json!({"cty": "text/plain"})), "payload of content type \"text/plain\" is not supported");
    let critical = json!({"crit": ["io.cncf.notary.verificationPlugin"]});
    assert!(
        says(critical).contains("\"io.cncf.notary.verificationPlugin\" of the signature is not supported")
    );
    assert!(says(json!({"io.cncf.notary.signingScheme": "x"})).contains("malformed"));
    assert!(judge(&audit, &trusted, b"junk".to_vec()).unwrap_err().contains("malformed"));
}

/// Results of each level for each fault.
#[rstest]
#[case::stranger(Good, json!({}), true, UNTRUSTED, ["refused", "refused", "unauthentic"])]
#[case::servers(ForServers, json!({}), false, "the extended key usage of certificate", ["refused", "refused", "refused"])]
#[case::expired(Expired, json!({}), false, EXPIRED, ["refused", "told", "told"])]
#[case::old(Good, json!({"io.cncf.notary.expiry": "2022-01-01T00:00:00Z",
    "crit": ["io.cncf.notary.signingScheme", "io.cncf.notary.expiry"]}), false, "digital signature has expired on \"Sat, 01 Jan 2022 00:00:00 +0000\"",
    ["refused", "told", "told"])]
#[case::revocable(Revocable, json!({}), false, "revocation status is unknown: CRL http://crl.test/list: connection refused",
    ["refused", "told", "told"])]
#[case::ocsp(Ocsp, json!({}), false, "revocation status is unknown: OCSP server http://ca.test: connection refused",
    ["refused", "told", "told"])]
fn levels(
    #[case] kind: NotationCertificate,
    #[case] more: Value,
    #[case] is_stranger: bool,
    #[case] part: &str,
    #[case] expected: [&str; 3],
) {
    let signer = NotationSigner::create(kind).unwrap();
    let other = NotationSigner::create(Good).unwrap();
    let trusted = if is_stranger { other.trusted_pem() } else { signer.trusted_pem() };
    for (level, expected) in ["strict", "permissive", "audit"].into_iter().zip(expected) {
        let signature = signer.sign(DIGEST, &more).unwrap();
        let found = match judge(&policy(json!({"level": level}), &["*"]), &trusted, signature) {
            Err(error) => {
                assert!(error.contains(part), "{error}");
                "refused"
            }
            Ok(outcome) => {
                assert!(outcome.logged.iter().any(|line| line.contains(part)), "{outcome:?}");
                if outcome.is_authentic { "told" } else { "unauthentic" }
            }
        };
        assert_eq!(found, expected, "{level}");
    }
}

/// A status that changed with each try would be an event with each try.
#[test]
fn an_expired_certificate_is_told_in_the_same_words_at_any_time() {
    let signer = NotationSigner::create(Expired).unwrap();
    let content = signer.sign(DIGEST, &json!({})).unwrap();
    let signature = SignatureEnvelope { media_type: JWS_TYPE.into(), content };
    let says = |now: &str| {
        let now = now.parse().unwrap();
        judge_asking(&strict(), &signer.trusted_pem(), &signature, now, |_| Err(String::new())).unwrap_err()
    };
    assert_eq!(says(NOW), says("2026-01-02T00:00:00Z"));
}

#[test]
fn an_authority_that_vouches_for_the_time_makes_up_for_an_expired_certificate() {
    let signer = NotationSigner::create(Expired).unwrap();
    let signed_at = |time: &str| {
        let more = json!({
            "crit": ["io.cncf.notary.signingScheme", "io.cncf.notary.authenticSigningTime"],
            "io.cncf.notary.signingScheme": "notary.x509.signingAuthority",
            "io.cncf.notary.authenticSigningTime": time,
            "io.cncf.notary.signingTime": null,
        });
        signer.sign(DIGEST, &more).unwrap()
    };
    let signature = signed_at("2021-06-01T00:00:00Z");
    let error = judge(&strict(), &signer.trusted_pem(), signature.clone()).unwrap_err();
    assert_eq!(error, "no trusted certificates are found to verify authenticity", "a store of another kind");
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": [REPOSITORY], "signatureVerification": {"level": "strict"},
        "trustStores": ["signingAuthority:test"], "trustedIdentities": ["*"],
    }]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    assert_eq!(judge(&policy, &signer.trusted_pem(), signature), Ok(good()));
    let error = judge(&policy, &signer.own_pem(), signed_at("2022-06-01T00:00:00Z")).unwrap_err();
    assert_eq!(
        error,
        "certificate \"CN=signer,ST=WA,O=weir,C=US\" was not valid when the digital signature was produced at \"Wed, 01 Jun 2022 \
         00:00:00 +0000\""
    );
}

#[test]
fn exceptions_of_a_level() {
    let signer = NotationSigner::create(Revocable).unwrap();
    let lenient = policy(json!({"level": "strict", "override": {"revocation": "skip"}}), &["*"]);
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    assert_eq!(judge(&lenient, &signer.trusted_pem(), signature), Ok(good()));
}
