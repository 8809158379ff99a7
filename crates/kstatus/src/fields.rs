//! Reading fields of an object that may have any shape.

use serde_json::Value;

/// The error of an object whose status has not the shape that the API conventions ask for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    /// `status.conditions` is there but is not a list of objects.
    #[error("status.conditions of {kind} is not a list of conditions")]
    Conditions {
        /// Kind of the object.
        kind: String,
    },
    /// A Pod in a phase that Kubernetes does not know.
    #[error("unknown phase {phase}")]
    PodPhase {
        /// The phase as it stands in the object.
        phase: String,
    },
}

/// The string at a path of field names, if it is one.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// The integer at a path of field names, if it is one.
pub(crate) fn integer(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path)?.as_i64()
}

/// The value at a path of field names; null counts as absent.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, field| value.get(field)).filter(|value| !value.is_null())
}

/// One condition of `status.conditions`.
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

impl Condition<'_> {
    pub(crate) fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }
}

/// The conditions in the order in which they stand; none if the object has no list of them.
pub(crate) fn conditions(object: &Value) -> Result<Vec<Condition<'_>>, Malformed> {
    let Some(list) = at(object, &["status", "conditions"]) else { return Ok(Vec::new()) };
    let malformed = || Malformed::Conditions { kind: text(object, &["kind"]).unwrap_or("object").to_owned() };
    let list = list.as_array().ok_or_else(malformed)?;
    list.iter()
        .map(|condition| {
            condition.as_object().ok_or_else(malformed)?;
            let field = |name| text(condition, &[name]).unwrap_or_default();
            Ok(Condition {
                kind: field("type"),
                status: field("status"),
                reason: field("reason"),
                message: field("message"),
            })
        })
        .collect()
}
