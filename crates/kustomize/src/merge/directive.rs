//! `$patch` directives.

use weir_yaml::{Map, Node};

use crate::Error;
use crate::patch::error::PatchError;

/// The key that holds a directive.
pub(super) const KEY: &str = "$patch";

/// The effect of a directive on the node that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            other => Err(PatchError::UnknownDirective(other.to_owned()).into()),
        }
    }

    /// Reads and removes the directive of a mapping; none means merge.
    pub(super) fn take_from_map(map: &mut Map) -> Result<Self, Error> {
        let Some(value) = map.get(KEY) else { return Ok(Self::Merge) };
        let directive = Self::parse(value.text().unwrap_or_default())?;
        map.remove(KEY);
        Ok(directive)
    }

    /// Reads and removes the directive of a list: the first element with a directive, if it has nothing else.
    pub(super) fn take_from_list(items: &mut Vec<Node>) -> Result<Self, Error> {
        let carrier = items.iter().find(|item| item.get(KEY).is_some());
        let Some(text) = carrier.filter(|item| item.as_map().is_some_and(|map| map.len() == 1)) else {
            return Ok(Self::Merge);
        };
        let text = text.text_at(&[KEY]).unwrap_or_default().to_owned();
        let directive = Self::parse(&text)?;
        items.retain(|item| {
            !item.is_null() && !is_empty_map(item) && item.text_at(&[KEY]) != Some(text.as_str())
        });
        Ok(directive)
    }
}

pub(super) fn is_empty_map(node: &Node) -> bool {
    node.as_map().is_some_and(Map::is_empty)
}
