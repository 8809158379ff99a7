//! Writing a document again as it was written: order, styles and comments stay, indentation becomes the
//! reference's (KZ-1111). Only for text inside of fields; resources are written by [`crate::emit`].

mod layout;
mod scalar;

use std::sync::Arc;

use layout::Layout;

use crate::emit::pad;
use crate::{Map, Node, Source, YamlError};

/// Columns per nesting level.
const INDENT: usize = 2;

/// Prints `node`, which was parsed from the first document of `source` and then changed: values may have been
/// replaced, entries and elements appended.
///
/// # Errors
/// The source is not YAML.
pub fn reprint(source: &Arc<Source>, node: &Node) -> Result<String, YamlError> {
    let layout = Layout::read(source)?;
    let mut printer = Printer { out: String::new() };
    printer.comments(&layout.head, 0);
    match node {
        node if is_block(node, Some(&layout)) => printer.block(node, Some(&layout), 0, false),
        node => {
            printer.inline(node, Some(&layout), 0, false);
            printer.end_line(Some(&layout), 0);
        }
    }
    printer.comments(&layout.end, 0);
    Ok(printer.out)
}

/// Returns true when a node is written over several lines.
fn is_block(node: &Node, layout: Option<&Layout>) -> bool {
    let is_collection = !matches!(node, Node::Scalar(_)) && !node.is_empty_collection();
    is_collection && !layout.is_some_and(|layout| layout.is_flow)
}

struct Printer {
    out: String,
}

impl Printer {
    /// Writes a non-empty collection; `inline` is true when its first line has begun already.
    fn block(&mut self, node: &Node, layout: Option<&Layout>, indent: usize, inline: bool) {
        match node {
            Node::Map(map) => self.map(map, layout, indent, inline),
            Node::Seq(items) => self.seq(items, layout, indent, inline),
            Node::Scalar(_) => {}
        }
    }

    fn map(&mut self, map: &Map, layout: Option<&Layout>, indent: usize, mut inline: bool) {
        for (index, entry) in map.entries.iter().enumerate() {
            let child = layout.and_then(|layout| layout.children.get(index));
            self.start_line(child, indent, std::mem::take(&mut inline));
            scalar::write(&mut self.out, &entry.key, indent, scalar::Place::Key);
            self.out.push(':');
            self.value(&entry.value, child, indent);
            let is_list = matches!(entry.value, Node::Seq(_)) && is_block(&entry.value, child);
            let below = child.filter(|_| is_list);
            self.foot(layout, index, map.len(), indent, below);
        }
    }

    fn value(&mut self, value: &Node, layout: Option<&Layout>, indent: usize) {
        if !is_block(value, layout) {
            self.out.push(' ');
            let start = self.out.len();
            self.inline(value, layout, indent, false);
            self.end_line(layout, start);
            return;
        }
        self.end_line(layout, self.out.len());
        // Lists stand at the column of their key.
        let inner = if matches!(value, Node::Seq(_)) { indent } else { indent + INDENT };
        self.block(value, layout, inner, false);
    }

    fn seq(&mut self, items: &[Node], layout: Option<&Layout>, indent: usize, mut inline: bool) {
        for (index, item) in items.iter().enumerate() {
            let child = layout.and_then(|layout| layout.children.get(index));
            self.start_line(child, indent, std::mem::take(&mut inline));
            self.out.push_str("- ");
            if is_block(item, child) {
                self.block(item, child, indent + INDENT, true);
            } else {
                let start = self.out.len();
                self.inline(item, child, indent, false);
                self.end_line(child, start);
            }
            self.foot(layout, index, items.len(), indent, None);
        }
    }

    /// Writes the comments below the last child there was. An empty line separates them from anything that follows at
    /// the same column; `list` was written there too.
    fn foot(
        &mut self,
        layout: Option<&Layout>,
        index: usize,
        count: usize,
        indent: usize,
        list: Option<&Layout>,
    ) {
        let own = layout.filter(|layout| layout.children.len() == index + 1);
        if let Some(layout) = own {
            self.comments(&layout.foot, indent);
        }
        let ends_in_comment = [own, list].into_iter().flatten().any(|layout| !layout.foot.is_empty());
        if ends_in_comment && index + 1 < count {
            self.out.push('\n');
        }
    }

    /// Writes what stays on one line: scalars, empty and flow collections.
    fn inline(&mut self, node: &Node, layout: Option<&Layout>, indent: usize, in_flow: bool) {
        let child = |index: usize| layout.and_then(|layout| layout.children.get(index));
        match node {
            Node::Scalar(value) => {
                let place = if in_flow { scalar::Place::Flow } else { scalar::Place::Block };
                scalar::write(&mut self.out, value, indent, place);
            }
            Node::Map(map) => {
                self.out.push('{');
                for (index, entry) in map.entries.iter().enumerate() {
                    self.separate(index);
                    scalar::write(&mut self.out, &entry.key, indent, scalar::Place::Flow);
                    self.out.push_str(": ");
                    self.inline(&entry.value, child(index), indent, true);
                }
                self.out.push('}');
            }
            Node::Seq(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.separate(index);
                    self.inline(item, child(index), indent, true);
                }
                self.out.push(']');
            }
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    fn start_line(&mut self, layout: Option<&Layout>, indent: usize, inline: bool) {
        if inline {
            return;
        }
        if let Some(layout) = layout {
            self.comments(&layout.head, indent);
        }
        pad(&mut self.out, indent);
    }

    /// Ends the line of what was written from `start` on. A comment stands behind the header of a block.
    fn end_line(&mut self, layout: Option<&Layout>, start: usize) {
        if self.out.ends_with(' ') {
            self.out.pop();
        }
        if let Some(comment) = layout.and_then(|layout| layout.line.as_ref()) {
            let written = self.out.get(start..).unwrap_or_default();
            let header = written.starts_with(['|', '>']).then(|| written.find('\n')).flatten();
            let at = header.map_or(self.out.len(), |length| start + length);
            self.out.insert_str(at, &format!(" #{comment}"));
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn comments(&mut self, lines: &[String], indent: usize) {
        for line in lines {
            if !line.is_empty() {
                pad(&mut self.out, indent);
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests;
