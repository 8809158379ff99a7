//! The difference of two JSON values as a merge patch (RFC 7396).

use serde_json::{Map, Value};

/// The merge patch that turns `old` into `new`; `None` when they are equal. Arrays are replaced whole.
pub(super) fn merge_diff(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        let change = match old.get(key) {
            None => Some(value.clone()),
            Some(known) => merge_diff(known, value),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!({"a": 1}), json!({"a": 1}), None)]
    #[case(json!({"a": 1, "b": 2}), json!({"a": 1}), Some(json!({"b": null})))]
    #[case(json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 1, "y": 3}}), Some(json!({"a": {"y": 3}})))]
    #[case(json!({"a": [1, 2]}), json!({"a": [2]}), Some(json!({"a": [2]})))]
    #[case(json!(null), json!({"a": 1}), Some(json!({"a": 1})))]
    fn diffs(#[case] old: Value, #[case] new: Value, #[case] expected: Option<Value>) {
        assert_eq!(merge_diff(&old, &new), expected);
    }
}
