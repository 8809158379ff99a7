//! The functions of templates: Go's own and the part of sprig that computes from its arguments alone.

mod base32;
mod builtin;
mod case;
mod decimal;
mod dictionary;
mod encoding;
mod json;
mod list;
mod logic;
mod math;
mod path;
mod pattern;
mod string;
mod time;
mod url;
mod walk;
mod wrap;

use std::rc::Rc;

use sha2::{Digest, Sha256};

use super::{
    change::Changes,
    value::{DICTIONARY, ListValue, Map, Value},
};
use crate::text::check_length;

/// A function and how many arguments it takes.
pub(super) struct Function {
    pub(super) least: usize,
    /// `None` for any number.
    pub(super) most: Option<usize>,
    kind: Kind,
}

type Call = fn(&[Value]) -> Result<Value, CallError>;
type Change = fn(&[Value], &mut Changes) -> Result<Value, CallError>;

enum Kind {
    Call(Call),
    /// Changes dictionaries among its arguments.
    Change(Change),
}

/// Errors of a call.
#[derive(Debug)]
pub(super) enum CallError {
    /// An argument has a type that the function's signature does not allow.
    Type {
        /// Number of the argument, from 0.
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
/// the time.
const REFUSED: [&str; 21] = [
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
    "shuffle",
    "toDate",
    "mustToDate",
    "mustDateModify",
    "must_date_modify",
    "unixEpoch",
];

/// Returns true when a template may name the function.
pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "and" | "or" | "call") || REFUSED.contains(&name) || find(name).is_some()
}

/// Finds a function that can be called.
pub(super) fn find(name: &str) -> Option<Function> {
    [
        list::find,
        dictionary::find,
        builtin::find,
        logic::find,
        string::find,
        case::find,
        wrap::find,
        math::find,
        decimal::find,
        encoding::find,
        json::find,
        pattern::find,
        path::find,
        time::find,
        url::find,
    ]
    .into_iter()
    .find_map(|find| find(name))
}

impl Function {
    fn exactly(count: usize, call: Call) -> Option<Self> {
        Some(Self { least: count, most: Some(count), kind: Kind::Call(call) })
    }

    fn at_least(count: usize, call: Call) -> Option<Self> {
        Some(Self { least: count, most: None, kind: Kind::Call(call) })
    }

    fn between(least: usize, most: usize, call: Call) -> Option<Self> {
        Some(Self { least, most: Some(most), kind: Kind::Call(call) })
    }

    fn changing(least: usize, most: Option<usize>, change: Change) -> Option<Self> {
        Some(Self { least, most, kind: Kind::Change(change) })
    }

    pub(super) fn call(&self, arguments: &[Value], changes: &mut Changes) -> Result<Value, CallError> {
        match self.kind {
            Kind::Call(call) => call(arguments),
            Kind::Change(change) => change(arguments, changes),
        }
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

/// A list; the refusal of another value ends with its kind.
fn list<'a>(arguments: &'a [Value], index: usize, refusal: &str) -> Result<&'a ListValue, CallError> {
    match at(arguments, index) {
        Value::List(list) => Ok(list),
        Value::Nil => failed("runtime error: invalid memory address or nil pointer dereference"),
        other => failed(format!("{refusal} {}", other.kind_name())),
    }
}

fn map(arguments: &[Value], index: usize) -> Result<&Map, CallError> {
    match at(arguments, index) {
        Value::Map(map) => Ok(map),
        _ => Err(CallError::Type { index, expected: DICTIONARY }),
    }
}

/// A map that a template has made and may change.
fn dictionary(arguments: &[Value], index: usize) -> Result<&Rc<Map>, CallError> {
    match at(arguments, index) {
        Value::Map(map) if map.go_type == DICTIONARY => Ok(map),
        _ => Err(CallError::Type { index, expected: DICTIONARY }),
    }
}

fn texts(items: impl IntoIterator<Item = String>) -> Result<Value, CallError> {
    Ok(Value::list(items.into_iter().map(Value::text).collect())?)
}

/// The texts of a list, or of one value; nothing is left out. All together are as long as a text may be.
fn strings(value: &Value) -> Result<Vec<String>, CallError> {
    let items = match value {
        Value::List(list) => list.items.as_slice(),
        other => std::slice::from_ref(other),
    };
    let (mut texts, mut length) = (Vec::new(), 0);
    for item in items.iter().filter(|item| !matches!(item, Value::Nil)) {
        let text = item.printed()?;
        length += text.len();
        check_length(length)?;
        texts.push(text);
    }
    Ok(texts)
}

/// A value as it is compared: type and printed form. Exact for all that templates can hold.
#[derive(PartialEq, Eq, Hash)]
struct Form(&'static str, [u8; 32]);

impl Form {
    /// The printed form stands here by its digest: of many values that share parts it would be longer than all of them.
    fn of(value: &Value) -> Result<Self, String> {
        Ok(Self(value.type_name(), Sha256::digest(value.printed()?).into()))
    }
}
