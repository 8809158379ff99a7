//! Functions of the language itself.

use std::cmp::Ordering;

use super::{CallError, Function, at, failed, int, text};
use crate::go::{print, value::Value};

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "print" => Function::at_least(0, |a| Ok(Value::text(print::print(a)?))),
        "println" => Function::at_least(0, |a| Ok(Value::text(print::println(a)?))),
        "printf" => Function::at_least(1, |a| {
            Ok(Value::text(print::format(text(a, 0)?, a.get(1..).unwrap_or_default())?))
        }),
        "len" => Function::exactly(1, |a| length(at(a, 0)).map(Value::Int)),
        "index" => Function::at_least(1, |a| {
            a.iter().skip(1).try_fold(at(a, 0).clone(), |value, key| index(&value, key))
        }),
        "not" => Function::exactly(1, |a| Ok(Value::Bool(!at(a, 0).is_true()))),
        "eq" => Function::at_least(1, equal),
        "ne" => Function::exactly(2, |a| Ok(Value::Bool(!is_equal(at(a, 0), at(a, 1))?))),
        "lt" => Function::exactly(2, |a| Ok(Value::Bool(compare(a)?.is_lt()))),
        "le" => Function::exactly(2, |a| Ok(Value::Bool(compare(a)?.is_le()))),
        "gt" => Function::exactly(2, |a| Ok(Value::Bool(compare(a)?.is_gt()))),
        "ge" => Function::exactly(2, |a| Ok(Value::Bool(compare(a)?.is_ge()))),
        "html" => Function::at_least(0, |a| Ok(Value::text(html(&print::print(a)?)))),
        "js" => Function::at_least(0, |a| Ok(Value::text(js(&print::print(a)?)))),
        "urlquery" => Function::at_least(0, |a| Ok(Value::text(url_query(&print::print(a)?)))),
        _ => None,
    }
}

fn length(value: &Value) -> Result<i64, CallError> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.items.len(),
        Value::Map(map) => map.len(),
        Value::Nil => return failed("reflect: call of reflect.Value.Type on zero Value"),
        other => return failed(format!("len of type {}", other.type_name())),
    };
    i64::try_from(length).or_else(|_| failed("too long"))
}

/// An index that is no place of a value of this length. Go overlooks the first one behind the end, and its library does not.
fn out_of_range(index: i64, length: usize, kind: &str) -> Result<Value, CallError> {
    if usize::try_from(index) == Ok(length) {
        return failed(format!("reflect: {kind} index out of range"));
    }
    failed(format!("index out of range: {index}"))
}

fn index(value: &Value, key: &Value) -> Result<Value, CallError> {
    match (value, key) {
        (Value::List(list), Value::Int(at)) => {
            let item = usize::try_from(*at).ok().and_then(|at| list.items.get(at));
            item.cloned().map_or_else(|| out_of_range(*at, list.items.len(), "slice"), Ok)
        }
        (Value::Text(text), Value::Int(at)) => {
            let byte = usize::try_from(*at).ok().and_then(|at| text.as_bytes().get(at).copied());
            byte.map_or_else(|| out_of_range(*at, text.len(), "string"), |byte| Ok(Value::Int(byte.into())))
        }
        (Value::Map(map), Value::Text(key)) => {
            // A map of strings yields its zero value for a key it does not have.
            let missing = if map.go_type == "map[string]string" { Value::text("") } else { Value::Nil };
            Ok(map.get(key).unwrap_or(missing))
        }
        (Value::List(_) | Value::Text(_), Value::Nil) => failed("cannot index slice/array with nil"),
        (Value::List(_) | Value::Text(_), _) => {
            failed(format!("cannot index slice/array with type {}", key.type_name()))
        }
        (Value::Map(_), _) => failed(format!("value has type {}; should be string", key.type_name())),
        (Value::Nil, _) => failed("index of untyped nil"),
        (other, _) => failed(format!("can't index item of type {}", other.type_name())),
    }
}

/// Of texts only: sprig's `slice` hides it, and takes lists.
pub(super) fn slice(arguments: &[Value]) -> Result<Value, CallError> {
    let value = at(arguments, 0);
    let length = usize::try_from(length(value)?).unwrap_or_default();
    let bound = |index: usize, otherwise: usize| match arguments.get(index) {
        None => Ok(otherwise),
        Some(_) => {
            let bound = int(arguments, index)?;
            let bound = usize::try_from(bound).ok().filter(|bound| *bound <= length);
            bound.map_or_else(
                || failed(format!("index out of range: {}", at(arguments, index).printed()?)),
                Ok,
            )
        }
    };
    let (from, to) = (bound(1, 0)?, bound(2, length)?);
    if from > to {
        return failed(format!("invalid slice index: {from} > {to}"));
    }
    match value {
        Value::Text(text) => {
            let bytes = text.as_bytes().get(from..to).unwrap_or_default();
            Ok(Value::text(String::from_utf8_lossy(bytes)))
        }
        Value::List(list) => Ok(Value::list(list.items.get(from..to).unwrap_or_default().to_vec())?),
        other => failed(format!("can't slice item of type {}", other.type_name())),
    }
}

/// `eq a b c` is true if `a` equals any of the others.
fn equal(arguments: &[Value]) -> Result<Value, CallError> {
    if arguments.len() < 2 {
        return failed("missing argument for comparison");
    }
    for other in arguments.iter().skip(1) {
        if is_equal(at(arguments, 0), other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn is_equal(left: &Value, right: &Value) -> Result<bool, CallError> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Int(a), Value::Int(b)) => Ok(a == b),
        (Value::Float(a), Value::Float(b)) => Ok(a == b),
        (Value::Text(a), Value::Text(b)) => Ok(a == b),
        (Value::Struct(a), Value::Struct(b)) => {
            Ok(a.go_type == b.go_type && left.printed()? == right.printed()?)
        }
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => {
            failed(format!("non-comparable type {}: {}", right.printed()?, right.type_name()))
        }
        _ => incompatible(left, right),
    }
}

fn incompatible<T>(left: &Value, right: &Value) -> Result<T, CallError> {
    failed(format!("incompatible types for comparison: {} and {}", left.type_name(), right.type_name()))
}

fn is_basic(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_))
}

fn compare(arguments: &[Value]) -> Result<Ordering, CallError> {
    match (at(arguments, 0), at(arguments, 1)) {
        (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => Ok(a.total_cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(a.cmp(b)),
        (left, right) if is_basic(left) && is_basic(right) && left.type_name() != right.type_name() => {
            incompatible(left, right)
        }
        _ => failed("invalid type for comparison"),
    }
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '\'' | '"' => out.extend(['\\', character]),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(character))),
            control if control.is_ascii_control() => out.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => out.push(other),
        }
    }
    out
}

fn url_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            _ if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
