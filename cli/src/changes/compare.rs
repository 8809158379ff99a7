//! The differences of two values, as dyff finds them: by keys of mappings, and by names of list items.

use serde_json::{Map, Value, json};

use super::lists;
use crate::output::plain;

/// The differences at one place.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// Keys, names of list items and indices that lead there.
    pub(super) path: Vec<String>,
    /// The differences.
    pub(super) details: Vec<Detail>,
}

/// One difference.
#[derive(Debug, PartialEq)]
pub(super) enum Detail {
    /// A value has become another one.
    Changed(Value, Value),
    /// Entries of a mapping or a list are new.
    Added(Value),
    /// Entries of a mapping or a list are gone.
    Removed(Value),
    /// The same entries stand in another order.
    Reordered(Vec<Value>, Vec<Value>),
}

impl Difference {
    /// Returns the difference without what steers a terminal.
    pub(super) fn harmless(&self) -> Self {
        let details = self.details.iter().map(|detail| match detail {
            Detail::Changed(from, to) => Detail::Changed(harmless(from), harmless(to)),
            Detail::Added(value) => Detail::Added(harmless(value)),
            Detail::Removed(value) => Detail::Removed(harmless(value)),
            Detail::Reordered(from, to) => {
                Detail::Reordered(from.iter().map(harmless).collect(), to.iter().map(harmless).collect())
            }
        });
        Self { path: self.path.iter().map(|step| plain(step)).collect(), details: details.collect() }
    }

    /// Returns the difference as programs read it: one entry a detail, with the values before and after.
    pub(super) fn values(&self) -> Vec<Value> {
        let value = |detail: &Detail| {
            let (from, to) = match detail {
                Detail::Changed(from, to) => (from.clone(), to.clone()),
                Detail::Added(value) => (Value::Null, value.clone()),
                Detail::Removed(value) => (value.clone(), Value::Null),
                Detail::Reordered(from, to) => (Value::from(from.clone()), Value::from(to.clone())),
            };
            json!({ "path": self.path, "before": from, "after": to })
        };
        self.details.iter().map(value).collect()
    }
}

fn harmless(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => items.iter().map(harmless).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (plain(key), harmless(value))).collect(),
        other => other.clone(),
    }
}

/// Returns the differences of two objects, those of a place before those below it.
pub(super) fn values(from: &Value, to: &Value) -> Vec<Difference> {
    at(&[], from, to)
}

/// Returns the differences of two values at a place.
pub(super) fn at(path: &[String], from: &Value, to: &Value) -> Vec<Difference> {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => mappings(path, from, to),
        (Value::Array(from), Value::Array(to)) => lists::compare(path, from, to),
        _ if from == to => Vec::new(),
        _ => {
            vec![Difference { path: path.to_vec(), details: vec![Detail::Changed(from.clone(), to.clone())] }]
        }
    }
}

/// Returns the path of what is below a place.
pub(super) fn below(path: &[String], step: &str) -> Vec<String> {
    path.iter().cloned().chain([step.to_owned()]).collect()
}

/// Puts the differences of a place before those below it.
pub(super) fn before(path: &[String], details: Vec<Detail>, mut rest: Vec<Difference>) -> Vec<Difference> {
    if !details.is_empty() {
        rest.insert(0, Difference { path: path.to_vec(), details });
    }
    rest
}

fn mappings(path: &[String], from: &Map<String, Value>, to: &Map<String, Value>) -> Vec<Difference> {
    let (mut rest, mut removed, mut added) = (Vec::new(), Map::new(), Map::new());
    for key in sorted(from) {
        match (from.get(key), to.get(key)) {
            (Some(from), Some(to)) => rest.extend(at(&below(path, key), from, to)),
            (Some(value), None) => drop(removed.insert(key.to_owned(), value.clone())),
            _ => {}
        }
    }
    for key in sorted(to) {
        if let Some(value) = to.get(key).filter(|_| !from.contains_key(key)) {
            added.insert(key.to_owned(), value.clone());
        }
    }
    let mut details = Vec::new();
    if !removed.is_empty() {
        details.push(Detail::Removed(Value::Object(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Value::Object(added)));
    }
    before(path, details, rest)
}

/// The keys of a mapping in the order of YAML.
pub(super) fn sorted(map: &Map<String, Value>) -> Vec<&str> {
    let mut keys: Vec<_> = map.keys().map(String::as_str).collect();
    weir_yaml::sort_keys(&mut keys);
    keys
}
