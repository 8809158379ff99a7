//! JSON patches (RFC 6902) with the habits of the reference's library (§8.5).

mod pointer;

use weir_yaml::{Node, Scalar, Value, YamlError, read_first_document};

use self::pointer::{Pointer, Slot};
use crate::Error;
use crate::normal::{Quotes, from_json, normalised};
use crate::patch::error::PatchError;
use crate::yaml::malformed;

/// Nodes that `copy` operations of one patch may add to one resource; each copy can double what is there.
const MAX_COPIED_NODES: usize = 1_000_000;

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    kind: String,
    path: Option<String>,
    from: Option<String>,
    value: Option<Node>,
}

/// Reads a patch. Text that starts with `[` is JSON, other text is YAML 1.1, of which the first document counts
/// (KZ-802).
///
/// # Errors
/// The text is neither, or not a list of mappings.
pub(crate) fn parse(name: &str, text: &[u8]) -> Result<Vec<Operation>, Error> {
    let not_a_patch = |problem: String| Error::from(PatchError::NotOperations(problem));
    let document = if text.starts_with(b"[") {
        let json: serde_json::Value =
            serde_json::from_slice(text).map_err(|error| not_a_patch(error.to_string()))?;
        from_json(&json)
    } else {
        match read_first_document(name, text.to_vec()).map_err(malformed(name))? {
            Some(node) => node.before_text().as_yaml11(),
            None => return Ok(Vec::new()),
        }
    };
    if document.is_null() {
        return Ok(Vec::new());
    }
    let items = document
        .as_seq()
        .ok_or_else(|| not_a_patch(format!("cannot unmarshal {} into a list", document.kind_name())))?;
    items
        .iter()
        .map(|item| operation(item).ok_or_else(|| not_a_patch("operations must be mappings".to_owned())))
        .collect()
}

fn operation(node: &Node) -> Option<Operation> {
    let map = node.as_map()?;
    let text = |key: &str| map.get(key).and_then(Node::text).map(str::to_owned);
    Some(Operation {
        kind: text("op").unwrap_or_else(|| "unknown".to_owned()),
        path: text("path"),
        from: text("from"),
        value: map.get("value").cloned(),
    })
}

/// Applies all operations to a copy of `target` that has gone through JSON.
///
/// # Errors
/// An operation does not apply, or the target cannot be rendered.
pub(crate) fn apply(target: &Node, operations: &[Operation]) -> Result<Node, Error> {
    let render = |cause: YamlError| Error::from(PatchError::Render(cause));
    let mut document = normalised(target, Quotes::Yaml).map_err(render)?;
    let mut copied = 0;
    for operation in operations {
        operation.apply(&mut document, &mut copied)?;
    }
    normalised(&document, Quotes::Yaml).map_err(render)
}

impl Operation {
    fn apply(&self, document: &mut Node, copied: &mut usize) -> Result<(), PatchError> {
        match self.kind.as_str() {
            "add" => self.add(document),
            "remove" => self.remove(document),
            "replace" => self.replace(document),
            "move" => self.relocate(document),
            "copy" => self.copy(document, copied),
            "test" => self.test(document),
            other => Err(PatchError::UnexpectedKind(other.to_owned())),
        }
    }

    fn path(&self) -> Result<&str, PatchError> {
        self.path.as_deref().ok_or_else(|| PatchError::NoPath(self.kind.clone()))
    }

    fn from(&self) -> Result<&str, PatchError> {
        self.from.as_deref().ok_or_else(|| PatchError::NoFrom(self.kind.clone()))
    }

    fn value(&self) -> Node {
        self.value.clone().unwrap_or_else(|| Node::Scalar(Scalar::null()))
    }

    fn add(&self, document: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        let mut slot =
            Pointer::new(path).slot(document).ok_or_else(|| missing("add", &format!("\"{path}\"")))?;
        slot.add(self.value()).map_err(|problem| failed("add", path, problem))
    }

    fn remove(&self, document: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        let mut slot =
            Pointer::new(path).slot(document).ok_or_else(|| missing("remove", &format!("\"{path}\"")))?;
        slot.remove().map(drop).map_err(|problem| failed("remove", path, problem))
    }

    fn replace(&self, document: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        if path.is_empty() {
            return match self.value() {
                Node::Scalar(_) => Err(PatchError::ReplaceRoot),
                value => {
                    *document = value;
                    Ok(())
                }
            };
        }
        let mut slot = Pointer::new(path).slot(document).ok_or_else(|| missing("replace", path))?;
        slot.replace(self.value()).map_err(|_| PatchError::MissingKey { path: path.to_owned() })
    }

    fn relocate(&self, document: &mut Node) -> Result<(), PatchError> {
        let (from, path) = (self.from()?, self.path());
        let mut slot = Pointer::new(from)
            .slot(document)
            .ok_or_else(|| missing_end("move", "doc is missing from path", from))?;
        let key = slot.key().to_owned();
        let moved = slot.remove().map_err(|problem| failed("move", &key, problem))?;
        let path = path?;
        let mut slot = Pointer::new(path)
            .slot(document)
            .ok_or_else(|| missing_end("move", "doc is missing destination path", path))?;
        slot.add(moved).map_err(|problem| failed("move", path, problem))
    }

    fn copy(&self, document: &mut Node, copied: &mut usize) -> Result<(), PatchError> {
        let (from, path) = (self.from()?, self.path()?);
        let slot = Pointer::new(from)
            .slot(document)
            .ok_or_else(|| missing_end("copy", "doc is missing from path", from))?;
        let value = slot.get().map_err(|problem| PatchError::Operation {
            operation: "copy",
            field: "from",
            path: from.to_owned(),
            problem,
        });
        let value = value?.cloned();
        let value = value.unwrap_or_else(|| Node::Scalar(Scalar::null()));
        *copied += count(&value);
        if *copied > MAX_COPIED_NODES {
            return Err(PatchError::TooMuchCopied(MAX_COPIED_NODES));
        }
        let mut slot = Pointer::new(path)
            .slot(document)
            .ok_or_else(|| missing_end("copy", "doc is missing destination path", path))?;
        slot.add(value).map_err(PatchError::Copy)
    }

    fn test(&self, document: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        let wanted = self.value();
        if path.is_empty() {
            return if is_equal(document, &wanted) {
                Ok(())
            } else {
                Err(PatchError::TestFailed(path.to_owned()))
            };
        }
        let slot: Slot<'_> =
            Pointer::new(path).slot(document).ok_or_else(|| missing_end("test", "is missing path", path))?;
        let found = slot.get().map_err(|problem| failed("test", path, problem))?;
        // An absent value equals null.
        let holds = match found {
            Some(found) => is_equal(found, &wanted),
            None => wanted.is_null(),
        };
        if holds { Ok(()) } else { Err(PatchError::TestFailed(path.to_owned())) }
    }
}

fn missing(operation: &'static str, path: &str) -> PatchError {
    missing_end(operation, "doc is missing path", path)
}

fn missing_end(operation: &'static str, end: &'static str, path: &str) -> PatchError {
    PatchError::MissingPath { operation, end, path: path.to_owned() }
}

fn failed(operation: &'static str, path: &str, problem: String) -> PatchError {
    PatchError::Operation { operation, field: "path", path: path.to_owned(), problem }
}

fn count(node: &Node) -> usize {
    match node {
        Node::Scalar(_) => 1,
        Node::Map(map) => 1 + map.iter().map(|(_, value)| count(value)).sum::<usize>(),
        Node::Seq(items) => 1 + items.iter().map(count).sum::<usize>(),
    }
}

/// Equality of the JSON values, whatever the order of keys.
fn is_equal(left: &Node, right: &Node) -> bool {
    match (left, right) {
        (Node::Map(left), Node::Map(right)) => {
            left.len() == right.len() && {
                let others = right.index();
                left.iter().all(|(key, value)| others.get(key).is_some_and(|other| is_equal(value, other)))
            }
        }
        (Node::Seq(left), Node::Seq(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_equal(left, right))
        }
        (Node::Scalar(left), Node::Scalar(right)) => match (left.value(), right.value()) {
            (Ok(left), Ok(right)) => number(&left).zip(number(&right)).map_or(left == right, |(a, b)| a == b),
            _ => false,
        },
        _ => false,
    }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
