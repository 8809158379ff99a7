//! How a document was laid out: a tree beside the nodes, child by child.

use std::sync::Arc;

use granit_parser::{Event, Options, Parser, Placement, StructureStyle};

use crate::{Source, YamlError};

/// The layout of one node. Children are the values of a mapping or the elements of a list.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Written in brackets.
    pub(super) is_flow: bool,
    pub(super) children: Vec<Layout>,
    /// Comments on lines of their own above the key or element.
    pub(super) head: Vec<String>,
    /// The comment behind the value, or behind the key of a collection.
    pub(super) line: Option<String>,
    /// Comments at the end of the document.
    pub(super) foot: Vec<String>,
}

/// A node that is being read.
#[derive(Default)]
struct Open {
    layout: Layout,
    is_map: bool,
    /// A key was read, its value is next; holds the comments above the key.
    key: Option<Vec<String>>,
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    pending: Vec<String>,
    root: Layout,
}

impl Layout {
    pub(super) fn read(source: &Arc<Source>) -> Result<Self, YamlError> {
        let mut options = Options::default();
        // Long comment blocks are common at the top of configuration files (DEP-YAML-4).
        options.max_buffered_comment_events = 65_536;
        let mut reader = Reader::default();
        for next in Parser::new_from_str_with_options(source.as_str(), options) {
            let (event, _) = next
                .map_err(|error| YamlError::Syntax { line: error.marker().line(), problem: error.info() })?;
            match event {
                Event::Comment(text, placement) => reader.comment(text.into_owned(), placement),
                Event::MappingStart(style, ..) => reader.start(true, style == StructureStyle::Flow),
                Event::SequenceStart(style, ..) => reader.start(false, style == StructureStyle::Flow),
                Event::MappingEnd | Event::SequenceEnd => reader.end(),
                Event::Scalar(..) | Event::Alias(_) => reader.leaf(),
                Event::DocumentEnd => break,
                _ => {}
            }
        }
        reader.root.foot.append(&mut reader.pending);
        Ok(reader.root)
    }
}

impl Reader {
    fn comment(&mut self, text: String, placement: Placement) {
        if placement == Placement::Right
            && let Some(place) = self.line_of()
        {
            *place = Some(text);
            return;
        }
        self.pending.push(text);
    }

    /// Where a comment behind something goes: the value that was read last, or the key that waits for one.
    fn line_of(&mut self) -> Option<&mut Option<String>> {
        let open = self.open.last_mut()?;
        match open.layout.children.last_mut() {
            _ if open.key.is_some() => None,
            Some(child) => Some(&mut child.line),
            None => Some(&mut open.layout.line),
        }
    }

    fn start(&mut self, is_map: bool, is_flow: bool) {
        let head = self.take_head();
        let layout = Layout { is_flow, head, ..Layout::default() };
        self.open.push(Open { layout, is_map, key: None });
    }

    fn leaf(&mut self) {
        if let Some(open) = self.open.last_mut()
            && open.is_map
            && open.key.is_none()
        {
            open.key = Some(std::mem::take(&mut self.pending));
            return;
        }
        let head = self.take_head();
        self.close(Layout { head, ..Layout::default() });
    }

    /// The comments above the node that starts: those above its key, or those just read.
    fn take_head(&mut self) -> Vec<String> {
        match self.open.last_mut().and_then(|open| open.key.take()) {
            Some(head) => head,
            None => std::mem::take(&mut self.pending),
        }
    }

    fn end(&mut self) {
        if let Some(open) = self.open.pop() {
            self.close(open.layout);
        }
    }

    fn close(&mut self, layout: Layout) {
        match self.open.last_mut() {
            Some(open) => open.layout.children.push(layout),
            None => self.root = layout,
        }
    }
}
