//! The differences of two values, as dyff finds them: by keys of mappings, and by names of list items.

use serde_json::{Map, Value};

use super::lists;

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
