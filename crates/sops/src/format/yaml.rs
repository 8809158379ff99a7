//! YAML: documents in their order with their comments, written as SOPS writes them: four columns a level.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weir_yaml::commented::{self, Commented};
use weir_yaml::{Limits, Source};
use zeroize::Zeroizing;

use super::MAX_DEPTH;
use crate::error::FormatError;
use crate::tree::{Comment, Element, Member, Node, Value};

/// Columns of a level.
const INDENT: usize = 4;
/// Columns of a line of base64.
const BASE64_LINE: usize = 70;

pub(super) fn read(text: &str) -> Result<Vec<Node>, FormatError> {
    let source = Source::file("", text.to_owned());
    let limits = Limits { depth: MAX_DEPTH, ..Limits::default() };
    let documents = commented::read(&source, &limits).map_err(FormatError::Yaml)?;
    let trees = documents.into_iter().map(|document| match document {
        Commented::Map(_) => node(document),
        Commented::Scalar(scalar) if scalar.is_null() => Ok(Node::Map(Vec::new())),
        _ => Err(FormatError::Root("YAML")),
    });
    trees.collect()
}

fn node(document: Commented) -> Result<Node, FormatError> {
    Ok(match document {
        Commented::Scalar(scalar) => Node::Value(value(&scalar)?),
        Commented::Seq(elements) => {
            let elements = elements.into_iter().map(|element| {
                Ok(match element {
                    commented::Element::Node(inner) => Element::Node(node(inner)?),
                    commented::Element::Comment(inner) => Element::Comment(comment(inner)),
                })
            });
            Node::List(elements.collect::<Result<_, FormatError>>()?)
        }
        Commented::Map(members) => {
            let members = members.into_iter().map(|member| {
                Ok(match member {
                    commented::Member::Entry(found, inner) => Member::Entry(key(&found)?, node(inner)?),
                    commented::Member::Comment(inner) => Member::Comment(comment(inner)),
                })
            });
            Node::Map(members.collect::<Result<_, FormatError>>()?)
        }
    })
}

/// Returns a key. One that stands for something else than text is refused, as by SOPS.
fn key(key: &weir_yaml::Scalar) -> Result<String, FormatError> {
    let kind = match key.tag {
        weir_yaml::Tag::Null => "<nil>",
        weir_yaml::Tag::Bool => "bool",
        weir_yaml::Tag::Int => "int",
        weir_yaml::Tag::Float => "float64",
        weir_yaml::Tag::Timestamp => "time.Time",
        _ => return Ok(key.text.as_str().to_owned()),
    };
    Err(FormatError::Key { kind, key: key.text.as_str().to_owned() })
}

fn comment(comment: commented::Comment) -> Comment {
    Comment { text: Zeroizing::new(comment.text), is_inline: comment.is_inline }
}

fn value(scalar: &weir_yaml::Scalar) -> Result<Value, FormatError> {
    match scalar.tag {
        weir_yaml::Tag::Timestamp => {
            return Ok(Value::Time(Zeroizing::new(scalar.text.as_str().to_owned())));
        }
        weir_yaml::Tag::Binary => return Ok(binary(scalar.text.as_str())),
        _ => {}
    }
    Ok(match scalar.value().map_err(FormatError::Yaml)? {
        weir_yaml::Value::Null => Value::Null,
        weir_yaml::Value::Bool(flag) => Value::Bool(flag),
        weir_yaml::Value::Int(number) => Value::Int(number),
        weir_yaml::Value::Uint(number) => match i64::try_from(number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Float(number as f64),
        },
        weir_yaml::Value::Float(number) => Value::Float(number),
        weir_yaml::Value::Str(text) => Value::text(text.into_owned()),
    })
}

/// Returns what base64 stands for; text that is none stays.
fn binary(text: &str) -> Value {
    let packed: String = text.split_whitespace().collect();
    match STANDARD.decode(packed).map(String::from_utf8) {
        Ok(Ok(plain)) => Value::text(plain),
        Ok(Err(bytes)) => Value::Bytes(Zeroizing::new(bytes.into_bytes())),
        Err(_) => Value::text(text),
    }
}

pub(super) fn write(trees: &[Node]) -> Result<Zeroizing<Vec<u8>>, FormatError> {
    let mut writer = Writer { out: Zeroizing::new(String::new()) };
    for (index, tree) in trees.iter().enumerate() {
        if index > 0 {
            writer.out.push_str("---\n");
        }
        match tree {
            Node::Map(members) if has_entries(members) => writer.map(members, 0, false)?,
            Node::Map(members) => {
                writer.comments(members.iter().filter_map(as_comment), 0);
                writer.out.push_str("{}\n");
            }
            _ => return Err(FormatError::Root("YAML")),
        }
    }
    Ok(Zeroizing::new(writer.out.as_bytes().to_vec()))
}

fn has_entries(members: &[Member]) -> bool {
    members.iter().any(|member| matches!(member, Member::Entry(..)))
}

fn as_comment(member: &Member) -> Option<&Comment> {
    if let Member::Comment(comment) = member { Some(comment) } else { None }
}

fn as_comment_of_list(element: &Element) -> Option<&Comment> {
    if let Element::Comment(comment) = element { Some(comment) } else { None }
}

/// Returns the comments above the first entry or element of a collection.
fn leading(node: &Node) -> Vec<&Comment> {
    let comments: Vec<&Comment> = match node {
        Node::Map(members) if has_entries(members) => members.iter().map_while(as_comment).collect(),
        Node::List(elements) if node.elements().next().is_some() => {
            elements.iter().map_while(as_comment_of_list).collect()
        }
        _ => Vec::new(),
    };
    comments.into_iter().filter(|comment| !comment.is_inline).collect()
}

struct Writer {
    out: Zeroizing<String>,
}

impl Writer {
    /// Writes entries at a column; `is_begun` is true when the first line has begun (`- key:`). Leading comments stand above it then.
    fn map(&mut self, members: &[Member], indent: usize, mut is_begun: bool) -> Result<(), FormatError> {
        let mut inline: Vec<&Comment> = Vec::new();
        for member in members {
            match member {
                Member::Comment(comment) if comment.is_inline => inline.push(comment),
                Member::Comment(_) if is_begun => {}
                Member::Comment(comment) => self.comment(comment, indent, &mut is_begun),
                Member::Entry(key, node) => {
                    self.start(indent, &mut is_begun);
                    self.string(key, indent, true)?;
                    self.out.push(':');
                    self.value(node, indent, false, &std::mem::take(&mut inline))?;
                }
            }
        }
        self.comments(inline.into_iter(), indent);
        Ok(())
    }

    fn list(&mut self, elements: &[Element], indent: usize, mut is_begun: bool) -> Result<(), FormatError> {
        let mut inline: Vec<&Comment> = Vec::new();
        for element in elements {
            match element {
                Element::Comment(comment) if comment.is_inline => inline.push(comment),
                Element::Comment(_) if is_begun => {}
                Element::Comment(comment) => self.comment(comment, indent, &mut is_begun),
                Element::Node(node) => {
                    leading(node).into_iter().for_each(|it| self.comment(it, indent, &mut is_begun));
                    self.start(indent, &mut is_begun);
                    self.out.push('-');
                    self.value(node, indent, true, &std::mem::take(&mut inline))?;
                }
            }
        }
        self.comments(inline.into_iter(), indent);
        Ok(())
    }

    /// Writes what stands behind `key:` or `-`. Below a dash, a level has two columns.
    fn value(
        &mut self,
        node: &Node,
        indent: usize,
        is_element: bool,
        inline: &[&Comment],
    ) -> Result<(), FormatError> {
        let inner = if is_element { indent + 2 } else { (indent / INDENT + 1) * INDENT };
        if inner > MAX_DEPTH * INDENT {
            return Err(FormatError::TooDeep { limit: MAX_DEPTH });
        }
        match node {
            Node::Map(members) if has_entries(members) => {
                self.begin(is_element);
                self.map(members, inner, is_element)?;
            }
            Node::List(elements) if node.elements().next().is_some() => {
                self.begin(is_element);
                self.list(elements, inner, is_element)?;
            }
            leaf => {
                self.out.push(' ');
                let start = self.out.len();
                match leaf {
                    Node::Map(_) => self.out.push_str("{}"),
                    Node::List(_) => self.out.push_str("[]"),
                    Node::Value(value) => self.scalar(value, inner)?,
                }
                self.inline(start, inline);
                match leaf {
                    Node::Map(members) => self.comments(members.iter().filter_map(as_comment), inner),
                    Node::List(elements) => {
                        self.comments(elements.iter().filter_map(as_comment_of_list), indent)
                    }
                    Node::Value(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Puts comments behind the first line of what begins at `start`, and ends the last.
    fn inline(&mut self, start: usize, comments: &[&Comment]) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        let line = self.out.get(start..).and_then(|written| written.find('\n'));
        let Some(end) = line.map(|length| start + length).filter(|_| !comments.is_empty()) else { return };
        let rest = Zeroizing::new(self.out.split_off(end));
        for comment in comments {
            self.out.push_str(" #");
            self.out.push_str(&comment.text);
        }
        self.out.push_str(&rest);
    }

    /// A collection begins on the line of its dash, and below its key.
    fn begin(&mut self, is_element: bool) {
        self.out.push(if is_element { ' ' } else { '\n' });
    }

    fn scalar(&mut self, value: &Value, indent: usize) -> Result<(), FormatError> {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => {
                self.out.push_str(&match *number {
                    f64::INFINITY => ".inf".to_owned(),
                    f64::NEG_INFINITY => "-.inf".to_owned(),
                    number if number.is_nan() => ".nan".to_owned(),
                    number => weir_yaml::format_float64(number),
                });
            }
            Value::Time(text) => self.out.push_str(text),
            Value::Text(text) => self.string(text, indent, false)?,
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.string(text, indent, false)?,
                Err(_) => self.binary(bytes, indent)?,
            },
        }
        Ok(())
    }

    /// Bytes that are no text are base64, of several lines where one is not enough.
    fn binary(&mut self, bytes: &[u8], indent: usize) -> Result<(), FormatError> {
        let encoded = Zeroizing::new(STANDARD.encode(bytes));
        self.out.push_str("!!binary ");
        if encoded.len() < BASE64_LINE {
            return self.string(&encoded, indent, false);
        }
        let mut lines =
            Zeroizing::new(String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE + 1));
        for (index, character) in encoded.chars().enumerate() {
            lines.push(character);
            if (index + 1) % BASE64_LINE == 0 || index + 1 == encoded.len() {
                lines.push('\n');
            }
        }
        self.string(&lines, indent, false)
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) -> Result<(), FormatError> {
        // go-yaml never writes the key of a merge without its tag.
        if text == "<<" {
            self.out.push_str("!!merge ");
        }
        weir_yaml::write_unfolded(&mut self.out, text, indent, INDENT, is_key);
        Ok(())
    }

    fn start(&mut self, indent: usize, is_begun: &mut bool) {
        if !std::mem::take(is_begun) {
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    /// Writes a comment on a line of its own.
    fn comment(&mut self, comment: &Comment, indent: usize, is_begun: &mut bool) {
        self.start(indent, is_begun);
        self.out.push('#');
        self.out.push_str(&comment.text);
        self.out.push('\n');
    }

    fn comments<'c>(&mut self, comments: impl Iterator<Item = &'c Comment>, indent: usize) {
        comments.for_each(|comment| self.comment(comment, indent, &mut false));
    }
}
