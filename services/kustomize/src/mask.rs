//! Values of Secrets that nobody is to see who may only see a Kustomization.

use base64::Engine;
use serde_json::Value;
use weir_kustomize::SecretPart;
use weir_ssa::Manifest;
use zeroize::Zeroizing;

use crate::variables::Variables;

/// The text shown instead of a value.
const MASK: &str = "***";

/// Values shorter than this are hidden where they stand as words: inside of other words they are mostly no secrets, and to hide
/// them there would show which letters they are.
const SHORTEST_INSIDE: usize = 4;

/// Values shorter than this are hidden where they stand alone only: as words they are those of any sentence.
const SHORTEST_WORD: usize = 2;

/// Values to hide, wherever they stand.
pub(crate) struct Masks {
    /// The longest first, so that none leaves a rest of another.
    values: Vec<String>,
    are_complete: bool,
}

impl Masks {
    /// Hides the variables that come from Secrets, the values of the Secrets among the manifests, parts of them that stand elsewhere,
    /// and what was decrypted.
    pub(crate) fn new(
        variables: &Variables,
        manifests: &[Manifest],
        parts: &[SecretPart],
        decrypted: &[Zeroizing<String>],
    ) -> Self {
        let own = manifests.iter().filter(|manifest| is_secret(manifest)).flat_map(values_of);
        let parts = parts.iter().map(SecretPart::expose);
        // Decrypted text is escaped where it stands in a document, so that its lines are hidden one by one, too.
        let decrypted = decrypted.iter().flat_map(|text| text.lines().chain([text.as_str()]));
        let mut values: Vec<String> =
            variables.secrets().chain(decrypted).chain(parts).map(str::to_owned).chain(own).collect();
        values.retain(|value| !value.trim().is_empty());
        values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        let is_hidden = |value: &str| value.trim().is_empty() || value.len() >= SHORTEST_INSIDE;
        Self { values, are_complete: variables.secrets().all(is_hidden) }
    }

    /// Returns true when every variable that comes from a Secret can be hidden inside of other text.
    pub(crate) fn are_complete(&self) -> bool {
        self.are_complete
    }

    /// The text without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text == *value {
                return MASK.to_owned();
            }
            match value.len() {
                _ if !text.contains(value) => {}
                SHORTEST_INSIDE.. => text = text.replace(value, MASK),
                SHORTEST_WORD.. => text = without_word(&text, value),
                _ => {}
            }
        }
        text
    }

    /// The object without the values; a Secret has none at all.
    pub(crate) fn object(&self, manifest: &Manifest) -> Value {
        let mut value = self.value(manifest.value());
        for field in ["apiVersion", "kind"] {
            if let (Some(shown), Some(kept)) = (value.get_mut(field), manifest.value().get(field)) {
                shown.clone_from(kept);
            }
        }
        if is_secret(manifest) {
            for field in ["data", "stringData"] {
                if let Some(Value::Object(map)) = value.get_mut(field) {
                    map.values_mut().for_each(|value| *value = MASK.into());
                }
            }
        }
        value
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Number(number) if self.values.contains(&number.to_string()) => MASK.into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.value(value))).collect(),
            _ => value.clone(),
        }
    }
}

/// The text without the places in which a value stands between other characters than letters and digits.
fn without_word(text: &str, value: &str) -> String {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((head, tail)) = rest.split_once(value) {
        shown.push_str(head);
        let is_inside = is_letter(shown.chars().next_back()) || is_letter(tail.chars().next());
        shown.push_str(if is_inside { value } else { MASK });
        rest = tail;
    }
    shown + rest
}

fn is_secret(manifest: &Manifest) -> bool {
    manifest.id().group.is_empty() && manifest.id().kind == "Secret"
}

/// The values of a Secret, as they are and as they are encoded.
fn values_of(secret: &Manifest) -> Vec<String> {
    let mut values = Vec::new();
    for field in ["data", "stringData"] {
        let texts = secret.value().get(field).and_then(Value::as_object).into_iter().flatten();
        for (_, value) in texts {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim());
            values.extend(decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok()));
            values.push(text);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masks(secrets: &[(&str, &str)]) -> Masks {
        let own = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "b3BlbiBzZXNhbWU=", "pin": "MTIz"}});
        Masks::new(&Variables::of_secret(secrets), &[Manifest::try_from(own).unwrap()], &[], &[])
    }

    #[test]
    fn values_of_secrets_are_hidden_in_every_kind() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "data": {"whole": "open sesame", "inside": "say open sesame!", "encoded": "b3BlbiBzZXNhbWU=",
                "variable": "https://me:hunter2@host", "short": "123", "word": "pin=123 or 1234", "longer": "1234",
                "number": 123}});
        let shown = masks(&[("password", "hunter2")]).object(&Manifest::try_from(object).unwrap());
        let expected = json!({"whole": "***", "inside": "say ***!", "encoded": "***",
            "variable": "https://me:***@host", "short": "***", "word": "pin=*** or 1234", "longer": "1234",
            "number": "***"});
        assert_eq!(shown["data"], expected);
        assert_eq!((&shown["apiVersion"], &shown["kind"]), (&json!("v1"), &json!("ConfigMap")));
    }

    #[test]
    fn a_secret_shows_none_of_its_values() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "Yg=="}, "stringData": {"b": "c"}});
        let shown = masks(&[]).object(&Manifest::try_from(secret).unwrap());
        assert_eq!((&shown["data"], &shown["stringData"]), (&json!({"a": "***"}), &json!({"b": "***"})));
    }

    #[test]
    fn a_short_value_cannot_be_hidden_in_other_text() {
        assert!(masks(&[("password", "hunter2"), ("empty", "")]).are_complete());
        assert!(!masks(&[("pin", "123")]).are_complete());
    }
}
