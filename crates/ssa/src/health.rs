//! The parts of an object that show its health, as JSON.

use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::ObjectId;
use crate::manifest::join_api_version;

/// Returns the parts of an object of any kind. [`of_kind`] adds the kind.
pub(crate) fn parts(meta: &ObjectMeta, spec: Value, status: Value) -> Value {
    let metadata = json!({
        "generation": meta.generation,
        "deletionTimestamp": meta.deletion_timestamp,
        "creationTimestamp": meta.creation_timestamp,
    });
    let parts = [("metadata", metadata), ("spec", spec), ("status", status)];
    Value::Object(parts.into_iter().map(|(name, part)| (name.to_owned(), part)).collect())
}

/// Sets group and kind of an object. They come from the id, since objects in a list do not have them.
pub(crate) fn of_kind(parts: &mut Value, id: &ObjectId) {
    if let Value::Object(parts) = parts {
        parts.insert("apiVersion".to_owned(), join_api_version(&id.group, "any").into());
        parts.insert("kind".to_owned(), id.kind.as_str().into());
    }
}
