//! JSON: one object, in its order, indented with tabs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use zeroize::Zeroizing;

use super::MAX_DEPTH;
use crate::error::FormatError;
use crate::tree::{Element, Member, Node, Value};

pub(super) fn read(text: &str) -> Result<Vec<Node>, FormatError> {
    // The reader has a limit of 128 levels itself.
    let Json(node) = serde_json::from_str(text).map_err(|error| FormatError::Json {
        line: error.line(),
        problem: if error.is_eof() { "the text ends too early" } else { "no JSON" },
    })?;
    match node {
        Node::Map(_) => Ok(vec![node]),
        Node::List(_) | Node::Value(_) => Err(FormatError::Root("JSON")),
    }
}

/// A node as JSON has it: keys that stand twice stay, as they do for SOPS.
struct Json(Node);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes).map(Self)
    }
}

/// Makes nodes of what the reader finds.
struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Value(Value::Null))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Value(Value::Bool(flag)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Value(Value::Int(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        let whole = i64::try_from(number).map(Value::Int);
        Ok(Node::Value(whole.unwrap_or(Value::Float(number as f64))))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Value(Value::Float(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Value(Value::text(text)))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Node, E> {
        Ok(Node::Value(Value::text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(Json(node)) = items.next_element()? {
            elements.push(Element::Node(node));
        }
        Ok(Node::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some((key, Json(node))) = entries.next_entry()? {
            members.push(Member::Entry(key, node));
        }
        Ok(Node::Map(members))
    }
}

pub(super) fn write(tree: &Node) -> Result<Zeroizing<Vec<u8>>, FormatError> {
    let mut out = Zeroizing::new(String::new());
    put(tree, 0, &mut out)?;
    out.push('\n');
    Ok(Zeroizing::new(out.as_bytes().to_vec()))
}

fn put(node: &Node, depth: usize, out: &mut String) -> Result<(), FormatError> {
    if depth > MAX_DEPTH {
        return Err(FormatError::TooDeep { limit: MAX_DEPTH });
    }
    match node {
        Node::Value(value) => put_value(value, out),
        Node::List(_) => {
            let elements: Vec<&Node> = node.elements().collect();
            put_all(&elements, ['[', ']'], depth, out, |element, out| put(element, depth + 1, out))
        }
        Node::Map(_) => {
            let entries: Vec<(&str, &Node)> = node.entries().collect();
            put_all(&entries, ['{', '}'], depth, out, |(key, value), out| {
                weir_yaml::write_go_string(key, out);
                out.push_str(": ");
                put(value, depth + 1, out)
            })
        }
    }
}

fn put_all<T>(
    items: &[T],
    [open, close]: [char; 2],
    depth: usize,
    out: &mut String,
    mut each: impl FnMut(&T, &mut String) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n('\t', depth + 1));
        each(item, out)?;
    }
    if !items.is_empty() {
        out.push('\n');
        out.extend(std::iter::repeat_n('\t', depth));
    }
    out.push(close);
    Ok(())
}

fn put_value(value: &Value, out: &mut String) -> Result<(), FormatError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(&flag.to_string()),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => {
            out.push_str(&weir_yaml::format_json_float(*number).ok_or(FormatError::Number("JSON"))?);
        }
        Value::Text(text) | Value::Time(text) => weir_yaml::write_go_string(text, out),
        Value::Bytes(bytes) => weir_yaml::write_go_string(&String::from_utf8_lossy(bytes), out),
    }
    Ok(())
}
