//! `cdevents`: events of delivery pipelines, checked for their type and their context (NTF-99).

use serde_json::Value;

use super::{Call, Refusal, Rules};
use crate::event::parse_time;

pub(super) const SERVICE: &str = "CDEvent";
/// Prefix of the types of CDEvents' own vocabulary.
const OWN: &str = "dev.cdevents.";
/// Prefix of the types of custom events.
const CUSTOM: &str = "dev.cdeventsx.";
/// Major version of all types in CDEvents v0.4.
const MAJOR: &str = "0";
/// The vocabulary of CDEvents v0.4: subjects and their predicates.
const VOCABULARY: [(&str, &[&str]); 14] = [
    ("artifact", &["deleted", "downloaded", "packaged", "published", "signed"]),
    ("branch", &["created", "deleted"]),
    ("build", &["finished", "queued", "started"]),
    ("change", &["abandoned", "created", "merged", "reviewed", "updated"]),
    ("environment", &["created", "deleted", "modified"]),
    ("incident", &["detected", "reported", "resolved"]),
    ("pipelinerun", &["finished", "queued", "started"]),
    ("repository", &["created", "deleted", "modified"]),
    ("service", &["deployed", "published", "removed", "rolledback", "upgraded"]),
    ("taskrun", &["finished", "started"]),
    ("testcaserun", &["finished", "queued", "skipped", "started"]),
    ("testoutput", &["published"]),
    ("testsuiterun", &["finished", "queued", "started"]),
    ("ticket", &["closed", "created", "updated"]),
];
const CONTEXT: [&str; 5] = ["version", "id", "source", "type", "timestamp"];

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    let body: Value =
        serde_json::from_slice(call.body).map_err(|error| Refusal::CdEvent(error.to_string()))?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    for key in CONTEXT {
        text(&format!("/context/{key}"))
            .ok_or_else(|| Refusal::CdEvent(format!("context.{key} is required")))?;
    }
    parse_time(text("/context/timestamp").unwrap_or_default())
        .ok_or_else(|| Refusal::CdEvent("context.timestamp is no time of RFC 3339".to_owned()))?;
    text("/subject/id").ok_or_else(|| Refusal::CdEvent("subject.id is required".to_owned()))?;
    let kind = text("/context/type").unwrap_or_default();
    if !is_type(kind) {
        return Err(Refusal::CdEvent(format!("unknown event type {kind:?}")));
    }
    rules.admit(SERVICE, call.header("Ce-Type"))
}

/// `dev.cdevents.<subject>.<predicate>.<major>.<minor>.<patch>` of the vocabulary; a custom event names its tool as well, before its
/// subject.
fn is_type(kind: &str) -> bool {
    let (rest, is_custom) = match (kind.strip_prefix(OWN), kind.strip_prefix(CUSTOM)) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => return false,
    };
    let parts: Vec<&str> = rest.split('.').collect();
    let Some((names, version)) = parts.len().checked_sub(3).and_then(|at| parts.split_at_checked(at)) else {
        return false;
    };
    let is_number = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_known = match names {
        [subject, predicate] if is_custom => {
            let (tool, subject) = subject.split_once('-').unwrap_or_default();
            is_word(tool) && is_word(subject) && is_word(predicate)
        }
        [subject, predicate] => {
            version.first() == Some(&MAJOR)
                && VOCABULARY
                    .iter()
                    .any(|(known, predicates)| known == subject && predicates.contains(predicate))
        }
        _ => false,
    };
    is_known && version.iter().all(is_number)
}
