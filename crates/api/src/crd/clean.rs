//! Takes out of a generated schema what Flux's schemas do not have (DEP-CRD-2, -4).

use serde_json::{Map, Value};

/// Removes `nullable`, null defaults and enum members, and titles; writes whole numbers as such and descriptions in one
/// line a paragraph.
pub(super) fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if !is_properties(fields) {
                clean_schema(fields);
            }
            fields.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Number(number) => {
            if let Some(whole) =
                number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < 1e15)
            {
                *value = Value::from(whole as i64);
            }
        }
        _ => {}
    }
}

/// Returns true when the map is that of `properties`, in which every value is a schema and any name may occur, also
/// `title`.
fn is_properties(fields: &Map<String, Value>) -> bool {
    !fields.is_empty()
        && !fields.contains_key("type")
        && fields.values().all(|field| field.is_object())
        && !fields.contains_key("openAPIV3Schema")
}

fn clean_schema(fields: &mut Map<String, Value>) {
    fields.remove("nullable");
    fields.remove("title");
    if fields.get("default").is_some_and(Value::is_null) {
        fields.remove("default");
    }
    if let Some(Value::Array(members)) = fields.get_mut("enum") {
        members.retain(|member| !member.is_null());
    }
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
}

/// Sorts the keys of all maps, so that the files change only when the types do.
pub(super) fn sort(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.sort_keys();
            fields.values_mut().for_each(sort);
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}
