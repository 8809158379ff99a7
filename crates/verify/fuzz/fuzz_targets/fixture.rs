//! A signature by one whose certificate names a server and a list, and the certificate of its authority; nobody has the keys
//! any more.

use std::collections::BTreeMap;

use jiff::Timestamp;
use weir_verify::notation::{
    Answers, Certificates, JWS_TYPE, Judgement, Outcome, SignatureEnvelope, Statement, TrustPolicy,
};

pub const SIGNATURE: &[u8] = include_bytes!("../data/signature.json");
/// Prefix of the server's address; all others are lists.
#[allow(dead_code)] // timestamps are not asked for
pub const SERVER: &str = "http://ocsp.test";
const AUTHORITY: &[u8] = include_bytes!("../data/authority.pem");
const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub fn statement(stores: &str) -> Statement {
    let policy = format!(
        r#"{{"version":"1.0","trustPolicies":[{{"name":"a","registryScopes":["*"],
        "signatureVerification":{{"level":"strict"}},"trustStores":[{stores}],"trustedIdentities":["*"]}}]}}"#
    );
    let policy = TrustPolicy::parse(policy.as_bytes()).expect("a policy");
    policy.statement("r/a", "r/a").expect("a statement").clone()
}

/// Judges with what `server` answers.
pub fn judge(
    statement: &Statement,
    content: &[u8],
    server: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Outcome, String> {
    let secret = BTreeMap::from([("a.crt".to_owned(), AUTHORITY.to_vec())]);
    let certificates = Certificates::from_secret(&secret)?.expect("a certificate");
    let signature = SignatureEnvelope { media_type: JWS_TYPE.to_owned(), content: content.to_vec() };
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    let mut answers = Answers::default();
    loop {
        let questions = match statement.verify(&certificates, &signature, DIGEST, now, &answers)? {
            Judgement::Decided(outcome) => return Ok(outcome),
            Judgement::Lacking(questions) => questions,
        };
        for question in questions {
            let answer = server(&question.url);
            answers.note(question, answer);
        }
    }
}
