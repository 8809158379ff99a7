//! JSON as CEL values.

use std::collections::HashMap;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

/// Values in one variable. A large push event has some thousand; loops take time by their number.
pub(super) const MAX_VALUES: usize = 50_000;

/// The type that the numbers of JSON have in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// All of them are doubles, as in a protobuf Struct (NTF-109).
    Doubles,
    /// Whole numbers are ints, as in a Kubernetes object (KS-DEP-8).
    Integers,
}

/// Converts a variable; refuses one that is too large.
pub(super) fn of_json(json: &Json, numbers: Numbers) -> Result<Value, String> {
    let mut left = MAX_VALUES;
    convert(json, numbers, &mut left).ok_or_else(|| format!("more than {MAX_VALUES} values in one variable"))
}

fn convert(json: &Json, numbers: Numbers, left: &mut usize) -> Option<Value> {
    *left = left.checked_sub(1)?;
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64().filter(|_| numbers == Numbers::Integers) {
            Some(integer) => Value::Int(integer),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items: Option<Vec<Value>> = items.iter().map(|item| convert(item, numbers, left)).collect();
            items?.into()
        }
        Json::Object(entries) => {
            let mut map: HashMap<Key, Value> = HashMap::with_capacity(entries.len());
            for (key, value) in entries {
                map.insert(key.as_str().into(), convert(value, numbers, left)?);
            }
            Value::Map(Map::from(map))
        }
    })
}
