//! Hides what SOPS has encrypted (CLI-BLD02): the text is of no use to a reader, and would differ at each encryption.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
use serde_json::Value;

use crate::error::Error;

/// Stands for what is hidden.
pub(crate) const MASK: &str = "**SOPS**";

/// Type of Secrets whose only value has to be JSON.
const DOCKER_CONFIG: &str = "kubernetes.io/dockerconfigjson";

/// Hides the values of an encrypted Secret, or those of its values that are encrypted files; takes SOPS's own field off any
/// object.
pub(super) fn mask(object: &mut Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let is_secret = text("/kind") == "Secret" && text("/apiVersion") == "v1";
    let is_encrypted = text("/sops/mac").starts_with("ENC[");
    let masked = if text("/type") == DOCKER_CONFIG && is_encrypted {
        format!("{{\"mask\":\"{MASK}\"}}")
    } else {
        MASK.to_owned()
    };
    if is_secret {
        let encoded = STANDARD.encode(&masked);
        replace(object, "data", &encoded, |value| {
            is_encrypted || decoded(value).is_some_and(is_encrypted_file)
        });
        replace(object, "stringData", &masked, |value| is_encrypted || is_encrypted_file(value.to_owned()));
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("sops");
    }
}

/// Refuses a Secret with a value that is no base64, which no API server takes, in Flux's words. Values that are encrypted are hidden by now.
pub(super) fn check(object: &Value) -> Result<(), Error> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let data = object.get("data").and_then(Value::as_object).filter(|_| text("/kind") == "Secret");
    for value in data.into_iter().flat_map(|data| data.values()).filter_map(Value::as_str) {
        let value = value.replace(['\n', '\r'], "");
        let at = match STANDARD.decode(&value) {
            // Bits that the last symbol has too many are no error for Go.
            Ok(_) | Err(DecodeError::InvalidLastSymbol { .. }) => continue,
            Err(DecodeError::InvalidByte(at, _)) => at,
            Err(DecodeError::InvalidLength(_) | DecodeError::InvalidPadding) => value.len() / 4 * 4,
        };
        let name = text("/metadata/name");
        return Err(Error::Build(format!(
            "failed to mask secret {name} sops data: illegal base64 data at input byte {at}"
        )));
    }
    Ok(())
}

fn replace(object: &mut Value, field: &str, mask: &str, is_hidden: impl Fn(&str) -> bool) {
    let values = object.get_mut(field).and_then(Value::as_object_mut).map(|map| map.values_mut());
    for value in values.into_iter().flatten() {
        if is_hidden(value.as_str().unwrap_or_default()) {
            *value = mask.into();
        }
    }
}

/// The text of a value of a Secret's `data`.
pub(super) fn decoded(value: &str) -> Option<String> {
    let bytes = STANDARD.decode(value.replace(['\n', '\r'], "")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_encrypted_file(text: String) -> bool {
    text.contains("sops") && text.contains("ENC[")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(mut object: Value) -> Value {
        mask(&mut object);
        object
    }

    #[test]
    fn all_values_of_an_encrypted_secret_are_hidden() {
        let secret = |type_: &str| {
            masked(json!({
                "apiVersion": "v1", "kind": "Secret", "type": type_,
                "data": { "a": "YQ==" }, "stringData": { "b": "ENC[AES256_GCM,data:x]" },
                "sops": { "mac": "ENC[AES256_GCM,data:y]" },
            }))
        };
        assert_eq!(
            secret("Opaque"),
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "data": { "a": "KipTT1BTKio=" }, "stringData": { "b": "**SOPS**" },
            })
        );
        let docker = secret(DOCKER_CONFIG);
        assert_eq!(docker["data"]["a"], "eyJtYXNrIjoiKipTT1BTKioifQ==");
        assert_eq!(docker["stringData"]["b"], "{\"mask\":\"**SOPS**\"}");
    }

    #[test]
    fn of_other_secrets_encrypted_files_are_hidden() {
        let file = "a: ENC[x]\nsops: {}\n";
        let secret = masked(json!({
            "apiVersion": "v1", "kind": "Secret",
            "data": { "open": "YQ==", "no-base64": "%", "file": STANDARD.encode(file) },
            "stringData": { "open": "sops", "file": file },
        }));
        assert_eq!(secret["data"], json!({ "open": "YQ==", "no-base64": "%", "file": "KipTT1BTKio=" }));
        assert_eq!(secret["stringData"], json!({ "open": "sops", "file": "**SOPS**" }));
    }

    #[rstest::rstest]
    #[case("c2VjcmV0", None)]
    #[case("c2Vj\ncmV0\n", None)]
    #[case("", None)]
    #[case("c2VjcmV0X", Some(8))]
    #[case("nv", Some(0))]
    #[case("nv==", None)]
    #[case("a%bc", Some(1))]
    fn values_of_secrets_are_base64(#[case] value: &str, #[case] expected: Option<usize>) {
        let object =
            |kind: &str| json!({ "kind": kind, "metadata": { "name": "s" }, "data": { "a": value } });
        let refused = check(&object("Secret")).err().map(|error| error.to_string());
        let words = |at| format!("failed to mask secret s sops data: illegal base64 data at input byte {at}");
        assert_eq!(refused, expected.map(words));
        assert!(check(&object("ConfigMap")).is_ok());
    }

    #[test]
    fn other_kinds_lose_the_field_of_sops_only() {
        let map = masked(
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "ENC[x] sops" }, "sops": {} }),
        );
        assert_eq!(map, json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "ENC[x] sops" } }));
    }
}
