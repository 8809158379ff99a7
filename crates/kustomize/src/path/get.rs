//! Reading one value along a path.

use weir_yaml::Node;

use super::Part;

/// A path that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `*` where one value is wanted.
    #[error("wildcard is not supported in PathGetter")]
    Wildcard,
    /// A position below zero.
    #[error("array index {0} cannot be negative")]
    NegativeIndex(i64),
    /// The path goes on where the document has a value of another kind.
    #[error("wrong node kind: expected {wanted} but got {found}")]
    NodeKind {
        /// The kind that the path needs.
        wanted: &'static str,
        /// The kind that is there.
        found: &'static str,
    },
    /// A position behind the last element.
    #[error("index {index} specified but only {length} elements found")]
    OutOfRange {
        /// The position.
        index: i64,
        /// Number of elements.
        length: usize,
    },
    /// Brackets that hold neither a dotted key nor `field=value`.
    #[error("list path element must contain fieldName=fieldValue for element to match: {0}")]
    Selector(String),
    /// A `[key=expression]` whose expression is none.
    #[error("error parsing regexp: `{0}`")]
    Pattern(String),
}

/// The value at a path; `None` where something is missing or null on the way (KZ-1104).
///
/// # Errors
/// The path does not fit the document.
pub(crate) fn get<'n>(node: &'n Node, path: &[Part]) -> Result<Option<&'n Node>, PathError> {
    let mut node = node;
    for part in path {
        if node.is_null() {
            return Ok(None);
        }
        let next = match part {
            Part::Every => return Err(PathError::Wildcard),
            Part::Index(index) if *index < 0 => return Err(PathError::NegativeIndex(*index)),
            Part::Index(index) => usize::try_from(*index)
                .ok()
                .and_then(|index| sequence(node).map(|items| items.get(index)).transpose()),
            Part::Key(key) if key == "-" => sequence(node).map(|items| items.last()).transpose(),
            Part::Key(key) => match node {
                Node::Map(map) => map.get(key).map(Ok),
                other => Some(Err(PathError::NodeKind { wanted: "MappingNode", found: other.kind_name() })),
            },
            Part::Match { field, value, .. } => sequence(node)
                .map(|items| items.iter().find(|item| has_value(item, field, value)))
                .transpose(),
        };
        match next {
            Some(found) => node = found?,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

fn sequence(node: &Node) -> Result<&[Node], PathError> {
    node.as_seq().ok_or(PathError::NodeKind { wanted: "SequenceNode", found: node.kind_name() })
}

pub(super) fn has_value(element: &Node, field: &str, value: &str) -> bool {
    let node = if field.is_empty() { Some(element) } else { element.get(field) };
    node.and_then(Node::text) == Some(value)
}
