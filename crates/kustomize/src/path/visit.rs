//! Changing every value that a path leads to, making what is missing if asked (KZ-1107, KZ-1108).

use weir_yaml::{Limits, Map, Node, Scalar, Source, parse_first_document};

use super::{Part, PathError};
use crate::Error;

/// True when missing parts of a path are made, and what the last one becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creating {
    /// Nothing is made.
    No,
    /// The last part becomes a scalar without text.
    Scalar,
    /// The last part becomes a mapping.
    Mapping,
    /// The last part becomes a list.
    Sequence,
}

impl Creating {
    /// Made for a value like this one.
    pub(crate) fn like(node: &Node) -> Self {
        match node {
            Node::Scalar(_) => Self::Scalar,
            Node::Map(_) => Self::Mapping,
            Node::Seq(_) => Self::Sequence,
        }
    }

    /// Returns the node made for a missing part, given the part behind it.
    pub(super) fn node_before(self, next: Option<&Part>) -> Option<Node> {
        Some(match (self, next) {
            (Self::No, _) => return None,
            (_, Some(Part::Match { .. } | Part::Index(0..))) => Node::Seq(Vec::new()),
            (_, Some(_)) | (Self::Mapping, None) => Node::map(),
            (Self::Scalar, None) => Node::plain(""),
            (Self::Sequence, None) => Node::Seq(Vec::new()),
        })
    }
}

/// The change made to each value.
type Change<'c> = dyn FnMut(&mut Node) -> Result<(), Error> + 'c;

/// Calls `change` for every value at `path` and returns their number.
///
/// A path may lead into a null, or into the text of a scalar. The reference makes and changes things there that nobody
/// ever sees, and is content.
///
/// # Errors
/// The path does not fit the document, or `change` fails.
pub(crate) fn visit(
    node: &mut Node,
    path: &[Part],
    creating: Creating,
    change: &mut Change<'_>,
) -> Result<usize, Error> {
    let Some((part, rest)) = path.split_first() else {
        change(node)?;
        return Ok(1);
    };
    let mut unseen;
    let node = if node.is_null() {
        unseen = empty_for(part);
        &mut unseen
    } else {
        node
    };
    match part {
        Part::Every => each(node, rest, creating, change),
        Part::Index(index @ 0..) => by_index(node, *index, rest, creating, change),
        Part::Index(index) => by_key(node, &index.to_string(), rest, creating, change),
        Part::Key(key) if key.starts_with('[') && key.ends_with(']') => {
            Err(PathError::Selector(key.clone()).into())
        }
        Part::Key(key) => by_key(node, key, rest, creating, change),
        Part::Match { field, value, pattern } => {
            let Some(pattern) = pattern else { return Err(PathError::Pattern(value.clone()).into()) };
            let found = matching(node, (field, pattern), rest, creating, change)?;
            if found > 0 || creating == Creating::No {
                return Ok(found);
            }
            sequence(node)?.push(new_element(field, value));
            matching(node, (field, pattern), rest, creating, change)
        }
    }
}

/// Returns the empty node that a path finds in a null.
fn empty_for(part: &Part) -> Node {
    match part {
        Part::Key(_) | Part::Index(..0) => Node::map(),
        Part::Index(_) | Part::Match { .. } | Part::Every => Node::Seq(Vec::new()),
    }
}

pub(super) fn sequence(node: &mut Node) -> Result<&mut Vec<Node>, Error> {
    let found = node.kind_name();
    node.as_seq_mut().ok_or_else(|| PathError::NodeKind { wanted: "SequenceNode", found }.into())
}

fn each(node: &mut Node, rest: &[Part], creating: Creating, change: &mut Change<'_>) -> Result<usize, Error> {
    let mut found = 0;
    for item in sequence(node)? {
        found += visit(item, rest, creating, change)?;
    }
    Ok(found)
}

fn by_index(
    node: &mut Node,
    index: i64,
    rest: &[Part],
    creating: Creating,
    change: &mut Change<'_>,
) -> Result<usize, Error> {
    let items = sequence(node)?;
    let at = usize::try_from(index).unwrap_or(usize::MAX);
    if at == items.len()
        && let Some(made) = creating.node_before(rest.first())
    {
        items.push(made);
    }
    let length = items.len();
    match items.get_mut(at) {
        Some(item) => visit(item, rest, creating, change),
        None => Err(PathError::OutOfRange { index, length }.into()),
    }
}

fn by_key(
    node: &mut Node,
    key: &str,
    rest: &[Part],
    creating: Creating,
    change: &mut Change<'_>,
) -> Result<usize, Error> {
    let made = creating.node_before(rest.first());
    let found = node.kind_name();
    // A part without text means a scalar, for which there is no use.
    let wanted = if key.is_empty() { "ScalarNode" } else { "MappingNode" };
    let Some(map) = node.as_map_mut().filter(|_| !key.is_empty()) else {
        return Err(PathError::NodeKind { wanted, found }.into());
    };
    let field = match made {
        Some(made) => map.get_or_insert_with(key, || made),
        None => map.get_mut(key),
    };
    match field {
        None => Ok(0),
        Some(Node::Scalar(text)) if !rest.is_empty() => {
            visit(&mut document_in(text)?, rest, creating, change)
        }
        Some(field) => visit(field, rest, creating, change),
    }
}

/// The YAML document that a text holds.
fn document_in(scalar: &Scalar) -> Result<Node, Error> {
    let source = Source::file("", scalar.text.to_string());
    let document = parse_first_document(&source, &Limits::default()).ok().flatten();
    document.ok_or_else(|| PathError::NodeKind { wanted: "MappingNode", found: "ScalarNode" }.into())
}

/// Elements of which a field, or which themselves, match an expression anywhere in their text (QK-10).
fn matching(
    node: &mut Node,
    (field, pattern): (&str, &regex::Regex),
    rest: &[Part],
    creating: Creating,
    change: &mut Change<'_>,
) -> Result<usize, Error> {
    let mut found = 0;
    for item in sequence(node)? {
        let value = if field.is_empty() { Some(&*item) } else { item.get(field) };
        if !value.is_some_and(|value| pattern.is_match(&yaml_text(value))) {
            continue;
        }
        // A value in a list of scalars is the end of its path.
        found += visit(item, if field.is_empty() { &[] } else { rest }, creating, change)?;
    }
    Ok(found)
}

/// The text of a value as YAML writes it, quotes included.
fn yaml_text(node: &Node) -> String {
    use weir_yaml::Style;
    match node {
        Node::Scalar(scalar) => match scalar.style {
            Style::Double => format!("\"{}\"", scalar.text),
            Style::Single => format!("'{}'", scalar.text),
            _ => scalar.text.trim().to_owned(),
        },
        other => {
            let mut text = String::new();
            // A value that cannot be rendered does not match.
            let _rendered = weir_yaml::emit(other, &mut text);
            text.trim().to_owned()
        }
    }
}

pub(super) fn new_element(field: &str, value: &str) -> Node {
    if field.is_empty() {
        return Node::plain(value);
    }
    let mut map = Map::new();
    map.set(field, Node::plain(value));
    Node::Map(map)
}
