//! Values of Secrets that nobody is to see who may only see a Kustomization.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind};
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

/// Bytes of all values that are looked for. Real Kustomizations have some kilobytes; looking takes 40 bytes of memory for each, and
/// a tenth of a second to prepare for as many as these.
const MAX_SOUGHT: usize = 1 << 20;

/// Values to hide, wherever they stand.
pub(crate) struct Masks {
    /// None when there are too many to look for: everything is hidden then.
    search: Option<Search>,
    are_complete: bool,
}

/// Finds values in the time that it takes to read the text, however many values there are.
struct Search {
    /// Sorted.
    values: Vec<String>,
    /// Values that are hidden everywhere. The longest match at a place counts, so that no part of a longer value is left.
    anywhere: AhoCorasick,
    /// Those that are hidden as words.
    words: AhoCorasick,
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
        values.sort_unstable();
        values.dedup();
        let is_hidden = |value: &str| value.trim().is_empty() || value.len() >= SHORTEST_INSIDE;
        Self { search: Search::new(values), are_complete: variables.secrets().all(is_hidden) }
    }

    /// Returns true when every variable that comes from a Secret can be hidden inside of other text.
    pub(crate) fn are_complete(&self) -> bool {
        self.are_complete
    }

    /// The text without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        self.search.as_ref().and_then(|search| search.without(text)).unwrap_or_else(|| MASK.to_owned())
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
            Value::Number(number) if self.is_value(&number.to_string()) => MASK.into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.value(value))).collect(),
            _ => value.clone(),
        }
    }

    fn is_value(&self, text: &str) -> bool {
        self.search.as_ref().is_none_or(|search| search.is_value(text))
    }
}

impl Search {
    /// Prepares to look for the values, which are sorted; none if there are too many.
    fn new(values: Vec<String>) -> Option<Self> {
        if values.iter().map(String::len).sum::<usize>() > MAX_SOUGHT {
            return None;
        }
        let of_length =
            |is_sought: fn(usize) -> bool| values.iter().filter(move |value| is_sought(value.len()));
        // The other kinds of automatons take many times the memory.
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(AhoCorasickKind::NoncontiguousNFA));
        let words = builder.build(of_length(|length| (SHORTEST_WORD..SHORTEST_INSIDE).contains(&length)));
        let anywhere = builder
            .match_kind(MatchKind::LeftmostLongest)
            .build(of_length(|length| length >= SHORTEST_INSIDE));
        let (anywhere, words) = (anywhere.ok()?, words.ok()?);
        Some(Self { values, anywhere, words })
    }

    fn is_value(&self, text: &str) -> bool {
        self.values.binary_search_by(|value| value.as_str().cmp(text)).is_ok()
    }

    /// The text without the values; none if it cannot be searched.
    fn without(&self, text: &str) -> Option<String> {
        if self.is_value(text) {
            return Some(MASK.to_owned());
        }
        let shown = masked(text, self.anywhere.try_find_iter(text).ok()?);
        let words = self.words.try_find_overlapping_iter(&shown).ok()?;
        Some(masked(&shown, words.filter(|place| is_word(&shown, place))))
    }
}

/// The text with a mask for each of these places, which are sorted by their ends; overlapping ones have one.
fn masked(text: &str, places: impl Iterator<Item = Match>) -> String {
    let mut hidden: Vec<(usize, usize)> = Vec::new();
    for place in places {
        let mut start = place.start();
        while let Some((earlier, _)) = hidden.pop_if(|(_, end)| *end > start) {
            start = start.min(earlier);
        }
        hidden.push((start, place.end()));
    }
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for (start, end) in hidden {
        shown.push_str(text.get(from..start).unwrap_or_default());
        shown.push_str(MASK);
        from = end;
    }
    shown + text.get(from..).unwrap_or_default()
}

/// Returns true for a place between other characters than letters and digits.
fn is_word(text: &str, place: &Match) -> bool {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let before = text.get(..place.start()).and_then(|before| before.chars().next_back());
    let after = text.get(place.end()..).and_then(|after| after.chars().next());
    !is_letter(before) && !is_letter(after)
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
            values.extend(weir_ssa::decoded(&text).and_then(|bytes| String::from_utf8(bytes).ok()));
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

    fn of_texts(texts: &[&str]) -> Masks {
        let decrypted: Vec<_> = texts.iter().map(|text| Zeroizing::new((*text).to_owned())).collect();
        Masks::new(&Variables::default(), &[], &[], &decrypted)
    }

    #[test]
    fn values_in_values_and_beside_each_other_leave_no_rest() {
        let masks = of_texts(&["hunter", "hunter2", "ünter2-x", "+-1", "-1", "12", "a-b", "b-c"]);
        assert_eq!(masks.text("hunter2hunter hünter2-x"), "****** h***");
        assert_eq!(masks.text("a+-1 12 123 hunter212"), "a+*** *** 123 ******");
        assert_eq!(masks.text("x a-b-c"), "x ***");
    }

    #[test]
    fn security_values_that_are_too_many_to_be_looked_for_hide_everything() {
        let line = |number: usize| format!("{number:0>1000}");
        let many = (0..600).map(line).collect::<Vec<_>>().join("\n");
        let masks = of_texts(&[&many]);
        assert_eq!(masks.text("nothing secret"), "***");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "x", "n": 1}});
        let shown = masks.object(&Manifest::try_from(object).unwrap());
        assert_eq!((&shown["kind"], &shown["data"]), (&json!("ConfigMap"), &json!({"a": "***", "n": "***"})));
    }

    /// Values times letters took minutes here.
    #[test]
    fn security_many_values_take_no_longer_than_few() {
        let lines = (4..1000).map(|length| "a".repeat(length)).collect::<Vec<_>>().join("\n");
        let text = "a".repeat(2 << 20);
        assert_eq!(of_texts(&[&lines]).text(&format!("{text}b")).find('a'), None);
    }
}
