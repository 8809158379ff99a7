//! Go's printed forms: `%v` and the verbs of `printf`.

mod format;
mod number;

pub(super) use self::{format::format, number::float};
use super::value::{Map, Value};
use crate::limit::{MAX_OUTPUT, MAX_VALUE_DEPTH};

/// Prints a value as `%v` does.
pub(super) fn value(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    write(&mut out, value, 0)?;
    Ok(out)
}

fn write(out: &mut String, value: &Value, depth: usize) -> Result<(), String> {
    check(out, depth)?;
    let part = |out: &mut String, part: &Value| write(out, part, depth + 1);
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(value) => out.push_str(&value.to_string()),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Text(text) => out.push_str(text),
        Value::Struct(value) => match &value.printed {
            Some(text) => out.push_str(text),
            None => row(out, ('{', '}'), value.fields.iter().map(|(_, field)| field), part)?,
        },
        Value::List(list) => row(out, ('[', ']'), list.items.iter(), part)?,
        Value::Map(map) => entries(out, map, part)?,
    }
    Ok(())
}

/// Values share their parts, and a dictionary may hold itself: length and depth are checked on the way.
fn check(out: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_VALUE_DEPTH {
        return Err("values nest too deeply".to_owned());
    }
    if out.len() > MAX_OUTPUT {
        return Err(format!("output is longer than {MAX_OUTPUT} bytes"));
    }
    Ok(())
}

/// Values between brackets, with spaces between them.
fn row<'v>(
    out: &mut String,
    brackets: (char, char),
    values: impl Iterator<Item = &'v Value>,
    write: impl Fn(&mut String, &Value) -> Result<(), String>,
) -> Result<(), String> {
    out.push(brackets.0);
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(out, value)?;
    }
    out.push(brackets.1);
    Ok(())
}

/// A map with its keys in order.
fn entries(
    out: &mut String,
    map: &Map,
    write: impl Fn(&mut String, &Value) -> Result<(), String>,
) -> Result<(), String> {
    out.push_str("map[");
    for (index, (key, item)) in map.entries().iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(out, key)?;
        out.push(':');
        write(out, item)?;
    }
    out.push(']');
    Ok(())
}

/// `print`: a space between two operands of which neither is a string.
pub(super) fn print(values: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|before| values.get(before));
        let are_strings = matches!(value, Value::Text(_)) || matches!(previous, Some(Value::Text(_)));
        if previous.is_some() && !are_strings {
            out.push(' ');
        }
        write(&mut out, value, 0)?;
    }
    Ok(out)
}

/// `println`: a space between all operands and a line's end.
pub(super) fn println(values: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(&mut out, value, 0)?;
    }
    out.push('\n');
    Ok(out)
}
