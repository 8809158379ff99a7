//! The functions of templates: Go's own and the part of sprig that computes from its arguments alone.

mod builtin;
mod collection;
mod encoding;
mod logic;
mod math;
mod path;
mod pattern;
mod string;

use super::value::{ListValue, Map, Value};

/// A function and how many arguments it takes.
pub(super) struct Function {
    pub(super) least: usize,
    /// `None` for any number.
    pub(super) most: Option<usize>,
    pub(super) call: Call,
}

type Call = fn(&[Value]) -> Result<Value, CallError>;

/// Errors of a call.
#[derive(Debug)]
pub(super) enum CallError {
    /// An argument has a type that the function's signature does not allow.
    Type {
        /// Which argument, from 0.
        index: usize,
        /// Go's name of the type.
        expected: &'static str,
    },
    /// The function itself refused.
    Failed(String),
}

impl From<String> for CallError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// Functions that exist in Flux's templates and are refused here, because they make keys or need randomness or
/// the time, or because they would change a value that others hold.
const REFUSED: [&str; 22] = [
    "ago",
    "bcrypt",
    "buildCustomCert",
    "decryptAES",
    "derivePassword",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
    "randInt",
    "set",
    "shuffle",
    "unset",
    "toDate",
    "mustToDate",
    "unixEpoch",
    "duration",
];

/// Returns true when a template may name the function.
pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "and" | "or") || REFUSED.contains(&name) || find(name).is_some()
}

/// Finds a function that can be called.
pub(super) fn find(name: &str) -> Option<Function> {
    [
        builtin::find,
        logic::find,
        string::find,
        collection::find,
        math::find,
        encoding::find,
        pattern::find,
        path::find,
    ]
    .into_iter()
    .find_map(|find| find(name))
}

impl Function {
    fn exactly(count: usize, call: Call) -> Option<Self> {
        Some(Self { least: count, most: Some(count), call })
    }

    fn at_least(count: usize, call: Call) -> Option<Self> {
        Some(Self { least: count, most: None, call })
    }

    fn between(least: usize, most: usize, call: Call) -> Option<Self> {
        Some(Self { least, most: Some(most), call })
    }
}

fn failed<T>(message: impl Into<String>) -> Result<T, CallError> {
    Err(CallError::Failed(message.into()))
}

fn at(arguments: &[Value], index: usize) -> &Value {
    arguments.get(index).unwrap_or(&Value::Nil)
}

fn text(arguments: &[Value], index: usize) -> Result<&str, CallError> {
    match at(arguments, index) {
        Value::Text(text) => Ok(text),
        _ => Err(CallError::Type { index, expected: "string" }),
    }
}

fn int(arguments: &[Value], index: usize) -> Result<i64, CallError> {
    match at(arguments, index) {
        Value::Int(value) => Ok(*value),
        _ => Err(CallError::Type { index, expected: "int" }),
    }
}

fn boolean(arguments: &[Value], index: usize) -> Result<bool, CallError> {
    match at(arguments, index) {
        Value::Bool(value) => Ok(*value),
        _ => Err(CallError::Type { index, expected: "bool" }),
    }
}

fn list(arguments: &[Value], index: usize) -> Result<&ListValue, CallError> {
    match at(arguments, index) {
        Value::List(list) => Ok(list),
        other => failed(format!("Cannot use type {} as a list", other.kind_name())),
    }
}

fn map(arguments: &[Value], index: usize) -> Result<&Map, CallError> {
    match at(arguments, index) {
        Value::Map(map) => Ok(map),
        _ => Err(CallError::Type { index, expected: "map[string]interface {}" }),
    }
}

fn texts(items: impl IntoIterator<Item = String>) -> Result<Value, CallError> {
    Ok(Value::list(items.into_iter().map(Value::text).collect())?)
}

/// The texts of a list, or of one value; nothing is left out.
fn strings(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            list.items.iter().filter(|item| !matches!(item, Value::Nil)).map(Value::printed).collect()
        }
        other => Ok(vec![other.printed()?]),
    }
}

/// Same type and same printed form; exact for all that templates can hold.
fn are_equal(a: &Value, b: &Value) -> Result<bool, String> {
    Ok(a.type_name() == b.type_name() && a.printed()? == b.printed()?)
}
