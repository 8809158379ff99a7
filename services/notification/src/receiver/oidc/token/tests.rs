//! Tokens, good and bad, signed with a key made here.

use std::sync::LazyLock;

use jsonwebtoken::{EncodingKey, Header, encode};
use rstest::rstest;
use serde_json::json;

use super::*;

const NOW: i64 = 1_700_000_000;
static KEY: LazyLock<EncodingKey> = LazyLock::new(|| {
    let pair = rcgen::KeyPair::generate().unwrap();
    EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap()
});

fn jwk(id: &str) -> Jwk {
    let key = KEY.clone();
    let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
    jwk.common.key_id = Some(id.to_owned());
    jwk
}

fn token(algorithm: Algorithm, claims: &Value) -> String {
    let mut header = Header::new(algorithm);
    header.kid = Some("one".into());
    let key = match algorithm {
        Algorithm::HS256 => EncodingKey::from_secret(b"secret"),
        _ => KEY.clone(),
    };
    encode(&header, claims, &key).unwrap()
}

fn claims() -> Value {
    json!({"iss": "https://issuer.example", "aud": ["other", "weir"], "exp": NOW + 60, "nbf": NOW - 60, "sub": "ci"})
}

fn verdict(token: &str, keys: &[Jwk]) -> Result<Value, Fault> {
    let now = Timestamp::from_second(NOW).unwrap();
    let demand = Demand { audience: "weir", issuers: &["https://issuer.example"], now };
    verify(token, keys, &[Algorithm::ES256], demand)
}

#[test]
fn a_good_token_gives_its_claims() {
    let claims = claims();
    assert_eq!(verdict(&token(Algorithm::ES256, &claims), &[jwk("other"), jwk("one")]), Ok(claims));
}

#[rstest]
#[case::audience("aud", json!("someone else"))]
#[case::no_audience("aud", Value::Null)]
#[case::issuer("iss", json!("https://evil.example"))]
#[case::expired("exp", json!(NOW))]
#[case::no_expiry("exp", Value::Null)]
#[case::not_yet("nbf", json!(NOW + 301))]
#[case::no_time("nbf", json!("x"))]
fn claims_that_do_not_fit_are_refused(#[case] name: &str, #[case] value: Value) {
    let mut claims = claims();
    claims[name] = value;
    assert!(verdict(&token(Algorithm::ES256, &claims), &[jwk("one")]).is_err());
}

#[test]
fn a_clock_that_is_a_little_ahead_is_fine() {
    let mut claims = claims();
    claims["nbf"] = json!(NOW + 299);
    assert!(verdict(&token(Algorithm::ES256, &claims), &[jwk("one")]).is_ok());
}

#[test]
fn security_shared_secrets_none_and_unknown_keys_are_refused() {
    let forged = token(Algorithm::HS256, &claims());
    assert_eq!(verdict(&forged, &[jwk("one")]), Err(Fault::Algorithm("HS256".into())));
    let good = token(Algorithm::ES256, &claims());
    assert_eq!(verdict(&good, &[jwk("two")]), Err(Fault::UnknownKey));
    let (head, _) = good.rsplit_once('.').unwrap();
    assert!(verdict(&format!("{head}."), &[jwk("one")]).is_err());
    assert_eq!(verdict("a.b", &[jwk("one")]), Err(Fault::Form));
    assert_eq!(admitted(&["HS256".into(), "none".into()]), [Algorithm::RS256]);
    assert_eq!(admitted(&[]), [Algorithm::RS256]);
    assert_eq!(admitted(&["ES256".into(), "HS256".into()]), [Algorithm::ES256]);
}

#[rstest]
#[case("ES512", Fault::Algorithm("ES512".into()))]
#[case("none", Fault::Algorithm("none".into()))]
#[case("ES\n512", Fault::Form)]
#[case(&"A".repeat(25), Fault::Form)]
fn algorithms_that_are_not_known_are_named(#[case] algorithm: &str, #[case] fault: Fault) {
    let good = token(Algorithm::ES256, &claims());
    let (_, rest) = good.split_once('.').unwrap();
    let header = URL_SAFE_NO_PAD.encode(json!({"alg": algorithm, "kid": "one"}).to_string());
    assert_eq!(verdict(&format!("{header}.{rest}"), &[jwk("one")]), Err(fault));
}

/// RFC 7515, 4.1.11: as with Flux.
#[test]
fn security_tokens_with_extensions_are_refused() {
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("one".into());
    header.crit = Some(vec!["b64".into()]);
    let token = encode(&header, &claims(), &KEY).unwrap();
    assert_eq!(verdict(&token, &[jwk("one")]), Err(Fault::Extensions("b64".into())));
}

#[test]
fn the_issuer_is_read_before_anything_is_verified() {
    assert_eq!(issuer_of(&token(Algorithm::ES256, &claims())), Ok("https://issuer.example".to_owned()));
    assert_eq!(issuer_of("nonsense"), Err(Fault::Form));
    assert_eq!(issuer_of(&token(Algorithm::ES256, &json!({"exp": 1}))), Err(Fault::NoIssuer));
}
