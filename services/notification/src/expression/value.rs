//! JSON as CEL values: all numbers are doubles, as in a protobuf Struct (NTF-109).

use std::collections::HashMap;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

/// Values in one variable. A large push event has some thousand; loops take time by their number.
const MAX_VALUES: usize = 50_000;

/// Converts a variable; refuses one that is too large.
pub(super) fn of_json(json: &Json) -> Result<Value, String> {
    let mut left = MAX_VALUES;
    convert(json, &mut left).ok_or_else(|| format!("more than {MAX_VALUES} values in one variable"))
}

fn convert(json: &Json, left: &mut usize) -> Option<Value> {
    *left = left.checked_sub(1)?;
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items: Option<Vec<Value>> = items.iter().map(|item| convert(item, left)).collect();
            items?.into()
        }
        Json::Object(entries) => {
            let mut map: HashMap<Key, Value> = HashMap::with_capacity(entries.len());
            for (key, value) in entries {
                map.insert(key.as_str().into(), convert(value, left)?);
            }
            Value::Map(Map::from(map))
        }
    })
}
