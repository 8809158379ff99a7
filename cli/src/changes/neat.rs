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
    let mut writer = Writer { is_ordered, text: String::new() };
    writer.value("", Place::Line, value);
    writer.text
}

/// The place at which a value begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A line of its own, which is to be indented.
    Line,
    /// Behind the dash of an item or the colon of a key.
    Behind,
}

struct Writer {
    /// True when well-known keys come first.
    is_ordered: bool,
    text: String,
}

impl Writer {
    fn value(&mut self, indent: &str, place: Place, value: &Value) {
        match value {
            Value::Array(items) => self.list(indent, place, items),
            Value::Object(map) => self.map(indent, place, map),
            value => self.scalar(indent, value),
        }
    }

    fn list(&mut self, indent: &str, place: Place, items: &[Value]) {
        let deeper = format!("{indent}  ");
        for (index, item) in items.iter().enumerate() {
            self.begin(indent, place, index);
            self.text.push_str("- ");
            match empty(item) {
                Some(brackets) => self.end_with(brackets),
                None => self.value(&deeper, Place::Behind, item),
            }
        }
    }

    fn map(&mut self, indent: &str, place: Place, map: &Map<String, Value>) {
        let deeper = format!("{indent}  ");
        for (index, key) in keys(map, self.is_ordered).into_iter().enumerate() {
            self.begin(indent, place, index);
            let value = map.get(key).unwrap_or(&Value::Null);
            self.text.push_str(&format!("{key}:"));
            match (empty(value), value) {
                (Some(brackets), _) => self.end_with(&format!(" {brackets}")),
                (_, Value::Array(list)) => {
                    self.end_with("");
                    self.list(indent, Place::Line, list);
                }
                (_, Value::Object(map)) => {
                    self.end_with("");
                    self.map(&deeper, Place::Line, map);
                }
                (_, value) => {
                    self.text.push(' ');
                    self.scalar(&deeper, value);
                }
            }
        }
    }

    fn scalar(&mut self, indent: &str, value: &Value) {
        let shown = scalar(value);
        if shown.contains('\n') {
            self.end_with("|");
            let lines: Vec<_> = shown.split('\n').map(|line| format!("{indent}{line}")).collect();
            self.end_with(&lines.join("\n"));
        } else if value.is_string() && needs_quotes(&shown) {
            self.end_with(&format!("{shown:?}"));
        } else {
            self.end_with(&shown);
        }
    }

    /// Indents a part of a collection, unless it is the first one and stands behind something.
    fn begin(&mut self, indent: &str, place: Place, index: usize) {
        if index > 0 || place == Place::Line {
            self.text.push_str(indent);
        }
    }

    fn end_with(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// Returns the brackets of a collection that has nothing in it.
fn empty(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(map) if map.is_empty() => Some("{}"),
        Value::Array(list) if list.is_empty() => Some("[]"),
        _ => None,
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
