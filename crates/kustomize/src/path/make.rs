//! Finding one field along a path, and making it where it is missing.

use weir_yaml::Node;

use super::get::has_value;
use super::visit::{new_element, sequence};
use super::{Creating, Part, PathError};
use crate::Error;

/// The field at a path; fields and elements of `[key=value]` are made. `None` below a null and behind the end of a list.
///
/// # Errors
/// The path does not fit the document.
pub(crate) fn find_or_make<'n>(node: &'n mut Node, path: &[Part]) -> Result<Option<&'n mut Node>, Error> {
    let Some((part, rest)) = path.split_first() else { return Ok(Some(node)) };
    if node.is_null() {
        return Ok(None);
    }
    let next = match part {
        Part::Every => return Err(PathError::Wildcard.into()),
        Part::Index(index) => {
            let at = usize::try_from(*index).map_err(|_| PathError::NegativeIndex(*index))?;
            sequence(node)?.get_mut(at)
        }
        Part::Key(key) if key == "-" => sequence(node)?.last_mut(),
        Part::Key(key) if key.starts_with('[') => return Err(PathError::Selector(key.clone()).into()),
        Part::Key(key) => {
            if !matches!(node, Node::Map(_)) {
                return Err(Error::wrong_kind("MappingNode", node));
            }
            let made = Creating::Scalar.node_before(rest.first()).unwrap_or_else(Node::map);
            node.as_map_mut().and_then(|map| map.get_or_insert_with(key, || made))
        }
        Part::Match { field, value, .. } => {
            let items = sequence(node)?;
            if !items.iter().any(|item| has_value(item, field, value)) {
                items.push(new_element(field, value));
            }
            items.iter_mut().find(|item| has_value(item, field, value))
        }
    };
    next.map_or(Ok(None), |next| find_or_make(next, rest))
}
