//! JSON: one object, in its order, indented with tabs.

use zeroize::Zeroizing;

use super::MAX_DEPTH;
use crate::error::FormatError;
use crate::tree::{Element, Member, Node, Value};

pub(super) fn read(text: &str) -> Result<Vec<Node>, FormatError> {
    // The reader has a limit of 128 levels itself.
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| FormatError::Json {
        line: error.line(),
        problem: if error.is_eof() { "the text ends too early" } else { "no JSON" },
    })?;
    if !value.is_object() {
        return Err(FormatError::Root("JSON"));
    }
    Ok(vec![node(value)])
}

fn node(value: serde_json::Value) -> Node {
    match value {
        serde_json::Value::Null => Node::Value(Value::Null),
        serde_json::Value::Bool(flag) => Node::Value(Value::Bool(flag)),
        serde_json::Value::Number(number) => Node::Value(match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        }),
        serde_json::Value::String(text) => Node::Value(Value::text(text)),
        serde_json::Value::Array(items) => {
            Node::List(items.into_iter().map(|item| Element::Node(node(item))).collect())
        }
        serde_json::Value::Object(object) => {
            Node::Map(object.into_iter().map(|(key, value)| Member::Entry(key, node(value))).collect())
        }
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
