//! JSON pointers: from a path to the place that an operation works on.

use std::num::{IntErrorKind, ParseIntError};

use weir_yaml::{Map, Node};

/// A path, taken apart.
pub(super) struct Pointer {
    /// Tokens after the first slash; `None` for a path without any.
    tokens: Option<Vec<String>>,
}

/// The container that holds, or could hold, the value at a path.
pub(super) enum Slot<'d> {
    Field(&'d mut Map, String),
    Element(&'d mut Vec<Node>, String),
}

impl Pointer {
    pub(super) fn new(path: &str) -> Self {
        let tokens = path.split_once('/').map(|(_, rest)| {
            rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
        });
        Self { tokens }
    }

    /// The place in `document`; `None` when something above it is missing (KZ-852, KZ-855).
    pub(super) fn slot(self, document: &mut Node) -> Option<Slot<'_>> {
        let mut tokens = self.tokens?;
        let last = tokens.pop()?;
        let mut node = document;
        for token in tokens {
            node = match node {
                Node::Map(map) => map.get_mut(&token)?,
                Node::Seq(items) => {
                    let at = existing(items.len(), &token).ok()?;
                    items.get_mut(at)?
                }
                Node::Scalar(_) => return None,
            };
        }
        match node {
            Node::Map(map) => Some(Slot::Field(map, last)),
            Node::Seq(items) => Some(Slot::Element(items, last)),
            Node::Scalar(_) => None,
        }
    }
}

impl Slot<'_> {
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Field(_, key) | Self::Element(_, key) => key,
        }
    }

    /// The value; `None` when a mapping lacks the key.
    pub(super) fn get(&self) -> Result<Option<&Node>, String> {
        match self {
            Self::Field(map, key) => Ok(map.get(key)),
            Self::Element(items, key) => existing(items.len(), key).map(|at| items.get(at)),
        }
    }

    pub(super) fn add(&mut self, value: Node) -> Result<(), String> {
        match self {
            Self::Field(map, key) => map.set(key, value),
            Self::Element(items, key) if key == "-" => items.push(value),
            Self::Element(items, key) => {
                let number = number(key)
                    .map_err(|problem| format!("value was not a proper array index: '{key}': {problem}"))?;
                // Negative numbers count from behind the last element.
                let at = from_end(items.len() + 1, number).filter(|at| *at <= items.len());
                items.insert(at.ok_or_else(|| invalid(number))?, value);
            }
        }
        Ok(())
    }

    pub(super) fn replace(&mut self, value: Node) -> Result<(), String> {
        match self {
            // A key that is missing is added: the library's habit (KZ-853).
            Self::Field(map, key) => map.set(key, value),
            Self::Element(items, key) => {
                let at = existing(items.len(), key)?;
                if let Some(slot) = items.get_mut(at) {
                    *slot = value;
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self) -> Result<Node, String> {
        match self {
            Self::Field(map, key) => map
                .remove(key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
            Self::Element(items, key) => {
                let at = existing(items.len(), key)?;
                Ok(items.remove(at))
            }
        }
    }
}

/// The position of an element that must be there.
fn existing(length: usize, key: &str) -> Result<usize, String> {
    let number = number(key)?;
    from_end(length, number).filter(|at| *at < length).ok_or_else(|| invalid(number))
}

/// Reads the number of an element; what is none is told as Go does.
fn number(key: &str) -> Result<isize, String> {
    key.parse().map_err(|error: ParseIntError| {
        let is_far = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        let problem = if is_far { "value out of range" } else { "invalid syntax" };
        format!("strconv.Atoi: parsing {key:?}: {problem}")
    })
}

fn from_end(length: usize, number: isize) -> Option<usize> {
    usize::try_from(number).ok().or_else(|| length.checked_sub(number.unsigned_abs()))
}

fn invalid(number: isize) -> String {
    format!("Unable to access invalid index: {number}: invalid index referenced")
}
