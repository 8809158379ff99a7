//! Documents with their comments as entries between others, in the order of the file. Comments above a key and behind a
//! value are told apart; empty lines and styles are not kept.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Marker, Options, Parser, Placement, ScalarStyle, ScanError};

use crate::parse::explicit_tag;
use crate::{Limits, Scalar, Source, Style, Tag, YamlError, resolve};

/// Comments in a row. Long blocks are common at the top of configuration files (DEP-YAML-4).
const MAX_COMMENTS: usize = 65_536;

/// A node with comments.
#[derive(Debug, Clone, PartialEq)]
pub enum Commented {
    /// A single value.
    Scalar(Scalar),
    /// Keys, values and comments in file order.
    Map(Vec<Member>),
    /// A list with comments.
    Seq(Vec<Element>),
}

/// An entry of a map, or a comment.
#[derive(Debug, Clone, PartialEq)]
pub enum Member {
    /// A key and its value.
    Entry(Scalar, Commented),
    /// A comment.
    Comment(Comment),
}

/// An element of a list, or a comment.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// An element.
    Node(Commented),
    /// A comment.
    Comment(Comment),
}

/// A comment without its `#`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comment {
    /// The text.
    pub text: String,
    /// True when it stands behind the value of the next entry.
    pub is_inline: bool,
}

/// Reads every document of a file. Aliases are replaced by what they stand for.
///
/// # Errors
/// The text is not YAML, or goes over one of the caps.
pub fn read(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Commented>, YamlError> {
    let mut options = Options::default();
    options.max_buffered_comment_events = MAX_COMMENTS;
    options.block_nesting_limit = limits.depth + 1;
    options.flow_nesting_limit = limits.depth + 1;
    let mut reader = Reader::default();
    for next in Parser::new_from_str_with_options(source.as_str(), options) {
        let (event, span) = next.map_err(|error| syntax(&error, limits))?;
        let at = span.byte_range().map_or(0, |range| range.start);
        match event {
            Event::Comment(text, placement) => {
                reader.comment(text.into_owned(), placement == Placement::Right, span.start.col());
            }
            Event::MappingStart(_, anchor, _) => {
                reader.open(Commented::Map(Vec::new()), anchor, span.start, limits)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                reader.open(Commented::Seq(Vec::new()), anchor, span.start, limits)?;
            }
            Event::MappingEnd | Event::SequenceEnd => reader.close(source, limits)?,
            Event::Scalar(text, style, anchor, tag) => {
                // A block without lines is a text.
                let is_missing =
                    style == ScalarStyle::Plain && span.byte_range().is_none_or(|range| range.is_empty());
                let tag = tag.as_deref().map(explicit_tag);
                let node = Commented::Scalar(scalar(&text, style, is_missing, tag));
                let keeping = reader.anchors.keep(anchor, &node, limits);
                keeping.map_err(|excess| excess.at(source.line_at(at)))?;
                reader.take_pending(reader.pending.len());
                reader.push(node, at, source)?;
            }
            Event::Alias(anchor) => {
                let node =
                    reader.anchors.copy(anchor, limits.depth.saturating_sub(reader.open.len()), limits);
                let node = node.map_err(|excess| excess.at(source.line_at(at)))?;
                reader.take_pending(reader.pending.len());
                reader.push(node, at, source)?;
            }
            Event::DocumentEnd => reader.end(),
            _ => {}
        }
    }
    Ok(reader.documents)
}

fn scalar(text: &str, style: ScalarStyle, is_missing: bool, tag: Option<Tag>) -> Scalar {
    let style = Style::from(style);
    let tag = match (style, tag) {
        (Style::Plain, _) if is_missing => Tag::Null,
        (_, Some(Tag::Binary)) => Tag::Binary,
        (Style::Plain, None) => resolve::plain_tag(text),
        _ => Tag::Str,
    };
    Scalar { text: if is_missing { "null".into() } else { text.into() }, style, tag }
}

fn syntax(error: &ScanError, limits: &Limits) -> YamlError {
    let line = error.marker().line();
    match error.kind() {
        granit_parser::ErrorKind::RecursionLimitExceeded => YamlError::TooDeep { line, limit: limits.depth },
        _ => YamlError::Syntax { line, problem: error.info() },
    }
}

/// A collection that is being read.
struct Open {
    node: Commented,
    /// Number of its anchor; 0 without one.
    anchor: usize,
    key: Option<Scalar>,
    line: usize,
    column: usize,
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    /// Comments on lines of their own that nothing has followed yet, with their columns.
    pending: Vec<(Comment, usize)>,
    documents: Vec<Commented>,
    anchors: Anchors,
}

/// The nodes that aliases stand for.
#[derive(Default)]
struct Anchors {
    nodes: HashMap<usize, Commented>,
    /// Size of what is kept, and of all copies of it.
    kept: Size,
    copied: Size,
}

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    /// Collections in each other.
    depth: usize,
}

/// The reason for which an alias cannot be written out.
enum Excess {
    Size { limit: usize, unit: &'static str },
    Depth { limit: usize },
    Itself,
}

impl Anchors {
    fn keep(&mut self, anchor: usize, node: &Commented, limits: &Limits) -> Result<(), Excess> {
        if anchor == 0 {
            return Ok(());
        }
        self.kept = self.kept.beside(size(node));
        self.kept.check(limits.anchor_nodes, limits.anchor_bytes)?;
        self.nodes.insert(anchor, node.clone());
        Ok(())
    }

    /// Returns a copy that goes no deeper than `depth`.
    fn copy(&mut self, anchor: usize, depth: usize, limits: &Limits) -> Result<Commented, Excess> {
        // An anchor that is known to the parser only is still open.
        let node = self.nodes.get(&anchor).ok_or(Excess::Itself)?;
        let size = size(node);
        if size.depth > depth {
            return Err(Excess::Depth { limit: limits.depth });
        }
        self.copied = self.copied.beside(size);
        self.copied.check(limits.alias_nodes, limits.alias_bytes)?;
        Ok(node.clone())
    }
}

impl Size {
    fn beside(self, other: Self) -> Self {
        let (nodes, bytes) = (self.nodes.saturating_add(other.nodes), self.bytes.saturating_add(other.bytes));
        Self { nodes, bytes, depth: self.depth.max(other.depth) }
    }

    fn check(self, nodes: usize, bytes: usize) -> Result<(), Excess> {
        match self {
            size if size.nodes > nodes => Err(Excess::Size { limit: nodes, unit: "nodes" }),
            size if size.bytes > bytes => Err(Excess::Size { limit: bytes, unit: "bytes" }),
            _ => Ok(()),
        }
    }
}

impl Excess {
    fn at(self, line: usize) -> YamlError {
        match self {
            Self::Size { limit, unit } => YamlError::ExcessiveAliasing { line, limit, unit },
            Self::Depth { limit } => YamlError::TooDeep { line, limit },
            Self::Itself => YamlError::Syntax { line, problem: "anchor value contains itself".to_owned() },
        }
    }
}

/// Returns the size of a node with its comments.
fn size(node: &Commented) -> Size {
    let one = |bytes| Size { nodes: 1, bytes, depth: 0 };
    let inner = match node {
        Commented::Scalar(scalar) => return one(scalar.text.len()),
        Commented::Map(members) => members.iter().fold(one(0), |sum, member| match member {
            Member::Entry(key, node) => sum.beside(one(key.text.len())).beside(size(node)),
            Member::Comment(comment) => sum.beside(one(comment.text.len())),
        }),
        Commented::Seq(elements) => elements.iter().fold(one(0), |sum, element| match element {
            Element::Node(node) => sum.beside(size(node)),
            Element::Comment(comment) => sum.beside(one(comment.text.len())),
        }),
    };
    Size { depth: inner.depth + 1, ..inner }
}

impl Reader {
    /// A comment behind a value stands before the value's entry, as one behind a key does.
    fn comment(&mut self, text: String, is_behind: bool, column: usize) {
        if let Some(open) = self.open.last_mut().filter(|_| is_behind) {
            let is_key = open.key.is_some();
            let comment = Comment { text, is_inline: !is_key };
            match &mut open.node {
                Commented::Map(members) if is_key => members.push(Member::Comment(comment)),
                Commented::Map(members) => {
                    members.insert(members.len().saturating_sub(1), Member::Comment(comment));
                }
                Commented::Seq(elements) => {
                    elements.insert(elements.len().saturating_sub(1), Element::Comment(comment));
                }
                Commented::Scalar(_) => {}
            }
            return;
        }
        self.pending.push((Comment { text, is_inline: false }, column));
    }

    fn open(&mut self, node: Commented, anchor: usize, at: Marker, limits: &Limits) -> Result<(), YamlError> {
        if self.open.len() >= limits.depth {
            return Err(YamlError::TooDeep { line: at.line(), limit: limits.depth });
        }
        let column = at.col();
        // Comments above a dash are about all of its element, those behind it about the first entry.
        if matches!(self.open.last(), Some(Open { node: Commented::Seq(_), .. })) {
            self.take_pending(self.pending.iter().take_while(|(_, at)| *at < column).count());
        }
        self.open.push(Open { node, anchor, key: None, line: at.line(), column });
        Ok(())
    }

    fn close(&mut self, source: &Arc<Source>, limits: &Limits) -> Result<(), YamlError> {
        let Some(column) = self.open.last().map(|open| open.column) else { return Ok(()) };
        let is_inner = self.open.len() > 1;
        let count = self.pending.iter().take_while(|(_, at)| !is_inner || *at >= column).count();
        self.take_pending(count);
        let Some(open) = self.open.pop() else { return Ok(()) };
        let keeping = self.anchors.keep(open.anchor, &open.node, limits);
        keeping.map_err(|excess| excess.at(open.line))?;
        self.push(open.node, 0, source)
    }

    /// Puts comments into the innermost collection.
    fn take_pending(&mut self, count: usize) {
        let Some(open) = self.open.last_mut() else { return };
        for (comment, _) in self.pending.drain(..count) {
            match &mut open.node {
                Commented::Map(members) => members.push(Member::Comment(comment)),
                Commented::Seq(elements) => elements.push(Element::Comment(comment)),
                Commented::Scalar(_) => {}
            }
        }
    }

    fn push(&mut self, node: Commented, at: usize, source: &Arc<Source>) -> Result<(), YamlError> {
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match &mut open.node {
            Commented::Map(members) => match (open.key.take(), node) {
                (Some(key), node) => members.push(Member::Entry(key, node)),
                (None, Commented::Scalar(key)) => open.key = Some(key),
                (None, _) => return Err(YamlError::ComplexKey { line: source.line_at(at) }),
            },
            Commented::Seq(elements) => elements.push(Element::Node(node)),
            Commented::Scalar(_) => {}
        }
        Ok(())
    }

    /// Ends a document: comments below it belong to it.
    fn end(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(Commented::Map(members)) = self.documents.last_mut() {
            members.extend(pending.into_iter().map(|(comment, _)| Member::Comment(comment)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(node: &Commented) -> String {
        match node {
            Commented::Scalar(scalar) => scalar.text.as_str().to_owned(),
            Commented::Seq(elements) => {
                let parts = elements.iter().map(|element| match element {
                    Element::Node(node) => shape(node),
                    Element::Comment(comment) => format!("#{}", comment.text),
                });
                format!("[{}]", parts.collect::<Vec<_>>().join(","))
            }
            Commented::Map(members) => {
                let parts = members.iter().map(|member| match member {
                    Member::Entry(key, node) => format!("{}={}", key.text.as_str(), shape(node)),
                    Member::Comment(comment) if comment.is_inline => format!("<#{}", comment.text),
                    Member::Comment(comment) => format!("#{}", comment.text),
                });
                format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
            }
        }
    }

    fn read_all(text: &str) -> String {
        let source = Source::file("", text.to_owned());
        let documents = read(&source, &Limits::default()).unwrap();
        documents.iter().map(shape).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_stand_between_entries() {
        let text = "#top\na: 1 #behind\nb:\n    #inner\n    c: 2\n    #foot\n#next\nd:\n    #e\n    - x\n    - y\n#end\n";
        assert_eq!(read_all(text), "{#top,<#behind,a=1,b={#inner,c=2,#foot},#next,d=[#e,x,y],#end}");
    }

    #[test]
    fn documents_and_missing_values() {
        assert_eq!(read_all("a:\nb: ''\n---\nc: [1, {d: 2}]\n"), "{a=null,b=} {c=[1,{d=2}]}");
    }

    #[test]
    fn comments_above_a_dash_are_about_its_element() {
        let text = "#top\n- a: 1\n  b: 2\n#next\n- - x\n-\n  #inner\n  c: 3\n";
        assert_eq!(read_all(&format!("list:\n{text}")), "{list=[#top,{a=1,b=2},#next,[x],{#inner,c=3}]}");
    }

    #[test]
    fn blocks_without_lines_are_texts() {
        assert_eq!(read_all("a: |4+\n\nb: |-\nc: x\n"), "{a=\n,b=,c=x}");
    }

    /// Minutes, if each collection looked for the start of its line.
    #[test]
    fn one_long_line() {
        let text = format!("a: [{}]\n", "{},".repeat(1 << 20));
        assert_eq!(read_all(&text).len(), "{a=[]}".len() + 3 * (1 << 20) - 1);
    }

    #[test]
    fn aliases_are_written_out() {
        assert_eq!(read_all("a: &x 1\n#above\nb: *x #behind\n*x : c\n"), "{a=1,#above,<#behind,b=1,1=c}");
        let text = "a: &x\n  #inner\n  b: [1]\nc:\n  <<: *x\n  d: [*x]\n";
        let inner = "{#inner,b=[1]}";
        assert_eq!(read_all(text), format!("{{a={inner},c={{<<={inner},d=[{inner}]}}}}"));
    }

    #[rstest::rstest]
    #[case::itself("a: &x [*x]\n".to_owned(), "anchor value contains itself")]
    #[case::bomb(bomb(10, 10), "alias")]
    #[case::deep(bomb(300, 1), "deeper")]
    fn aliases_have_caps(#[case] text: String, #[case] words: &str) {
        let source = Source::file("", text);
        let error = read(&source, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    /// Lists of aliases of lists.
    fn bomb(levels: usize, width: usize) -> String {
        let level = |level: usize| {
            let aliases = vec![format!("*x{level}"); width].join(", ");
            format!("a{level}: &x{} [{aliases}]\n", level + 1)
        };
        format!("a: &x0 [1]\n{}", (0..levels).map(level).collect::<String>())
    }
}
