//! YAML as dyff prints what is added or removed: names first, and what is deep last.

use serde_json::{Map, Value};

use super::compare::sorted;
use super::lists::scalar;

/// Orders of keys that people expect; of several that fit, the one that has most keys in common counts.
const ORDERS: [&[&str]; 12] = [
    &["name", "director_uuid", "releases", "instance_groups", "networks", "resource_pools", "compilation"],
    &["name", "url", "version", "sha1"],
    &["jobs", "resources", "resource_types"],
    &["name", "type", "source"],
    &["get"],
    &["put"],
    &["task"],
    &["releases", "instance_groups", "configuration", "variables"],
    &["auth", "templates"],
    &["name"],
    &["key"],
    &["id"],
];

/// Returns a value as YAML.
pub(super) fn yaml(value: &Value, is_ordered: bool) -> String {
    let mut text = String::new();
    write("", false, value, is_ordered, &mut text);
    text
}

fn write(indent: &str, is_begun: bool, value: &Value, is_ordered: bool, text: &mut String) {
    let deeper = format!("{indent}  ");
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 || !is_begun {
                    text.push_str(indent);
                }
                text.push_str("- ");
                match item {
                    Value::Object(map) if map.is_empty() => text.push_str("{}\n"),
                    Value::Array(list) if list.is_empty() => text.push_str("[]\n"),
                    item => write(&deeper, true, item, is_ordered, text),
                }
            }
        }
        Value::Object(map) => {
            for (index, key) in keys(map, is_ordered).into_iter().enumerate() {
                if index > 0 || !is_begun {
                    text.push_str(indent);
                }
                text.push_str(&format!("{key}:"));
                match map.get(key).unwrap_or(&Value::Null) {
                    Value::Object(map) if map.is_empty() => text.push_str(" {}\n"),
                    Value::Array(list) if list.is_empty() => text.push_str(" []\n"),
                    Value::Array(list) => {
                        text.push('\n');
                        write(indent, false, &Value::Array(list.clone()), is_ordered, text);
                    }
                    value @ Value::Object(_) => {
                        text.push('\n');
                        write(&deeper, false, value, is_ordered, text);
                    }
                    value => {
                        text.push(' ');
                        write(&deeper, false, value, is_ordered, text);
                    }
                }
            }
        }
        value => {
            let shown = scalar(value);
            if shown.contains('\n') {
                text.push_str("|\n");
                let lines: Vec<_> = shown.split('\n').map(|line| format!("{indent}{line}")).collect();
                text.push_str(&lines.join("\n"));
            } else if value.is_string() && needs_quotes(&shown) {
                text.push_str(&format!("{shown:?}"));
            } else {
                text.push_str(&shown);
            }
            text.push('\n');
        }
    }
}

fn needs_quotes(text: &str) -> bool {
    ["true", "false", "null"].contains(&text)
        || text.starts_with('-')
        || text.contains([' ', '*', '&', ':', ','])
}

fn keys(map: &Map<String, Value>, is_ordered: bool) -> Vec<&str> {
    let mut keys = sorted(map);
    let common = |order: &&[&str]| order.iter().filter(|key| map.contains_key(**key)).count();
    // Of orders with as many keys in common the first one counts.
    let order = ORDERS.iter().rev().max_by_key(|order| common(order)).filter(|order| common(order) > 0);
    let Some(order) = order.filter(|_| is_ordered) else { return keys };
    let rank = |key: &&str| match order.iter().position(|known| known == key) {
        Some(place) => (0, place),
        None => (1, map.get(*key).map_or(0, depth)),
    };
    keys.sort_by_key(rank);
    keys
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(depth).max().map_or(0, |depth| depth + 1),
        Value::Array(list) => list.iter().map(depth).max().map_or(0, |depth| depth + 1),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_come_first_and_what_is_deep_last() {
        let value = json!([{ "image": "a:1", "env": [{ "value": "-x", "name": "A" }], "name": "app", "tty": true, "empty": {}, "none": [] }]);
        insta::assert_snapshot!(yaml(&value, true), @r#"
        - name: app
          empty: {}
          image: "a:1"
          none: []
          tty: true
          env:
          - name: A
            value: "-x"
        "#);
    }

    #[test]
    fn texts_of_several_lines_are_blocks() {
        assert_eq!(yaml(&json!({ "a": "b\nc\n", "d": 1 }), true), "a: |\n  b\n  c\n  \nd: 1\n");
    }
}
