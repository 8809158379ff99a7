//! JSON from nodes: values for the API server, and Go's text form for hashes.

use serde_json::{Map as JsonMap, Value as Json};

use crate::emit::pad;
use crate::value::format_json_float;
use crate::{Entry, Node, Scalar, Value, YamlError, yaml11_value};

impl Node {
    /// The node as typed JSON, keys in file order (KZ-1419).
    ///
    /// # Errors
    /// A scalar does not fit its tag, or a number is not finite.
    pub fn to_json(&self) -> Result<Json, YamlError> {
        self.json(Scalar::value, |key| key.text.to_string())
    }

    /// As [`Node::to_json`], with scalars and keys read as YAML 1.1 reads them: `yes` and `on` are booleans, and `on: 1` has the
    /// key `true`. A null key stays as it is written.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn to_json_of_yaml11(&self) -> Result<Json, YamlError> {
        self.json(
            |scalar| Ok(yaml11_value(scalar)),
            |key| match yaml11_value(key) {
                Value::Null => key.text.to_string(),
                value => value.into_text(),
            },
        )
    }

    fn json(
        &self,
        read: fn(&Scalar) -> Result<Value<'_>, YamlError>,
        name: fn(&Scalar) -> String,
    ) -> Result<Json, YamlError> {
        Ok(match self {
            Self::Scalar(scalar) => scalar_json(read(scalar)?)?,
            Self::Seq(items) => {
                Json::Array(items.iter().map(|item| item.json(read, name)).collect::<Result<_, _>>()?)
            }
            Self::Map(map) => {
                let mut object = JsonMap::with_capacity(map.len());
                for Entry { key, value, .. } in &map.entries {
                    object.insert(name(key), value.json(read, name)?);
                }
                Json::Object(object)
            }
        })
    }

    /// Appends compact JSON with keys in byte order, as Go's `encoding/json` writes maps (KZ-941).
    ///
    /// # Errors
    /// As [`Node::to_json`].
    pub fn write_go_json(&self, out: &mut String) -> Result<(), YamlError> {
        match self {
            Self::Scalar(scalar) => write_scalar(scalar, out),
            Self::Seq(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_go_json(out)?;
                }
                out.push(']');
                Ok(())
            }
            Self::Map(map) => {
                out.push('{');
                for (index, entry) in sorted(&map.entries).into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_go_string(&entry.key.text, out);
                    out.push(':');
                    entry.value.write_go_json(out)?;
                }
                out.push('}');
                Ok(())
            }
        }
    }
}

/// Appends JSON with keys in byte order, indented by two spaces as Go's `json.MarshalIndent` does.
///
/// # Errors
/// As [`Node::to_json`].
pub fn write_json_pretty(node: &Node, out: &mut String) -> Result<(), YamlError> {
    write_pretty(node, 0, out)
}

fn write_pretty(node: &Node, depth: usize, out: &mut String) -> Result<(), YamlError> {
    const INDENT: usize = 2;
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        pad(out, depth * INDENT);
    };
    match node {
        Node::Seq(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                new_line(out, depth + 1);
                write_pretty(item, depth + 1, out)?;
            }
            new_line(out, depth);
            out.push(']');
        }
        Node::Map(map) if !map.is_empty() => {
            for (index, entry) in sorted(&map.entries).into_iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                new_line(out, depth + 1);
                write_go_string(&entry.key.text, out);
                out.push_str(": ");
                write_pretty(&entry.value, depth + 1, out)?;
            }
            new_line(out, depth);
            out.push('}');
        }
        other => other.write_go_json(out)?,
    }
    Ok(())
}

/// Entries in byte order of their keys.
fn sorted(entries: &[Entry]) -> Vec<&Entry> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.key.text.as_bytes().cmp(b.key.text.as_bytes()));
    sorted
}

fn scalar_json(value: Value<'_>) -> Result<Json, YamlError> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => Json::from(value),
        Value::Uint(value) => Json::from(value),
        Value::Float(value) => float_json(value)?,
        Value::Str(text) => Json::String(text.into_owned()),
    })
}

/// Integral floats become integers, as they do on their way through Go's JSON text (KZ-1404).
fn float_json(value: f64) -> Result<Json, YamlError> {
    let text = finite(value)?;
    if let Ok(int) = text.parse::<i64>() {
        return Ok(Json::from(int));
    }
    if let Ok(int) = text.parse::<u64>() {
        return Ok(Json::from(int));
    }
    Ok(Json::from(value))
}

fn finite(value: f64) -> Result<String, YamlError> {
    format_json_float(value).ok_or_else(|| YamlError::not_finite(value))
}

fn write_scalar(scalar: &Scalar, out: &mut String) -> Result<(), YamlError> {
    match scalar.value()? {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Uint(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&finite(value)?),
        Value::Str(text) => write_go_string(&text, out),
    }
    Ok(())
}

/// Appends a JSON string with Go's escapes: HTML characters and line separators too (KZ-942).
pub fn write_go_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\u{20}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
