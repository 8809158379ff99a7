//! Built objects that are encrypted, as a whole or in values of a Secret (KS-DEC-24 to KS-DEC-26).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_sops::Format;

use super::{Decryption, Error, format_of};
use crate::cluster::GROUP;

/// Decrypts an object in place; returns true when something of it was encrypted.
pub(crate) fn decrypt_object(object: &mut Value, decryption: &Decryption) -> Result<bool, Error> {
    if opts_out(object) {
        return Ok(false);
    }
    if object.pointer("/sops/mac").is_some() {
        let bytes = serde_json::to_vec(object).map_err(|_| Error::Object)?;
        let plain = decryption.convert(&bytes, Format::Json, Format::Json).map_err(|source| {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            Error::Data { object: place(object), kind, source: Box::new(source) }
        })?;
        *object = serde_json::from_slice(&plain).map_err(|_| Error::Object)?;
        return Ok(true);
    }
    let is_secret = object.get("kind").and_then(Value::as_str) == Some("Secret");
    if is_secret { decrypt_values(object, decryption) } else { Ok(false) }
}

/// Returns true when the object is to stay as it is (KS-DEC-26).
pub(crate) fn opts_out(object: &Value) -> bool {
    let annotation =
        object.pointer("/metadata/annotations").and_then(|all| all.get(format!("{GROUP}/decrypt")));
    annotation.and_then(Value::as_str).is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}

/// `namespace/name` of an object.
fn place(object: &Value) -> String {
    let part =
        |name: &str| object.pointer(&format!("/metadata/{name}")).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", part("namespace"), part("name"))
}

fn decrypt_values(secret: &mut Value, decryption: &Decryption) -> Result<bool, Error> {
    let place = place(secret);
    let Some(secret) = secret.as_object_mut() else { return Ok(false) };
    // Flux writes the values anew, and there is no field without any: the digest of the manifests shows it.
    secret.retain(|key, value| key != "data" || !(value.is_null() || *value == json!({})));
    let Some(Value::Object(data)) = secret.get_mut("data") else { return Ok(false) };
    let mut is_changed = false;
    for (key, value) in data.iter_mut() {
        let Some(decoded) = value.as_str().and_then(weir_ssa::decoded) else {
            continue;
        };
        let Some(from) = Format::of_content(&decoded) else { continue };
        let plain = decryption.convert(&decoded, from, format_of(key)).map_err(|source| Error::Field {
            object: place.clone(),
            field: key.clone(),
            source: Box::new(source),
        })?;
        *value = STANDARD.encode(plain.as_slice()).into();
        is_changed = true;
    }
    Ok(is_changed)
}
