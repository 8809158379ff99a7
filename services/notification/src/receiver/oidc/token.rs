//! Checking one token against a set of keys. Pure.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;

/// Time that a provider's clock may be ahead of ours.
const NOT_BEFORE_LEEWAY: Duration = Duration::from_secs(300);

/// Bytes of an algorithm's name that is told; those that are registered have fewer.
const MAX_ALGORITHM: usize = 24;

/// The demands that a token has to meet.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// Must be among the `aud` claim.
    pub audience: &'a str,
    /// One of them must be the `iss` claim.
    pub issuers: &'a [&'a str],
    /// The time.
    pub now: Timestamp,
}

/// Reasons not to trust a token.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Fault {
    /// Not of the form `a.b.c` with JSON inside.
    #[error("token is not a JWT")]
    Form,
    /// No `iss` claim.
    #[error("token is missing the 'iss' claim")]
    NoIssuer,
    /// Signed in a way that is not admitted.
    #[error("token is signed with the algorithm {0}, which is not admitted")]
    Algorithm(String),
    /// Has extensions that change what the token means, and whoever does not know them has to refuse it (RFC 7515, 4.1.11).
    #[error("token needs extensions that are not known: {0}")]
    Extensions(String),
    /// None of the keys has the token's id.
    #[error("no key of the issuer has signed the token")]
    UnknownKey,
    /// Signature, audience or issuer do not fit.
    #[error("{0}")]
    Invalid(String),
    /// Too late.
    #[error("token is expired")]
    Expired,
    /// Too early.
    #[error("token is not valid yet")]
    NotYet,
}

/// The issuer a token names; nothing is verified yet.
///
/// # Errors
/// When the text is no token, or names nobody.
pub fn issuer_of(token: &str) -> Result<String, Fault> {
    let claims: Value = jsonwebtoken::dangerous::insecure_decode_claims(token).map_err(|_| Fault::Form)?;
    let issuer = claims.get("iss").and_then(Value::as_str).filter(|issuer| !issuer.is_empty());
    issuer.map(str::to_owned).ok_or(Fault::NoIssuer)
}

/// Verifies signature and claims; returns all claims.
///
/// # Errors
/// The fault in the token, its signature or its claims.
pub fn verify(token: &str, keys: &[Jwk], admitted: &[Algorithm], demand: Demand<'_>) -> Result<Value, Fault> {
    let header =
        decode_header(token).map_err(|_| unknown_algorithm(token).map_or(Fault::Form, Fault::Algorithm))?;
    if !admitted.contains(&header.alg) {
        return Err(Fault::Algorithm(format!("{:?}", header.alg)));
    }
    if let Some(names) = &header.crit {
        return Err(Fault::Extensions(names.join(", ")));
    }
    let mut validation = Validation::new(header.alg);
    validation.set_audience(&[demand.audience]);
    validation.set_issuer(demand.issuers);
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    // Checked below, against the service's own clock.
    validation.validate_exp = false;
    let has_id = |key: &&Jwk| header.kid.is_none() || key.common.key_id == header.kid;
    let mut fault = Fault::UnknownKey;
    for jwk in keys.iter().filter(has_id) {
        let Ok(key) = DecodingKey::from_jwk(jwk) else { continue };
        if !key.family().algorithms().contains(&header.alg) {
            continue;
        }
        match decode::<Value>(token, &key, &validation) {
            Ok(decoded) => return check_times(decoded.claims, demand.now),
            Err(error) => fault = Fault::Invalid(error.to_string()),
        }
    }
    Err(fault)
}

/// Returns the algorithm that the header of a token names, when it is none that the library has, such as ES512.
fn unknown_algorithm(token: &str) -> Option<String> {
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next()?).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    let name = header.get("alg")?.as_str()?;
    let is_name = !name.is_empty()
        && name.len() <= MAX_ALGORITHM
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+'));
    (is_name && name.parse::<Algorithm>().is_err()).then(|| name.to_owned())
}

fn check_times(claims: Value, now: Timestamp) -> Result<Value, Fault> {
    let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
    let now = now.as_second() as f64;
    if seconds("exp").is_none_or(|expiry| expiry <= now) {
        return Err(Fault::Expired);
    }
    if claims.get("nbf").is_some_and(|start| !start.is_null() && !start.is_number()) {
        return Err(Fault::Invalid("the claim nbf is no number".to_owned()));
    }
    if seconds("nbf").is_some_and(|start| start > now + NOT_BEFORE_LEEWAY.as_secs_f64()) {
        return Err(Fault::NotYet);
    }
    Ok(claims)
}

/// Returns the algorithms to admit, given those that the provider advertises: never a shared secret, never none. Where none of them
/// can be admitted it is RS256, as each provider has it.
pub fn admitted(advertised: &[String]) -> Vec<Algorithm> {
    let parse = |name: &String| name.parse::<Algorithm>().ok();
    let asymmetric = |algorithm: &Algorithm| !AlgorithmFamily::Hmac.algorithms().contains(algorithm);
    let known: Vec<Algorithm> = advertised.iter().filter_map(parse).filter(asymmetric).collect();
    if known.is_empty() { vec![Algorithm::RS256] } else { known }
}

#[cfg(test)]
mod tests;
