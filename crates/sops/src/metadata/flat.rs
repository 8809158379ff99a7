//! Metadata in formats without nesting: `sops_age__list_0__map_enc` (KS-SOPS-6).

use std::collections::BTreeMap;

use crate::error::MetadataError;
use crate::tree::{Element, Member, Node, Value};

const MAP: &str = "__map_";
const LIST: &str = "__list_";
/// Levels below a key; real metadata has five.
const MAX_DEPTH: usize = 16;

/// A node in the making.
#[derive(Default)]
struct Open {
    value: Option<Node>,
    keys: BTreeMap<String, Self>,
    positions: BTreeMap<usize, Self>,
}

enum Step<'k> {
    Key(&'k str),
    Position(usize),
}

/// Makes the tree that flat keys stand for.
pub(crate) fn unflatten<'n>(
    entries: impl Iterator<Item = (&'n str, &'n Node)>,
) -> Result<Node, MetadataError> {
    let mut root = Open::default();
    for (key, node) in entries {
        let contradiction = || MetadataError::Flattened { key: key.to_owned() };
        let steps = steps(key).ok_or_else(contradiction)?;
        let mut place = &mut root;
        for step in steps {
            place = match step {
                Step::Key(key) => place.keys.entry(key.to_owned()).or_default(),
                Step::Position(position) => place.positions.entry(position).or_default(),
            };
        }
        if place.value.replace(node.clone()).is_some() {
            return Err(contradiction());
        }
    }
    close(root).ok_or_else(|| MetadataError::Flattened { key: super::KEY.to_owned() })
}

fn steps(key: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let mut rest = key;
    let mut is_list = false;
    loop {
        let next = [rest.find(MAP).map(|at| (at, MAP)), rest.find(LIST).map(|at| (at, LIST))];
        let next = next.into_iter().flatten().min();
        let (part, after) = match next {
            Some((at, separator)) => (rest.get(..at)?, rest.get(at + separator.len()..)),
            None => (rest, None),
        };
        steps.push(if is_list { Step::Position(part.parse().ok()?) } else { Step::Key(part) });
        if steps.len() > MAX_DEPTH {
            return None;
        }
        match (next, after) {
            (Some((_, separator)), Some(after)) => {
                is_list = separator == LIST;
                rest = after;
            }
            _ => return Some(steps),
        }
    }
}

/// Nothing where a node is two things at once, or a list has holes.
fn close(open: Open) -> Option<Node> {
    let kinds = [open.value.is_some(), !open.keys.is_empty(), !open.positions.is_empty()];
    if kinds.iter().filter(|kind| **kind).count() > 1 {
        return None;
    }
    if let Some(value) = open.value {
        return Some(value);
    }
    if !open.positions.is_empty() {
        let is_whole = open.positions.keys().enumerate().all(|(index, position)| index == *position);
        let elements = open.positions.into_values().map(|open| close(open).map(Element::Node));
        return if is_whole { elements.collect::<Option<_>>().map(Node::List) } else { None };
    }
    let members = open.keys.into_iter().map(|(key, open)| Some(Member::Entry(key, close(open)?)));
    members.collect::<Option<_>>().map(Node::Map)
}

/// Makes flat keys of a tree, in its order.
pub(crate) fn flatten(node: &Node, prefix: &str, flat: &mut Vec<(String, Value)>) {
    match node {
        Node::Value(value) => flat.push((prefix.to_owned(), value.clone())),
        Node::List(_) => {
            for (index, element) in node.elements().enumerate() {
                flatten(element, &format!("{prefix}{LIST}{index}"), flat);
            }
        }
        Node::Map(_) => {
            for (key, value) in node.entries() {
                flatten(value, &format!("{prefix}{MAP}{key}"), flat);
            }
        }
    }
}
