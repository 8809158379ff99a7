//! JSON, base64 and checksums.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use super::{CallError, Function, at, failed, text};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "toJson" => Function::exactly(1, |a| Ok(Value::text(escaped(&json(at(a, 0))?.to_string())))),
        "toRawJson" => Function::exactly(1, |a| Ok(Value::text(json(at(a, 0))?.to_string()))),
        "toPrettyJson" => {
            Function::exactly(1, |a| Ok(Value::text(escaped(&format!("{:#}", json(at(a, 0))?)))))
        }
        "fromJson" => Function::exactly(1, |a| {
            let parsed = serde_json::from_str(text(a, 0)?).unwrap_or(serde_json::Value::Null);
            Ok(value(&parsed)?)
        }),
        "b64enc" => Function::exactly(1, |a| Ok(Value::text(STANDARD.encode(text(a, 0)?)))),
        "b64dec" => Function::exactly(1, |a| match STANDARD.decode(text(a, 0)?) {
            Ok(bytes) => Ok(Value::text(String::from_utf8_lossy(&bytes))),
            Err(error) => Ok(Value::text(error.to_string())),
        }),
        "sha1sum" => Function::exactly(1, |a| Ok(Value::text(hex(&Sha1::digest(text(a, 0)?))))),
        "sha256sum" => Function::exactly(1, |a| Ok(Value::text(hex(&Sha256::digest(text(a, 0)?))))),
        "sha512sum" => Function::exactly(1, |a| Ok(Value::text(hex(&Sha512::digest(text(a, 0)?))))),
        "adler32sum" => {
            Function::exactly(1, |a| Ok(Value::text(adler32(text(a, 0)?.as_bytes()).to_string())))
        }
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let sum = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    };
    let (a, b) = bytes.iter().fold((1, 0), sum);
    b << 16 | a
}

fn json(source: &Value) -> Result<serde_json::Value, CallError> {
    Ok(match source {
        Value::Nil => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(text) => (&**text).into(),
        Value::List(list) => serde_json::Value::Array(list.items.iter().map(json).collect::<Result<_, _>>()?),
        Value::Map(map) => {
            let entry = |(key, value): &(Value, Value)| match key {
                Value::Text(key) => Ok((key.to_string(), json(value)?)),
                _ => failed(format!("json: unsupported type: {}", map.go_type)),
            };
            serde_json::Value::Object(map.entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
        Value::Struct(value) => {
            let entry = |(name, value): &(&str, Value)| Ok(((*name).to_owned(), json(value)?));
            serde_json::Value::Object(value.fields.iter().map(entry).collect::<Result<_, CallError>>()?)
        }
    })
}

/// Go's encoder writes what HTML could misread as escapes.
fn escaped(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn value(source: &serde_json::Value) -> Result<Value, String> {
    Ok(match source {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        serde_json::Value::String(text) => Value::text(text),
        serde_json::Value::Array(items) => Value::list(items.iter().map(value).collect::<Result<_, _>>()?)?,
        serde_json::Value::Object(entries) => {
            let entries = entries.iter().map(|(key, item)| Ok((key.clone(), value(item)?)));
            Value::dictionary(entries.collect::<Result<_, String>>()?)?
        }
    })
}
