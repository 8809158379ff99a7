//! Reads what all kinds have in common out of objects as the API server sent them: an odd object is shown, never refused.

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use weir_api::ARTIFACT_GENERATOR_RECONCILE_KEY;

/// The text at a JSON pointer; numbers are written out, anything else is empty.
pub(crate) fn text(object: &DynamicObject, pointer: &str) -> String {
    match object.data.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The first text at one of these JSON pointers.
pub(crate) fn first_of(object: &DynamicObject, pointers: &[&str]) -> String {
    let texts = pointers.iter().map(|pointer| text(object, pointer));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Status and message of the condition of a type, in any case.
pub(crate) fn condition<'a>(object: &'a DynamicObject, type_: &str) -> Option<(&'a str, &'a str)> {
    find(object, type_).map(|condition| (field(condition, "status"), field(condition, "message")))
}

/// The reason of the condition of a type.
pub(crate) fn reason<'a>(object: &'a DynamicObject, type_: &str) -> Option<&'a str> {
    find(object, type_).map(|condition| field(condition, "reason"))
}

/// The time since which the condition of a type has its status; empty without one.
pub(crate) fn transition_time<'a>(object: &'a DynamicObject, type_: &str) -> &'a str {
    find(object, type_).map_or("", |condition| field(condition, "lastTransitionTime"))
}

fn find<'a>(object: &'a DynamicObject, type_: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|found| field(found, "type").eq_ignore_ascii_case(type_))
}

fn field<'a>(condition: &'a Value, name: &str) -> &'a str {
    condition.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Status and message of the Ready condition.
pub(crate) fn ready(object: &DynamicObject) -> Option<(&str, &str)> {
    condition(object, "Ready")
}

/// Returns true when the user suspended the object; an ArtifactGenerator by its annotation.
pub(crate) fn is_suspended(object: &DynamicObject) -> bool {
    let reconcile = object.annotations().get(ARTIFACT_GENERATOR_RECONCILE_KEY);
    object.data.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default()
        || reconcile.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}

/// The token of the last request that was handled.
pub(crate) fn last_handled(object: &DynamicObject) -> Option<&str> {
    object.data.pointer("/status/lastHandledReconcileAt").and_then(Value::as_str)
}

/// The revision of a source's artifact.
pub(crate) fn revision_of(object: &DynamicObject) -> String {
    text(object, "/status/artifact/revision")
}
