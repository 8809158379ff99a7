//! Objects as YAML that can be applied, and that Git keeps (CLI-G16).

use serde_json::{Map, Value};
use weir_kustomize_controller::build::to_yaml;

use crate::error::Error;

/// Fields of an object's metadata that say who it is and what users attached to it.
const KEPT_METADATA: [&str; 4] = ["annotations", "labels", "name", "namespace"];

/// Returns an object as a YAML document that begins with `---`. Keys are in alphabetical order.
pub(crate) fn document(object: &Value) -> Result<String, Error> {
    Ok(format!("---\n{}", yaml(object)?))
}

/// Returns a value as YAML, keys in alphabetical order.
pub(crate) fn yaml(value: &Value) -> Result<String, Error> {
    to_yaml(value).map_err(|error| Error::Build(error.to_string()))
}

/// Removes what the cluster added to an object: the status, and all of the metadata that no manifest has.
pub(crate) fn strip(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        let is_kept = |key: &String, value: &mut Value| {
            KEPT_METADATA.contains(&key.as_str()) && value.as_object().is_none_or(|map| !map.is_empty())
        };
        metadata.retain(is_kept);
    }
}

/// Puts a value into an object, where a JSON pointer says.
pub(crate) fn set(object: &mut Value, pointer: &str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        put(object, pointer, value);
    }
}

/// The text at a JSON pointer, or none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Puts a value where a JSON pointer says; the objects on the way are made.
pub(crate) fn put(object: &mut Map<String, Value>, pointer: &str, value: impl Into<Value>) {
    let pointer = pointer.trim_start_matches('/');
    match pointer.split_once('/') {
        None => {
            object.insert(pointer.to_owned(), value.into());
        }
        Some((first, rest)) => {
            let inner = object.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Some(inner) = inner.as_object_mut() {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_exported_without_what_the_cluster_added() {
        let mut object = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": { "uid": "1", "name": "a", "labels": {}, "annotations": { "b": "yes" } },
            "status": {},
        });
        strip(&mut object);
        let expected =
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    b: \"yes\"\n  name: a\n";
        assert_eq!(document(&object).unwrap(), expected);
    }

    #[test]
    fn values_are_put_below_objects_that_are_made_for_them() {
        let mut spec = Map::new();
        put(&mut spec, "/ref/branch", "main");
        put(&mut spec, "/ref/commit", "abc");
        put(&mut spec, "/prune", true);
        assert_eq!(
            Value::Object(spec),
            json!({ "ref": { "branch": "main", "commit": "abc" }, "prune": true })
        );
    }
}
