//! The position in the tree of values, and which object a position belongs to.

use std::collections::HashMap;

use granit_parser::Event;

use crate::ObjectId;

/// An object of the file: a document, or an item of a list inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ObjectKey {
    document: usize,
    item: Option<usize>,
}

/// The place of a scalar.
pub(crate) struct Position {
    pub(crate) is_item: bool,
    pub(crate) object: ObjectKey,
}

/// The identities found in a file.
pub(crate) struct Identities(HashMap<ObjectKey, ObjectId>);

impl Identities {
    /// Returns the identity of the item if its document is a list, of the document otherwise.
    pub(crate) fn get(&self, key: &ObjectKey) -> ObjectId {
        let document = self.0.get(&ObjectKey { item: None, ..*key });
        let is_list = document.is_none_or(|id| matches!(id.kind.as_str(), "List" | "ResourceList"));
        let found = if is_list && key.item.is_some() { self.0.get(key) } else { document };
        found.cloned().unwrap_or_default()
    }
}

enum Frame {
    Mapping { key: Option<String> },
    Sequence { index: usize },
}

impl Frame {
    /// Returns true in the value of this key.
    fn is_at(&self, name: &str) -> bool {
        matches!(self, Self::Mapping { key: Some(key) } if key == name)
    }
}

/// Longest text of an anchor that is kept: parts of an identity are no longer.
const MAX_KEPT: usize = 253;

/// Follows the events with a stack of open collections.
#[derive(Default)]
pub(crate) struct Walk {
    document: usize,
    frames: Vec<Frame>,
    identities: HashMap<ObjectKey, ObjectId>,
    /// Short texts that aliases may stand for, by anchor.
    anchored: HashMap<usize, String>,
}

impl Walk {
    /// Takes one event; returns the position if it is a scalar that is a mapping's value or a sequence's item.
    pub(crate) fn step(&mut self, event: &Event<'_>) -> Option<Position> {
        match event {
            Event::DocumentStart(..) => {
                self.document += 1;
                self.frames.clear();
            }
            Event::MappingStart(..) => self.frames.push(Frame::Mapping { key: None }),
            Event::SequenceStart(..) => self.frames.push(Frame::Sequence { index: 0 }),
            Event::MappingEnd | Event::SequenceEnd => {
                self.frames.pop();
                self.node_done(String::new());
            }
            Event::Alias(anchor) => {
                let text = self.anchored.get(anchor).cloned().unwrap_or_default();
                if self.position().is_some() {
                    self.note(&text);
                }
                self.node_done(text);
            }
            Event::UnresolvedAlias(_) => self.node_done(String::new()),
            Event::Scalar(value, _, anchor, _) => {
                if *anchor != 0 && value.len() <= MAX_KEPT {
                    self.anchored.insert(*anchor, value.to_string());
                }
                let position = self.position();
                if position.is_some() {
                    self.note(value);
                }
                self.node_done(value.to_string());
                return position;
            }
            _ => {}
        }
        None
    }

    pub(crate) fn finish(self) -> Identities {
        Identities(self.identities)
    }

    fn position(&self) -> Option<Position> {
        let is_item = match self.frames.last()? {
            Frame::Mapping { key: None } => return None,
            Frame::Mapping { .. } => false,
            Frame::Sequence { .. } => true,
        };
        Some(Position { is_item, object: self.object().0 })
    }

    /// The object around the current place, and the frames inside it: an item of the document's `items` or of
    /// a sequence that is the document, else the document.
    fn object(&self) -> (ObjectKey, &[Frame]) {
        let (item, inside) = match self.frames.as_slice() {
            [Frame::Sequence { index }, inside @ ..] => (Some(*index), inside),
            [Frame::Mapping { key: Some(key) }, Frame::Sequence { index }, inside @ ..] if key == "items" => {
                (Some(*index), inside)
            }
            frames => (None, frames),
        };
        (ObjectKey { document: self.document, item }, inside)
    }

    /// Records a scalar that is part of an object's identity.
    fn note(&mut self, value: &str) {
        let (object, inside) = self.object();
        let part: fn(&mut ObjectId) -> &mut String = match inside {
            [field] if field.is_at("apiVersion") => |id| &mut id.api_version,
            [field] if field.is_at("kind") => |id| &mut id.kind,
            [metadata, field] if metadata.is_at("metadata") && field.is_at("name") => |id| &mut id.name,
            [metadata, field] if metadata.is_at("metadata") && field.is_at("namespace") => {
                |id| &mut id.namespace
            }
            _ => return,
        };
        value.clone_into(part(self.identities.entry(object).or_default()));
    }

    /// A node is complete: a key waits for its value, a value clears the key, an item moves the index.
    fn node_done(&mut self, text: String) {
        match self.frames.last_mut() {
            Some(Frame::Mapping { key }) => *key = if key.is_some() { None } else { Some(text) },
            Some(Frame::Sequence { index }) => *index += 1,
            None => {}
        }
    }
}
