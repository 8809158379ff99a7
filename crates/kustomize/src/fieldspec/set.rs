//! Writing scalars the way kyaml's field setter does (KZ-705).

use weir_yaml::{Node, Scalar, Style, Tag};

use crate::Error;

/// Replaces the text and tag of a scalar; its style stays.
///
/// # Errors
/// The node is a mapping or list.
pub(crate) fn set_scalar(node: &mut Node, text: &str, tag: Tag) -> Result<(), Error> {
    match node {
        Node::Scalar(scalar) => {
            *scalar = Scalar { text: text.into(), style: scalar.style, tag };
            Ok(())
        }
        other => Err(Error::wrong_kind("ScalarNode", other)),
    }
}

/// Sets `key` of a mapping to a string; an existing scalar keeps its style. A null that nothing has made a mapping of
/// stays as it is. Returns true when the entry is new.
///
/// # Errors
/// The node is not a mapping.
pub(crate) fn set_string_entry(node: &mut Node, key: &str, text: &str) -> Result<bool, Error> {
    if node.is_null() {
        return Ok(false);
    }
    let Some(map) = node.as_map_mut() else { return Err(Error::wrong_kind("MappingNode", node)) };
    let old = map.get(key);
    let is_new = old.is_none();
    let style = old.and_then(Node::as_scalar).map_or(Style::Plain, |scalar| scalar.style);
    map.set(key, Node::Scalar(Scalar { text: text.into(), style, tag: Tag::Str }));
    Ok(is_new)
}
