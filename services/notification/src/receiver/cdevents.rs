//! `cdevents`: events of delivery pipelines, checked for their form (NTF-99).

use serde_json::Value;

use super::{Call, Refusal, Rules};

pub(super) const SERVICE: &str = "CDEvent";
/// Types of CDEvents' own vocabulary, and of custom events.
const PREFIXES: [&str; 2] = ["dev.cdevents.", "dev.cdeventsx."];
const CONTEXT: [&str; 5] = ["version", "id", "source", "type", "timestamp"];

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    let body: Value =
        serde_json::from_slice(call.body).map_err(|error| Refusal::CdEvent(error.to_string()))?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    for key in CONTEXT {
        text(&format!("/context/{key}"))
            .ok_or_else(|| Refusal::CdEvent(format!("context.{key} is required")))?;
    }
    text("/subject/id").ok_or_else(|| Refusal::CdEvent("subject.id is required".to_owned()))?;
    let kind = text("/context/type").unwrap_or_default();
    if !is_type(kind) {
        return Err(Refusal::CdEvent(format!("unknown event type {kind:?}")));
    }
    rules.admit(SERVICE, call.header("Ce-Type"))
}

/// `dev.cdevents.<subject>.<predicate>.<major>.<minor>.<patch>`; a custom event names its tool as well.
fn is_type(kind: &str) -> bool {
    let Some(rest) = PREFIXES.iter().find_map(|prefix| kind.strip_prefix(prefix)) else { return false };
    let parts: Vec<&str> = rest.split('.').collect();
    let version = parts.len().checked_sub(3).and_then(|at| parts.split_at_checked(at));
    version.is_some_and(|(names, version)| {
        names.len() >= 2
            && names.iter().all(|name| !name.is_empty())
            && version.iter().all(|part| part.chars().next().is_some_and(|c| c.is_ascii_digit()))
    })
}
