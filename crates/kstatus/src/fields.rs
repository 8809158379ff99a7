//! Reading fields of an object that may have any shape.

use serde_json::Value;

/// The error of an object whose status has not the shape that the API conventions ask for, in the words of Flux, which reads it
/// into Go's types.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    /// The observed generation is no whole number, or `status` is no map.
    #[error(
        "looking up status.observedGeneration from resource: .status.observedGeneration accessor error: {value} is of the type {kind}, expected {wanted}"
    )]
    Generation {
        /// Value that is there instead.
        value: String,
        /// Its type, as Go calls it.
        kind: &'static str,
        /// The type that is needed.
        wanted: &'static str,
    },
    /// `status` or a condition is no map.
    #[error("cannot restore struct from: {kind}")]
    Map {
        /// Kind of what is there instead.
        kind: &'static str,
    },
    /// `status.conditions` is no list.
    #[error("cannot restore slice from {kind}")]
    List {
        /// Kind of what is there instead.
        kind: &'static str,
    },
    /// A field of a condition is a number.
    #[error("cannot convert int64 to {wanted}")]
    Number {
        /// The type of the field.
        wanted: &'static str,
    },
    /// A field of a condition is anything else than text.
    #[error("unrecognized type: string")]
    Text,
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
    let Some(status) = at(object, &["status"]) else { return Ok(Vec::new()) };
    let status = status.as_object().ok_or_else(|| Malformed::Map { kind: kind_of(status) })?;
    let list = match status.get("conditions") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or_else(|| Malformed::List { kind: kind_of(list) })?,
    };
    list.iter().filter(|condition| !condition.is_null()).map(condition).collect()
}

fn condition(condition: &Value) -> Result<Condition<'_>, Malformed> {
    let fields = condition.as_object().ok_or_else(|| Malformed::Map { kind: kind_of(condition) })?;
    let field = |name, wanted| match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(Value::Number(number)) if number.is_i64() => Err(Malformed::Number { wanted }),
        Some(_) => Err(Malformed::Text),
    };
    Ok(Condition {
        kind: field("type", "string")?,
        status: field("status", "v1.ConditionStatus")?,
        reason: field("reason", "string")?,
        message: field("message", "string")?,
    })
}

/// The generation that the status is about, if it says so.
pub(crate) fn observed_generation(object: &Value) -> Result<Option<i64>, Malformed> {
    let Some(status) = at(object, &["status"]) else { return Ok(None) };
    let (value, wanted) = match (status, at(status, &["observedGeneration"])) {
        (Value::Object(_), None) => return Ok(None),
        (Value::Object(_), Some(generation)) => match generation.as_i64() {
            Some(generation) => return Ok(Some(generation)),
            None => (generation, "int64"),
        },
        _ => (status, "map[string]interface{}"),
    };
    let (value, kind) = match value {
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
        other => (other.to_string(), kind_of(other)),
    };
    Err(Malformed::Generation { value, kind, wanted })
}

/// The kind of a value, as Go calls it.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
