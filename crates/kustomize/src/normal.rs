//! Nodes after a trip through JSON, as the reference makes for patches and lists.

use weir_yaml::{Entry, Map, Node, Scalar, Style, Tag, Value, YamlError, format_float};

/// The quotes of strings after the trip; they decide what later patches do to the strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// All strings are quoted.
    Json,
    /// Strings are quoted where YAML needs it.
    Yaml,
}

/// A copy in which every scalar holds its typed value.
///
/// # Errors
/// A scalar does not fit its tag or is not finite, or a key stands twice in a mapping.
pub(crate) fn normalised(node: &Node, quotes: Quotes) -> Result<Node, YamlError> {
    Ok(match node {
        Node::Scalar(scalar) => Node::Scalar(normal_scalar(scalar, quotes)?),
        Node::Seq(items) => {
            Node::Seq(items.iter().map(|item| normalised(item, quotes)).collect::<Result<_, _>>()?)
        }
        Node::Map(map) => {
            map.reject_duplicates()?;
            let mut entries = Vec::with_capacity(map.len());
            for entry in &map.entries {
                let key = Scalar { style: Style::Plain, tag: Tag::Str, text: entry.key.text.clone() };
                entries.push(Entry { key, value: normalised(&entry.value, quotes)? });
            }
            Node::Map(Map { entries })
        }
    })
}

fn normal_scalar(scalar: &Scalar, quotes: Quotes) -> Result<Scalar, YamlError> {
    Ok(match scalar.value()? {
        Value::Null => Scalar::null(),
        Value::Bool(value) => Scalar::tagged(if value { "true" } else { "false" }, Tag::Bool),
        Value::Int(value) => number(value as f64),
        Value::Uint(value) => number(value as f64),
        Value::Float(value) => {
            if value.is_finite() {
                number(value)
            } else {
                return Err(YamlError::UnsupportedNumber("Inf or NaN"));
            }
        }
        Value::Str(text) => {
            let style =
                if quotes == Quotes::Json || needs_quotes(&text) { Style::Double } else { Style::Plain };
            match text {
                // Untouched text stays a slice of its file.
                std::borrow::Cow::Borrowed(_) => Scalar { text: scalar.text.clone(), style, tag: Tag::Str },
                std::borrow::Cow::Owned(text) => Scalar { text: text.into(), style, tag: Tag::Str },
            }
        }
    })
}

fn needs_quotes(text: &str) -> bool {
    weir_yaml::resolve(text, weir_yaml::Schema::Yaml11).0 != Tag::Str
}

/// JSON numbers are doubles (QK-06).
fn number(value: f64) -> Scalar {
    let text = format_float(value).unwrap_or_default();
    let is_integer = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    Scalar::tagged(text, if is_integer { Tag::Int } else { Tag::Float })
}

/// A node from a JSON value.
pub(crate) fn from_json(json: &serde_json::Value) -> Node {
    use serde_json::Value as Json;
    match json {
        Json::Null => Node::Scalar(Scalar::null()),
        Json::Bool(value) => Node::Scalar(Scalar::tagged(if *value { "true" } else { "false" }, Tag::Bool)),
        Json::Number(value) => Node::Scalar(number(value.as_f64().unwrap_or_default())),
        Json::String(text) => {
            Node::Scalar(Scalar { text: text.as_str().into(), style: Style::Double, tag: Tag::Str })
        }
        Json::Array(items) => Node::Seq(items.iter().map(from_json).collect()),
        Json::Object(fields) => {
            let entry = |(key, value): (&String, &Json)| Entry {
                key: Scalar::string(key.as_str()),
                value: from_json(value),
            };
            Node::Map(Map { entries: fields.iter().map(entry).collect() })
        }
    }
}
