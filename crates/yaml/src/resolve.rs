//! From the text of a plain scalar to its type, as go-yaml does it.

mod folded;
mod number;
mod timestamp;

use std::borrow::Cow;

pub(crate) use folded::doubles_breaks;

use crate::{Scalar, Style, Tag, Value, YamlError};

/// The words that are booleans (DEP-YAML-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// YAML 1.2 core with Go's extensions: resources (KZ-605). `yes`, `on` and `y` are strings.
    Core,
    /// YAML 1.1: kustomization files (KZ-202), and what decides quoting in the output (KZ-1406).
    Yaml11,
}

/// The tag that go-yaml gives a plain scalar without explicit tag.
pub(crate) fn plain_tag(text: &str) -> Tag {
    resolve(text, Schema::Core).0
}

/// The type and value of plain text.
pub fn resolve(text: &str, schema: Schema) -> (Tag, Value<'_>) {
    let as_string = (Tag::Str, Value::Str(Cow::Borrowed(text)));
    let Some(first) = text.bytes().next() else { return (Tag::Null, Value::Null) };
    match first {
        b'+' | b'-' | b'0'..=b'9' => special_word(text, schema)
            .or_else(|| {
                timestamp::parse(text).map(|instant| (Tag::Timestamp, Value::Str(Cow::Owned(instant))))
            })
            .or_else(|| number::parse(text)),
        b'.' => special_word(text, schema).or_else(|| number::fraction(text)),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            special_word(text, schema)
        }
        _ => None,
    }
    .unwrap_or(as_string)
}

/// Words that stand for null, booleans and the odd floats.
fn special_word(text: &str, schema: Schema) -> Option<(Tag, Value<'static>)> {
    let boolean = |value| Some((Tag::Bool, Value::Bool(value)));
    let float = |value| Some((Tag::Float, Value::Float(value)));
    match text {
        "~" | "null" | "Null" | "NULL" => Some((Tag::Null, Value::Null)),
        "true" | "True" | "TRUE" => boolean(true),
        "false" | "False" | "FALSE" => boolean(false),
        ".nan" | ".NaN" | ".NAN" => float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => float(f64::NEG_INFINITY),
        _ if schema == Schema::Core => None,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => boolean(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => boolean(false),
        _ => None,
    }
}

/// The value of a scalar of a resource: style first, then the tag, then the text (KZ-606).
pub(crate) fn scalar_value(scalar: &Scalar) -> Result<Value<'_>, YamlError> {
    let text = scalar.text.as_str();
    if scalar.style == Style::Folded {
        return Ok(Value::Str(folded::reprinted(text)));
    }
    // Quotes make a string even of what a transformer wrote into a scalar that was read as a number.
    if scalar.style != Style::Plain || matches!(scalar.tag, Tag::Str | Tag::Binary | Tag::Custom) {
        return Ok(Value::Str(Cow::Borrowed(text)));
    }
    let (found, value) = resolve(text, Schema::Core);
    match (scalar.tag, found, value) {
        (wanted, found, value) if wanted == found || wanted == Tag::Unset => Ok(value),
        (Tag::Float, _, Value::Int(int)) => Ok(Value::Float(int as f64)),
        (wanted, found, _) => {
            Err(YamlError::Type { found: found.short(), text: text.to_owned(), wanted: wanted.short() })
        }
    }
}

/// The value of a scalar of a kustomization file, where `yes` and `on` are booleans too (KZ-202) and dates are text.
pub fn yaml11_value(scalar: &Scalar) -> Value<'_> {
    let text = scalar.text.as_str();
    let as_string = Value::Str(Cow::Borrowed(text));
    match (scalar.style, scalar.tag) {
        // A missing value in brackets.
        (_, Tag::Null) => Value::Null,
        // A tag of one's own says nothing about the type: a value that begins with `!`.
        (_, Tag::Custom) => as_string,
        // Text that is a string by its tag alone.
        (Style::Plain, Tag::Str) if plain_tag(text) != Tag::Str => as_string,
        (Style::Plain, _) => match resolve(text, Schema::Yaml11) {
            (Tag::Timestamp, _) => as_string,
            (_, value) => value,
        },
        _ => as_string,
    }
}
