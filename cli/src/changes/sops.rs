//! Secrets that SOPS encrypts: their values are not known here, so that only their keys can be compared.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use weir_ssa::{Action, Comparison};

use crate::command::build::kustomization::MASK;

/// Stands for each value of such a Secret.
const HIDDEN: &str = "*****";

/// Returns true for a Secret of which a value is masked.
pub(super) fn is_masked(object: &Value) -> bool {
    let has_mask = |text: &str| text.contains(MASK);
    let values =
        |field: &str| object.get(field).and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let decoded = |value: &Value| {
        STANDARD.decode(value.as_str()?).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    object.get("kind").and_then(Value::as_str) == Some("Secret")
        && (values("data").filter_map(decoded).any(|text| has_mask(&text))
            || values("stringData").filter_map(Value::as_str).any(has_mask))
}

/// Returns the comparison of such a Secret: it differs when its keys do.
pub(super) fn by_keys(comparison: Comparison) -> Comparison {
    let Some((mut live, mut tried)) = comparison.objects else { return comparison };
    let (before, after) = (hide(&mut live), hide(&mut tried));
    if before == after {
        return Comparison { action: Action::Unchanged, objects: None, ..comparison };
    }
    Comparison { objects: Some((live, tried)), ..comparison }
}

/// Hides the values of a Secret and returns its keys in order.
fn hide(secret: &mut Value) -> Vec<String> {
    let Some(data) = secret.get_mut("data").and_then(Value::as_object_mut) else { return Vec::new() };
    data.values_mut().for_each(|value| *value = HIDDEN.into());
    let mut keys: Vec<_> = data.keys().cloned().collect();
    keys.sort();
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_ssa::ObjectId;

    use super::*;

    fn compared(live: Value, tried: Value) -> Comparison {
        let [namespace, name, group, kind] = ["ns", "a", "", "Secret"].map(str::to_owned);
        let id = ObjectId { namespace, name, group, kind };
        by_keys(Comparison { id, action: Action::Configured, objects: Some((live, tried)) })
    }

    #[test]
    fn values_of_encrypted_secrets_do_not_differ() {
        let same = compared(json!({ "data": { "a": "1" } }), json!({ "data": { "a": "2" } }));
        assert_eq!((same.action, same.objects), (Action::Unchanged, None));
        let other = compared(json!({ "data": { "a": "1" } }), json!({ "data": { "b": "1" } }));
        let hidden = (json!({ "data": { "a": "*****" } }), json!({ "data": { "b": "*****" } }));
        assert_eq!(other.objects, Some(hidden));
    }

    #[test]
    fn masks_are_found_where_they_may_stand() {
        let secret =
            |field: &str, value: &str| json!({ "kind": "Secret", field: { "a": value, "b": "eA==" } });
        assert!(is_masked(&secret("data", "KipTT1BTKio=")) && is_masked(&secret("stringData", "**SOPS**")));
        assert!(
            !is_masked(&secret("data", "YQ=="))
                && !is_masked(&json!({ "kind": "ConfigMap", "data": { "a": "**SOPS**" } }))
        );
    }
}
