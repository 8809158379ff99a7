//! Builds the tree bottom-up on two scratch stacks, so that every collection is allocated once, at its size.

use std::collections::HashMap;
use std::sync::Arc;

use super::merge;
use crate::{Entry, Limits, Map, Node, Scalar, Source, Style, Tag, YamlError};

/// Receives the events of one document.
pub(super) struct Builder<'s> {
    source: &'s Arc<Source>,
    limits: &'s Limits,
    base: usize,
    frames: Vec<Frame>,
    entries: Vec<Entry>,
    items: Vec<Node>,
    anchors: HashMap<usize, Node>,
    /// The size of what is kept for aliases.
    anchored: Expanded,
    expanded: &'s mut Expanded,
    root: Option<Node>,
}

/// The size of what aliases and merge keys have added so far, or of what is kept for them.
#[derive(Clone, Copy, Default)]
pub(super) struct Expanded {
    nodes: usize,
    bytes: usize,
}

/// A collection that is still open.
struct Frame {
    kind: FrameKind,
    anchor: usize,
    at: usize,
}

enum FrameKind {
    Map { first: usize, key: Option<Scalar>, merges: Vec<Node> },
    Seq { first: usize },
}

impl<'s> Builder<'s> {
    pub(super) fn new(
        source: &'s Arc<Source>,
        base: usize,
        limits: &'s Limits,
        expanded: &'s mut Expanded,
    ) -> Self {
        Self {
            source,
            limits,
            base,
            frames: Vec::new(),
            entries: Vec::new(),
            items: Vec::new(),
            anchors: HashMap::new(),
            anchored: Expanded::default(),
            expanded,
            root: None,
        }
    }

    pub(super) fn finish(self) -> Option<Node> {
        self.root
    }

    /// Returns true when the next node is a key.
    pub(super) fn awaits_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { kind: FrameKind::Map { key: None, .. }, .. }))
    }

    pub(super) fn scalar(&mut self, scalar: Scalar, anchor: usize) -> Result<(), YamlError> {
        let node = Node::Scalar(scalar);
        self.keep(anchor, &node, self.base)?;
        self.push(node, self.base)
    }

    pub(super) fn start_map(&mut self, anchor: usize, at: usize) -> Result<(), YamlError> {
        let kind = FrameKind::Map { first: self.entries.len(), key: None, merges: Vec::new() };
        self.open(Frame { kind, anchor, at })
    }

    pub(super) fn start_seq(&mut self, anchor: usize, at: usize) -> Result<(), YamlError> {
        self.open(Frame { kind: FrameKind::Seq { first: self.items.len() }, anchor, at })
    }

    fn open(&mut self, frame: Frame) -> Result<(), YamlError> {
        if self.frames.len() >= self.limits.depth {
            return Err(YamlError::TooDeep { line: self.source.line_at(frame.at), limit: self.limits.depth });
        }
        self.frames.push(frame);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), YamlError> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let node = match frame.kind {
            FrameKind::Map { first, merges, .. } => {
                let mut map = Map { entries: self.entries.drain(first.min(self.entries.len())..).collect() };
                if !merges.is_empty() {
                    self.spend(merges.iter().map(size).sum(), frame.at)?;
                    merge::apply(&mut map, merges).map_err(|problem| YamlError::Merge {
                        line: self.source.line_at(frame.at),
                        problem,
                    })?;
                }
                Node::Map(map)
            }
            FrameKind::Seq { first } => Node::Seq(self.items.drain(first.min(self.items.len())..).collect()),
        };
        self.keep(frame.anchor, &node, frame.at)?;
        self.push(node, frame.at)
    }

    pub(super) fn alias(&mut self, anchor: usize, at: usize) -> Result<(), YamlError> {
        let Some(node) = self.anchors.get(&anchor) else {
            // The anchor is known to the parser but still open: it would contain itself.
            return Err(YamlError::Syntax {
                line: self.source.line_at(at),
                problem: "anchor value contains itself".to_owned(),
            });
        };
        let node = node.clone();
        self.spend(size(&node), at)?;
        self.push(node, at)
    }

    /// Hands a finished node to the collection it belongs to.
    fn push(&mut self, node: Node, at: usize) -> Result<(), YamlError> {
        match self.frames.last_mut().map(|frame| &mut frame.kind) {
            None => self.root = Some(node),
            Some(FrameKind::Seq { .. }) => self.items.push(node),
            Some(FrameKind::Map { key, merges, .. }) => match key.take() {
                None => match node {
                    Node::Scalar(scalar) => *key = Some(scalar),
                    _ => return Err(YamlError::ComplexKey { line: self.source.line_at(at) }),
                },
                Some(key) if is_merge(&key) => merges.push(node),
                Some(key) => self.entries.push(Entry { key, value: node }),
            },
        }
        Ok(())
    }

    /// Keeps a node for aliases, if it has an anchor.
    fn keep(&mut self, anchor: usize, node: &Node, at: usize) -> Result<(), YamlError> {
        if anchor == 0 {
            return Ok(());
        }
        self.anchored = [self.anchored, size(node)].into_iter().sum();
        let limit = Expanded { nodes: self.limits.anchor_nodes, bytes: self.limits.anchor_bytes };
        self.check(self.anchored, limit, at)?;
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn spend(&mut self, size: Expanded, at: usize) -> Result<(), YamlError> {
        *self.expanded = [*self.expanded, size].into_iter().sum();
        let limit = Expanded { nodes: self.limits.alias_nodes, bytes: self.limits.alias_bytes };
        self.check(*self.expanded, limit, at)
    }

    fn check(&self, size: Expanded, limit: Expanded, at: usize) -> Result<(), YamlError> {
        let (limit, unit) = match size {
            size if size.nodes > limit.nodes => (limit.nodes, "nodes"),
            size if size.bytes > limit.bytes => (limit.bytes, "bytes"),
            _ => return Ok(()),
        };
        Err(YamlError::ExcessiveAliasing { line: self.source.line_at(at), limit, unit })
    }
}

impl std::iter::Sum for Expanded {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |sum, size| Self {
            nodes: sum.nodes.saturating_add(size.nodes),
            bytes: sum.bytes.saturating_add(size.bytes),
        })
    }
}

fn is_merge(key: &Scalar) -> bool {
    key.style == Style::Plain && key.tag != Tag::Custom && key.text == "<<"
}

/// Returns the size that a second copy of a node adds.
fn size(node: &Node) -> Expanded {
    let one = |bytes| Expanded { nodes: 1, bytes };
    match node {
        Node::Scalar(scalar) => one(scalar.text.len()),
        Node::Map(map) => {
            let entries =
                map.entries.iter().flat_map(|entry| [one(entry.key.text.len()), size(&entry.value)]);
            entries.chain([one(0)]).sum()
        }
        Node::Seq(items) => items.iter().map(size).chain([one(0)]).sum(),
    }
}
