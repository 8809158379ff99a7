//! Signed headers and payloads that the Notary Project's specification forbids. No level of a policy lets them pass.

use ciborium::Value as Cbor;
use der::asn1::UintRef;
use der::{Decode, Sequence};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::NotationCertificate::Good;
use weir_testkit::NotationSigner;
use weir_verify::notation::COSE_TYPE;

use super::{DIGEST, good, judge, judge_as, policy, strict};

const SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";
const TIME: &str = "io.cncf.notary.signingTime";
const VOUCHED_TIME: &str = "io.cncf.notary.authenticSigningTime";
const PLUGIN: &str = "io.cncf.notary.verificationPlugin";

fn unmarked(name: &str) -> String {
    format!("required header \"{name}\" is not marked as critical")
}

fn absent(name: &str) -> String {
    format!("header \"{name}\" is marked critical but not present")
}

#[rstest]
#[case(json!({"crit": []}), unmarked(SCHEME))]
#[case(json!({"crit": [EXPIRY], EXPIRY: "2030-01-01T00:00:00Z"}), unmarked(SCHEME))]
#[case(json!({EXPIRY: "2030-01-01T00:00:00Z"}), unmarked(EXPIRY))]
#[case(json!({SCHEME: "notary.x509.signingAuthority", VOUCHED_TIME: "2021-06-01T00:00:00Z", TIME: null}),
    unmarked(VOUCHED_TIME))]
#[case(json!({"crit": [SCHEME, EXPIRY]}), absent(EXPIRY))]
#[case(json!({"crit": [SCHEME, VOUCHED_TIME]}), absent(VOUCHED_TIME))]
#[case(json!({PLUGIN: "com.example.plugin"}), "verification by a plugin is not supported".to_owned())]
#[case(json!({"crit": [SCHEME, EXPIRY], EXPIRY: "2021-06-01T00:00:00Z"}),
    "expiry cannot be equal or before the signing time".to_owned())]
#[case(json!({"crit": [SCHEME, EXPIRY], EXPIRY: "2021-05-01T00:00:00Z"}),
    "expiry cannot be equal or before the signing time".to_owned())]
fn headers_of_json(#[case] more: Value, #[case] message: String) {
    let signer = NotationSigner::create(Good).unwrap();
    for level in ["strict", "permissive", "audit"] {
        let policy = policy(json!({"level": level}), &["*"]);
        let found = judge(&policy, &signer.trusted_pem(), signer.sign(DIGEST, &more).unwrap());
        assert_eq!(found, Err(message.clone()), "{level}");
    }
}

#[test]
fn an_expiry_to_come() {
    let signer = NotationSigner::create(Good).unwrap();
    let more = json!({"crit": [SCHEME, EXPIRY], EXPIRY: "2030-01-01T00:00:00Z"});
    let found = judge(&strict(), &signer.trusted_pem(), signer.sign(DIGEST, &more).unwrap());
    assert_eq!(found, Ok(good()));
}

#[rstest]
#[case(&[], &[], unmarked(SCHEME))]
#[case(&[SCHEME, EXPIRY], &[], absent(EXPIRY))]
#[case(&[SCHEME], &[(EXPIRY, Cbor::Tag(1, Box::new(Cbor::from(1_900_000_000))))], unmarked(EXPIRY))]
#[case(&[SCHEME, EXPIRY], &[(EXPIRY, Cbor::Tag(1, Box::new(Cbor::from(1_622_505_600))))],
    "expiry cannot be equal or before the signing time".to_owned())]
#[case(&[SCHEME], &[(PLUGIN, Cbor::Text("com.example.plugin".into()))],
    "verification by a plugin is not supported".to_owned())]
fn headers_of_cbor(#[case] critical: &[&str], #[case] more: &[(&str, Cbor)], #[case] message: String) {
    let signer = NotationSigner::create(Good).unwrap();
    let envelope = signer.sign_cose(DIGEST, critical).unwrap();
    let content = with_headers(&signer, &envelope, more);
    let policy = policy(json!({"level": "audit"}), &["*"]);
    assert_eq!(judge_as(COSE_TYPE, &policy, &signer.trusted_pem(), content), Err(message));
}

/// The two numbers of a signature on a curve.
#[derive(Sequence)]
struct Numbers<'a> {
    r: UintRef<'a>,
    s: UintRef<'a>,
}

/// An envelope of CBOR with more protected headers, signed anew.
fn with_headers(signer: &NotationSigner, envelope: &[u8], more: &[(&str, Cbor)]) -> Vec<u8> {
    let mut envelope: Cbor = ciborium::from_reader(envelope).unwrap();
    let Cbor::Tag(_, parts) = &mut envelope else { panic!("{envelope:?}") };
    let parts = parts.as_array_mut().unwrap();
    let mut headers: Cbor = ciborium::from_reader(parts[0].as_bytes().unwrap().as_slice()).unwrap();
    for (name, value) in more {
        headers.as_map_mut().unwrap().push((Cbor::Text((*name).to_owned()), value.clone()));
    }
    parts[0] = Cbor::Bytes(encoded(&headers));
    let signed = vec![
        Cbor::Text("Signature1".to_owned()),
        parts[0].clone(),
        Cbor::Bytes(Vec::new()),
        parts[2].clone(),
    ];
    let signature = signer.sign_bytes(&encoded(&Cbor::Array(signed))).unwrap();
    let Numbers { r, s } = Numbers::from_der(&signature).unwrap();
    let padded =
        |number: UintRef<'_>| [vec![0; 32 - number.as_bytes().len()], number.as_bytes().to_vec()].concat();
    parts[3] = Cbor::Bytes([padded(r), padded(s)].concat());
    encoded(&envelope)
}

fn encoded(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}
