//! Notation's signatures, made by the test kit from the documented format.

mod chains;
mod crl;
mod ocsp;
mod openssl;
mod timestamp;
mod token;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::NotationCertificate::{Expired, ForServers, Good, Locatable, Ocsp, Revocable, SelfSigned};
use weir_testkit::{NotationCertificate, NotationSigner};
use weir_verify::notation::{
    Answers, COSE_TYPE, Certificates, JWS_TYPE, Judgement, Outcome, SignatureEnvelope, TrustPolicy,
};

use crate::secret;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const REPOSITORY: &str = "registry.example.com/app";
/// When it is judged.
const NOW: &str = "2026-01-01T00:00:00Z";
/// Nothing has to be asked more often: servers, a list, one that adds to it, for signers and for timestamps.
const MAX_ROUNDS: usize = 12;
const UNTRUSTED: &str = "signature is not produced by a trusted signer";

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
    let certificates = Certificates::from_secret(&secret(&[("ca.crt", trusted)])).unwrap().unwrap();
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
    assert!(refused(other).starts_with("payload in the signature envelope is for"));
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
    assert_eq!(error, format!("payload in the signature envelope is for '{other}', not for '{DIGEST}'"));
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
#[case::expired(Expired, json!({}), false, "is expired at", ["refused", "told", "told"])]
#[case::old(Good, json!({"io.cncf.notary.expiry": "2022-01-01T00:00:00Z"}), false, "digital signature has expired",
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

#[test]
fn an_authority_that_vouches_for_the_time_makes_up_for_an_expired_certificate() {
    let signer = NotationSigner::create(Expired).unwrap();
    let more = json!({
        "crit": ["io.cncf.notary.signingScheme", "io.cncf.notary.authenticSigningTime"],
        "io.cncf.notary.signingScheme": "notary.x509.signingAuthority",
        "io.cncf.notary.authenticSigningTime": "2021-06-01T00:00:00Z",
        "io.cncf.notary.signingTime": null,
    });
    let signature = signer.sign(DIGEST, &more).unwrap();
    let error = judge(&strict(), &signer.trusted_pem(), signature.clone()).unwrap_err();
    assert_eq!(error, "no trusted certificates are found to verify authenticity", "a store of another kind");
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": [REPOSITORY], "signatureVerification": {"level": "strict"},
        "trustStores": ["signingAuthority:test"], "trustedIdentities": ["*"],
    }]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    assert_eq!(judge(&policy, &signer.trusted_pem(), signature), Ok(good()));
}

#[rstest]
#[case(&["x509.subject: C=US, ST=WA, O=weir"], true)]
#[case(&["x509.subject: C=US, S=WA, O=weir, CN=signer"], true)]
#[case(&["x509.subject: C=DE, ST=BE, O=weir", "x509.subject: O=weir,ST=WA,C=US"], true)]
#[case(&["x509.subject: C=US, ST=WA, O=weir\\, inc"], false)]
#[case(&["x509.subject: C=US, ST=WA, O=weir, CN=other"], false)]
fn identities(#[case] trusted: &[&str], #[case] is_good: bool) {
    let signer = NotationSigner::create(Good).unwrap();
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    let found = judge(&policy(json!({"level": "strict"}), trusted), &signer.trusted_pem(), signature);
    assert_eq!(found.is_ok(), is_good, "{found:?}");
}

#[test]
fn exceptions_of_a_level() {
    let signer = NotationSigner::create(Revocable).unwrap();
    let lenient = policy(json!({"level": "strict", "override": {"revocation": "skip"}}), &["*"]);
    let signature = signer.sign(DIGEST, &json!({})).unwrap();
    assert_eq!(judge(&lenient, &signer.trusted_pem(), signature), Ok(good()));
}

fn statement(more: Value) -> Value {
    let mut statement = json!({
        "name": "a", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:x"], "trustedIdentities": ["*"],
    });
    statement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    statement
}

#[rstest]
#[case(json!({}), "trust policy document has empty version, version must be specified")]
#[case(json!({"version": "2.0"}), "trust policy document uses unsupported version \"2.0\"")]
#[case(json!({"version": "1.0"}), "trust policy document can not have zero trust policy statements")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"name": ""}))]}),
    "a trust policy statement is missing a name, every statement requires a name")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({})), statement(json!({"registryScopes": ["r/a"]}))]}),
    "multiple trust policy statements use the same name \"a\", statement names must be unique")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({})), statement(json!({"name": "b"}))]}),
    "registry scope \"*\" is present in multiple trust policy statements, one registry scope value can only be associated \
     with one statement")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"registryScopes": []}))]}),
    "trust policy statement \"a\" has zero registry scopes, it must specify registry scopes with at least one value")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"registryScopes": ["*", "r/a"]}))]}),
    "trust policy statement \"a\" uses wildcard registry scope '*', a wildcard scope cannot be used in conjunction with \
     other scope values")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification": {"level": "lax"}}))]}),
    "trust policy statement \"a\" has invalid signatureVerification: invalid signature verification level \"lax\"")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": []}))]}),
    "trust policy statement \"a\" is either missing trust stores or trusted identities, both must be specified")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustStores": ["x:y"]}))]}),
    "trust policy statement \"a\" uses an unsupported trust store \"x:y\"")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"trustedIdentities": ["x509.subject: C=US"]}))]}),
    "trust policy statement \"a\" has trusted identity \"x509.subject: C=US\" without the mandatory attribute 'ST'")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "override": {"authenticity": "skip"}}}))]}),
    "trust policy statement \"a\" has invalid signatureVerification: \"authenticity\" verification can not be skipped in \
     custom signature verification")]
#[case(json!({"version": "1.0", "trustPolicies": [statement(json!({"signatureVerification":
    {"level": "strict", "verifyTimestamp": "never"}}))]}),
    "trust policy statement \"a\" has invalid signatureVerification: verifyTimestamp must be \"always\" or \
     \"afterCertExpiry\", but got \"never\"")]
fn policies_that_break_a_rule(#[case] policy: Value, #[case] message: &str) {
    assert_eq!(TrustPolicy::parse(policy.to_string().as_bytes()).unwrap_err().to_string(), message);
}

#[test]
fn statements_are_found_by_repository() {
    let policy = json!({"version": "1.0", "trustPolicies": [
        statement(json!({"registryScopes": [REPOSITORY]})),
        statement(json!({"name": "b", "registryScopes": ["r/other"], "signatureVerification": {"level": "skip"}})),
    ]});
    let policy = TrustPolicy::parse(policy.to_string().as_bytes()).unwrap();
    assert_eq!(policy.warnings.len(), 1, "{:?}", policy.warnings);
    assert!(!policy.statement(REPOSITORY, "").unwrap().skips());
    assert!(policy.statement("r/other", "").unwrap().skips());
    let error = policy.statement("r/unknown", "r/unknown@sha256:a").unwrap_err().to_string();
    assert!(
        error.starts_with("artifact \"r/unknown@sha256:a\" has no applicable oci trust policy statement.")
    );
    let error = TrustPolicy::parse(b"junk").unwrap_err().to_string();
    assert!(error.starts_with("error occurred while parsing trustpolicy.json: "), "{error}");
}

#[test]
fn certificates_of_secrets() {
    assert_eq!(Certificates::from_secret(&secret(&[("trustpolicy.json", "{}")])), Ok(None));
    let error = Certificates::from_secret(&secret(&[("a.pem", "junk")])).unwrap_err();
    assert!(error.starts_with("failed to parse certificate 'a.pem': "), "{error}");
}
