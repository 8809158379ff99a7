//! The differences of two lists. Items that have names are compared by them, the rest by what they are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::{Detail, Difference, at, before, below, sorted};

/// Fields that name the items of a list, the better one first.
const NAMES: [&str; 4] = ["name", "key", "id", "manager"];

/// Lists of more items than this may be named by any field whose texts all differ.
const GUESSED: usize = 3;

/// The way to name an item.
enum Name {
    /// One of its fields.
    Field(String),
    /// Version, kind, namespace and name of an object.
    Object,
}

/// Returns the differences of two lists.
pub(super) fn compare(path: &[String], from: &[Value], to: &[Value]) -> Vec<Difference> {
    if from.is_empty() && to.is_empty() {
        return Vec::new();
    }
    match by_known_field(from, to).or_else(|| by_any_field(from, to)).or_else(|| by_object(from, to)) {
        Some(name) => named(path, &name, from, to),
        None => plain(path, from, to),
    }
}

fn by_known_field(from: &[Value], to: &[Value]) -> Option<Name> {
    let name = NAMES.iter().find(|field| names_all(from, field) && names_all(to, field))?;
    Some(Name::Field((*name).to_owned()))
}

/// Returns true when every item has the field, each with another value.
fn names_all(list: &[Value], field: &str) -> bool {
    let values: BTreeSet<_> = list.iter().filter_map(|item| item.get(field)).map(scalar).collect();
    !list.is_empty() && values.len() == list.len()
}

fn by_any_field(from: &[Value], to: &[Value]) -> Option<Name> {
    let first = from.first()?.as_object()?;
    let differ = |list: &[Value], field: &str| {
        let values: BTreeSet<_> = list.iter().filter_map(|item| item.get(field)?.as_str()).collect();
        values.len() == list.len() && list.iter().all(Value::is_object)
    };
    let is_name = |field: &&str| from.len() > GUESSED && differ(from, field) && differ(to, field);
    sorted(first).into_iter().find(is_name).map(|field| Name::Field(field.to_owned()))
}

fn by_object(from: &[Value], to: &[Value]) -> Option<Name> {
    let are_objects = |list: &[Value]| list.iter().all(|item| Name::Object.of(item).is_some());
    (are_objects(from) && are_objects(to)).then_some(Name::Object)
}

impl Name {
    fn of(&self, item: &Value) -> Option<String> {
        let text = |pointer| item.pointer(pointer).and_then(Value::as_str);
        match self {
            Self::Field(field) => item.get(field).map(scalar),
            Self::Object => {
                let parts = [text("/apiVersion")?, text("/kind")?, text("/metadata/name")?];
                let [api_version, kind, name] = parts;
                let namespace = text("/metadata/namespace");
                let parts = [Some(api_version), Some(kind), namespace, Some(name)];
                Some(parts.into_iter().flatten().collect::<Vec<_>>().join("/"))
            }
        }
    }

    fn find<'v>(&self, list: &'v [Value], name: &str) -> Option<&'v Value> {
        list.iter().find(|item| self.of(item).as_deref() == Some(name))
    }
}

fn named(path: &[String], name: &Name, from: &[Value], to: &[Value]) -> Vec<Difference> {
    let (mut rest, mut removed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let (mut before_names, mut after_names) = (Vec::new(), Vec::new());
    for item in from {
        let item_name = name.of(item).unwrap_or_default();
        match name.find(to, &item_name) {
            Some(other) => {
                rest.extend(at(&below(path, &item_name), item, other));
                before_names.push(Value::from(item_name));
            }
            None => removed.push(item.clone()),
        }
    }
    for item in to {
        let item_name = name.of(item).unwrap_or_default();
        match name.find(from, &item_name) {
            Some(_) => after_names.push(Value::from(item_name)),
            None => added.push(item.clone()),
        }
    }
    let mut details = Vec::new();
    if before_names != after_names {
        details.push(Detail::Reordered(before_names, after_names));
    }
    before(path, packed(details, removed, added), rest)
}

fn plain(path: &[String], from: &[Value], to: &[Value]) -> Vec<Difference> {
    if let ([from], [to]) = (from, to) {
        return at(&below(path, "0"), from, to);
    }
    let common = |list: &[Value], other: &[Value]| -> Vec<_> {
        list.iter().filter(|item| other.contains(item)).cloned().collect()
    };
    let (from_common, to_common) = (common(from, to), common(to, from));
    let mut details = Vec::new();
    if from_common.len() == to_common.len() && from_common != to_common {
        details.push(Detail::Reordered(from_common, to_common));
    }
    before(path, packed(details, surplus(from, to), surplus(to, from)), Vec::new())
}

/// Returns the items that one list has and another one has not, or has less often.
fn surplus(list: &[Value], other: &[Value]) -> Vec<Value> {
    let count = |list: &[Value], item: &Value| list.iter().filter(|found| *found == item).count();
    let mut surplus = Vec::new();
    for item in list {
        let (here, there) = (count(list, item), count(other, item));
        if there == 0 {
            surplus.push(item.clone());
        } else if here > there && !surplus.contains(item) {
            surplus.extend(std::iter::repeat_n(item.clone(), here - there));
        }
    }
    surplus
}

fn packed(mut details: Vec<Detail>, removed: Vec<Value>, added: Vec<Value>) -> Vec<Detail> {
    if !removed.is_empty() {
        details.push(Detail::Removed(Value::Array(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Value::Array(added)));
    }
    details
}

/// Returns a scalar as text; mappings and lists have none.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => String::new(),
    }
}
