//! COSE envelopes: one signature (`COSE_Sign1`, RFC 9052) in CBOR.

use ciborium::Value;
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;

use super::envelope::{Protected, Scheme, Sealed};

/// The tag of an envelope with one signature.
const SIGN1: u64 = 18;
/// The tag of seconds since 1970.
const EPOCH: u64 = 1;
/// Values inside each other; an envelope has three.
const MAX_DEPTH: usize = 16;
/// Labels of headers.
const ALGORITHM: i64 = 1;
const CRITICAL: i64 = 2;
const CONTENT_TYPE: i64 = 3;
const CHAIN: i64 = 33;
/// Algorithms by their numbers, under the names that JSON has for them.
const ALGORITHMS: [(i64, &str); 6] =
    [(-7, "ES256"), (-35, "ES384"), (-36, "ES512"), (-37, "PS256"), (-38, "PS384"), (-39, "PS512")];

pub(super) fn read(bytes: &[u8]) -> Result<Sealed, String> {
    let Value::Tag(SIGN1, envelope) = decode(bytes)? else { return Err("is no COSE_Sign1".to_owned()) };
    let parts = envelope.into_array().map_err(|_| "is no array")?;
    let parts: [Value; 4] = parts.try_into().map_err(|_| "has not four parts")?;
    let [Value::Bytes(protected), Value::Map(unprotected), Value::Bytes(payload), Value::Bytes(signature)] =
        parts
    else {
        return Err("has parts of other types".to_owned());
    };
    let Value::Map(headers) = decode(&protected)? else { return Err("has no protected headers".to_owned()) };
    let signed = encode(&Value::Array(vec![
        Value::Text("Signature1".to_owned()),
        Value::Bytes(protected),
        Value::Bytes(Vec::new()),
        Value::Bytes(payload.clone()),
    ]))?;
    let timestamp = find(&unprotected, &"io.cncf.notary.timestampSignature".into());
    Ok(Sealed {
        chain: chain(&unprotected)?,
        protected: headers_of(&headers)?,
        signed,
        signature,
        payload,
        timestamp: timestamp.and_then(Value::as_bytes).filter(|bytes| !bytes.is_empty()).cloned(),
    })
}

fn headers_of(headers: &[(Value, Value)]) -> Result<Protected, String> {
    let number = find(headers, &ALGORITHM.into()).and_then(integer).ok_or("has no algorithm")?;
    let name = ALGORITHMS.iter().find(|(found, _)| *found == number);
    let critical = find(headers, &CRITICAL.into()).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |label: &str| find(headers, &label.into()).and_then(Value::as_text);
    let scheme = text("io.cncf.notary.signingScheme").and_then(Scheme::parse);
    Ok(Protected {
        alg: name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned()),
        cty: find(headers, &CONTENT_TYPE.into()).and_then(Value::as_text).unwrap_or_default().to_owned(),
        crit: critical
            .iter()
            .map(|label| label.as_text().map_or_else(|| format!("{label:?}"), str::to_owned))
            .collect(),
        scheme: scheme.ok_or("has no signing scheme that is known")?,
        signing_time: time(headers, "io.cncf.notary.signingTime")?,
        authentic_signing_time: time(headers, "io.cncf.notary.authenticSigningTime")?,
        expiry: time(headers, "io.cncf.notary.expiry")?,
        has_plugin: headers
            .iter()
            .any(|(label, _)| label.as_text() == Some("io.cncf.notary.verificationPlugin")),
    })
}

fn time(headers: &[(Value, Value)], label: &str) -> Result<Option<Timestamp>, String> {
    let Some(value) = find(headers, &label.into()) else { return Ok(None) };
    let seconds = match value {
        Value::Tag(EPOCH, seconds) => integer(seconds),
        _ => None,
    };
    let seconds = seconds.ok_or_else(|| format!("has a '{label}' that is no time"))?;
    Timestamp::from_second(seconds).map(Some).map_err(|error| error.to_string())
}

/// One certificate, or several.
fn chain(headers: &[(Value, Value)]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = match find(headers, &CHAIN.into()) {
        Some(Value::Bytes(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_bytes).cloned().collect(),
        _ => return Err("has no certificates".to_owned()),
    };
    Ok(certificates.into_iter().map(CertificateDer::from).collect())
}

/// The value of a header; nothing when it is there twice, since readers would disagree on which counts.
fn find<'a>(headers: &'a [(Value, Value)], label: &Value) -> Option<&'a Value> {
    let mut found = headers.iter().filter(|(found, _)| found == label).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

fn integer(value: &Value) -> Option<i64> {
    i64::try_from(i128::from(value.as_integer()?)).ok()
}

/// One value and nothing behind it.
fn decode(mut bytes: &[u8]) -> Result<Value, String> {
    let value = ciborium::de::from_reader_with_recursion_limit(&mut bytes, MAX_DEPTH);
    let value = value.map_err(|error| error.to_string())?;
    if bytes.is_empty() { Ok(value) } else { Err("has bytes behind its end".to_owned()) }
}

fn encode(value: &Value) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}
