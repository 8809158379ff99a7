//! The layout of a document: a tree beside the nodes, child by child.

use std::borrow::Cow;
use std::sync::Arc;

use granit_parser::{Event, Options, Parser, Placement, ScanError, StructureStyle};

use crate::parse::Mender;
use crate::{Limits, Source, YamlError};

/// The layout of one node. Children are the values of a mapping or the elements of a list.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Written in brackets.
    pub(super) is_flow: bool,
    pub(super) children: Vec<Self>,
    /// Comments on lines of their own above the key or element; an empty one is an empty line.
    pub(super) head: Vec<String>,
    /// The comment behind the value, or behind the key of a collection.
    pub(super) line: Option<String>,
    /// Comments below the last child.
    pub(super) foot: Vec<String>,
    /// Comments at the end of the document.
    pub(super) end: Vec<String>,
}

/// A node that is being read.
#[derive(Default)]
struct Open {
    layout: Layout,
    is_map: bool,
    column: usize,
    /// A key was read, its value is next; holds the comments above the key.
    key: Option<Vec<String>>,
    /// The comment behind that key.
    key_line: Option<String>,
}

/// A comment on a line of its own.
struct Comment {
    text: String,
    column: usize,
    /// It does not stand directly below what is before it.
    is_apart: bool,
}

struct Reader<'s> {
    source: &'s str,
    /// End of the last scalar, bracket or comment.
    seen: usize,
    open: Vec<Open>,
    pending: Vec<Comment>,
    root: Layout,
}

impl Layout {
    pub(super) fn read(source: &Arc<Source>) -> Result<Self, YamlError> {
        let mut mender = Mender::default();
        let mut text = Cow::Borrowed(source.as_str());
        loop {
            let error = match Self::of(&text) {
                Ok(layout) => return Ok(layout),
                Err(error) => error,
            };
            text = match mender.mend(&text, &error, &Limits::default()) {
                Some(mended) => Cow::Owned(mended),
                None => {
                    return Err(YamlError::Syntax { line: error.marker().line(), problem: error.info() });
                }
            };
        }
    }

    fn of(text: &str) -> Result<Self, ScanError> {
        let mut options = Options::default();
        // Long comment blocks are common at the top of configuration files (DEP-YAML-4).
        options.max_buffered_comment_events = 65_536;
        let mut reader =
            Reader { source: text, seen: 0, open: Vec::new(), pending: Vec::new(), root: Self::default() };
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = next?;
            let (range, column) = (span.byte_range().unwrap_or(0..0), span.start.col());
            match event {
                Event::Comment(text, placement) => {
                    reader.comment(text.into_owned(), placement, range.start, column);
                }
                Event::MappingStart(style, ..) => {
                    let open = Open { is_map: true, column, ..Open::default() };
                    reader.start(open, style == StructureStyle::Flow, range.start);
                }
                Event::SequenceStart(style, ..) => {
                    let open = Open { column, ..Open::default() };
                    reader.start(open, style == StructureStyle::Flow, range.start);
                }
                Event::MappingEnd | Event::SequenceEnd => reader.end(),
                Event::Scalar(..) | Event::Alias(_) => reader.leaf(range.start),
                Event::DocumentEnd => break,
                _ => continue,
            }
            reader.saw(range.end);
        }
        reader.root.end = lines(std::mem::take(&mut reader.pending), true);
        Ok(reader.root)
    }
}

/// Comments as lines, with an empty one wherever there was one or more; before the first only if it `keeps_first`.
fn lines(comments: Vec<Comment>, keeps_first: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, comment) in comments.into_iter().enumerate() {
        if comment.is_apart && (index > 0 || keeps_first) {
            lines.push(String::new());
        }
        lines.push(format!("#{}", comment.text));
    }
    lines
}

impl Reader<'_> {
    fn saw(&mut self, end: usize) {
        let text = self.source.get(..end).unwrap_or_default();
        self.seen = self.seen.max(text.trim_end().len());
    }

    /// Returns true when there is an empty line between what was seen last and this place.
    fn is_apart(&self, at: usize) -> bool {
        let between = self.source.get(self.seen..at).unwrap_or_default();
        let inner = between.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n'));
        inner.is_some_and(|(lines, _)| lines.split('\n').any(|line| line.trim().is_empty()))
    }

    fn comment(&mut self, text: String, placement: Placement, at: usize, column: usize) {
        if placement == Placement::Right
            && let Some(place) = self.line_of()
        {
            *place = Some(text);
            return;
        }
        let comment = Comment { text, column, is_apart: self.is_apart(at) };
        self.pending.push(comment);
    }

    /// Returns the node that gets a comment behind something: the value that was read last, or the key that waits for one.
    fn line_of(&mut self) -> Option<&mut Option<String>> {
        let open = self.open.last_mut()?;
        match open.layout.children.last_mut() {
            _ if open.key.is_some() => Some(&mut open.key_line),
            Some(child) => Some(&mut child.line),
            None => Some(&mut open.layout.line),
        }
    }

    fn start(&mut self, mut open: Open, is_flow: bool, at: usize) {
        let line = self.open.last_mut().and_then(|open| open.key_line.take());
        // A comment above the first key of a mapping belongs to that key, not to the mapping.
        let head = self.open.last_mut().and_then(|open| open.key.take());
        let head = match head {
            Some(head) => head,
            None => self.take_pending(at),
        };
        open.layout = Layout { is_flow, head, line, ..Layout::default() };
        self.open.push(open);
    }

    fn leaf(&mut self, at: usize) {
        if self.open.last().is_some_and(|open| open.is_map && open.key.is_none()) {
            let head = self.take_pending(at);
            if let Some(open) = self.open.last_mut() {
                open.key = Some(head);
            }
            return;
        }
        let line = self.open.last_mut().and_then(|open| open.key_line.take());
        let head = match self.open.last_mut().and_then(|open| open.key.take()) {
            Some(head) => head,
            None => self.take_pending(at),
        };
        self.close(Layout { head, line, ..Layout::default() });
    }

    /// The comments above what starts here. The empty line below them stays where they belong to what is above, and at the
    /// start of the document.
    fn take_pending(&mut self, at: usize) -> Vec<String> {
        let comments = std::mem::take(&mut self.pending);
        let is_start = self.open.iter().all(|open| open.layout.children.is_empty());
        let has_sibling = self.open.last().is_some_and(|open| !open.layout.children.is_empty());
        let belongs_above = has_sibling && comments.iter().all(|comment| !comment.is_apart);
        let is_nested = self.open.len() > 1;
        let keeps_last =
            !comments.is_empty() && self.is_apart(at) && (belongs_above || is_start && !is_nested);
        let mut lines = lines(comments, false);
        if keeps_last {
            lines.push(String::new());
        }
        lines
    }

    fn end(&mut self) {
        let Some(mut open) = self.open.pop() else { return };
        let outer = self.open.last().map(|outer| outer.column);
        let is_below = |comment: &&Comment| match outer {
            Some(outer) => comment.column > outer,
            None => !comment.is_apart,
        };
        if !open.layout.is_flow {
            let count = self.pending.iter().take_while(is_below).count();
            open.layout.foot = lines(self.pending.drain(..count).collect(), false);
            open.layout.foot.retain(|line| !line.is_empty());
        }
        self.close(open.layout);
    }

    fn close(&mut self, layout: Layout) {
        match self.open.last_mut() {
            Some(open) => open.layout.children.push(layout),
            None => self.root = layout,
        }
    }
}
