//! `<<` merge keys (KZ-604).

use crate::{Entry, Map, Node};

/// Adds what `merges` hold to `map`; keys that are written out win, and earlier mappings win over later ones.
pub(super) fn apply(map: &mut Map, merges: Vec<Node>) -> Result<(), &'static str> {
    let mut merges = merges.into_iter();
    let Some(value) = merges.next() else { return Ok(()) };
    if merges.next().is_some() {
        return Err("duplicate merge key");
    }
    match value {
        Node::Map(merged) => add(map, merged),
        Node::Seq(list) => {
            for merged in list {
                match merged {
                    Node::Map(merged) => add(map, merged),
                    Node::Seq(_) => return Err("invalid map merge: received a nested sequence"),
                    Node::Scalar(_) => return Err("invalid map merge: received alias for a non-map value"),
                }
            }
        }
        Node::Scalar(_) => return Err("map merge requires map or sequence of maps as the value"),
    }
    Ok(())
}

fn add(map: &mut Map, merged: Map) {
    let new: Vec<Entry> = {
        let present = map.index();
        merged.entries.into_iter().filter(|entry| present.get(&entry.key.text).is_none()).collect()
    };
    map.entries.extend(new);
}
