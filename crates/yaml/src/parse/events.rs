//! The only place that knows granit-parser (DEP-YAML-5): its events become calls of the builder.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{
    Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle, Tag as ParserTag,
};

use super::binary;
use super::builder::Builder;
use super::go_yaml_error;
use crate::{Limits, Scalar, Source, Style, Tag, Text, YamlError, resolve};

/// The end of a document that could not be read.
pub(super) enum Failure {
    /// The parser stopped; go-yaml might go on here.
    Syntax(ScanError),
    /// The document is refused.
    Refused(YamlError),
}

impl From<YamlError> for Failure {
    fn from(error: YamlError) -> Self {
        Self::Refused(error)
    }
}

impl From<ScanError> for Failure {
    fn from(error: ScanError) -> Self {
        Self::Syntax(error)
    }
}

/// Returns the parser's options for documents without comments.
pub(super) fn options(limits: &Limits) -> Options {
    let mut options = Options::default();
    options.emit_comments = false;
    // The builder names the line and the cap; the parser's own limit only has to be no lower.
    options.block_nesting_limit = limits.depth + 1;
    options.flow_nesting_limit = limits.depth + 1;
    options
}

/// Feeds the first document in `range` to `builder`.
pub(super) fn read_document(
    source: &Arc<Source>,
    range: Range<usize>,
    limits: &Limits,
    builder: &mut Builder<'_>,
) -> Result<(), Failure> {
    let text = source.as_str().get(range.clone()).unwrap_or_default();
    let mut reader = Reader { source, text, base: range.start, flow_depth: 0, unfinished: unfinished(text) };
    let mut parser = Parser::new_from_str_with_options(text, options(limits));
    while let Some(next) = parser.next() {
        let (event, span) = next?;
        let at = reader.base + span.byte_range().map_or(0, |range| range.start);
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                if builder.awaits_key() && anchor == 0 && tag.is_none() && reader.is_missing(&span) {
                    let (line, problem) = (source.line_at(at), "did not find expected key".to_owned());
                    return Err(Failure::Refused(YamlError::Syntax { line, problem }));
                }
                builder.scalar(reader.scalar(value, style, tag.as_deref(), &span)?, anchor)?;
            }
            Event::MappingStart(..) if reader.is_text_in_brackets(&span, &mut parser) => {
                if let Some(Ok((Event::Scalar(value, style, anchor, tag), span))) = parser.next() {
                    builder.scalar(reader.scalar(value, style, tag.as_deref(), &span)?, anchor)?;
                }
                // The value that is missing, and the end of the mapping.
                for passed in parser.by_ref().take(2) {
                    passed?;
                }
            }
            Event::SequenceStart(style, anchor, _) => {
                reader.enter(style);
                builder.start_seq(anchor, at)?;
            }
            Event::MappingStart(style, anchor, _) => {
                reader.enter(style);
                builder.start_map(anchor, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                reader.flow_depth = reader.flow_depth.saturating_sub(1);
                builder.end()?;
            }
            Event::Alias(anchor) => builder.alias(anchor, at)?,
            // Everything behind the end of the first document is ignored.
            Event::DocumentEnd => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// Cuts the texts of scalars out of the source.
struct Reader<'s> {
    source: &'s Arc<Source>,
    text: &'s str,
    base: usize,
    /// Number of open collections that are in brackets.
    flow_depth: usize,
    unfinished: Option<usize>,
}

/// The end of a text whose last line has no line break, without the spaces behind it.
fn unfinished(text: &str) -> Option<usize> {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    (!last_line.trim().is_empty()).then(|| text.trim_end().len())
}

impl Reader<'_> {
    fn enter(&mut self, style: StructureStyle) {
        if self.flow_depth > 0 || style == StructureStyle::Flow {
            self.flow_depth += 1;
        }
    }

    fn scalar(
        &self,
        value: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&ParserTag>,
        span: &Span,
    ) -> Result<Scalar, YamlError> {
        let range = span.byte_range().unwrap_or(0..0);
        let tag = tag.filter(|tag| !says_nothing(tag, &value));
        let style = Style::from(style);
        // A missing value is reported as `~` with an empty span.
        if style == Style::Plain && range.is_empty() {
            let tag = tag.map_or(Tag::Null, explicit_tag);
            // In brackets the reference prints it as '' on its way through text, which makes a string of it. The tag
            // keeps its type from before ([`Node::before_text`]).
            let style = if self.flow_depth > 0 { Style::Single } else { style };
            return Ok(Scalar { text: self.cut(range), style, tag });
        }
        let (value, range) = if style == Style::Plain && self.goes_on_with_colon(&range) {
            (Cow::Owned(format!("{value}:")), range.start..range.end + 1)
        } else {
            (value, range)
        };
        let at = self.base + range.start;
        let text = self.text_of(value, style, range);
        let tag = match tag.map(explicit_tag) {
            Some(Tag::Binary) => {
                let invalid = || YamlError::Binary { line: self.source.line_at(at) };
                return Ok(Scalar {
                    text: binary::decoded(&text).ok_or_else(invalid)?,
                    style,
                    tag: Tag::Str,
                });
            }
            // A tag of another type weighs more than quotes.
            Some(tag @ (Tag::Null | Tag::Bool | Tag::Int | Tag::Float | Tag::Timestamp)) => {
                return Ok(Scalar { text, style: Style::Plain, tag });
            }
            Some(tag) => tag,
            None if style == Style::Plain => resolve::plain_tag(&text),
            None => Tag::Str,
        };
        // On its way through text, the reference quotes what has a colon in brackets.
        let style = if tag == Tag::Timestamp && self.flow_depth > 0 && text.contains(':') {
            Style::Single
        } else {
            style
        };
        Ok(Scalar { text, style, tag })
    }

    /// Returns true when plain text in brackets ends in a colon, which go-yaml reads as part of it and the parser as
    /// the end of a key.
    fn goes_on_with_colon(&self, range: &Range<usize>) -> bool {
        let rest = self.text.as_bytes().get(range.end..).unwrap_or_default();
        self.flow_depth > 0 && matches!(rest, [b':', b',' | b']' | b'}', ..])
    }

    /// Returns true when nothing stands at the place of a scalar, not even a `?` before it.
    fn is_missing(&self, span: &Span) -> bool {
        let place = span.byte_range().filter(Range::is_empty);
        let before = place.and_then(|place| self.text.get(..place.start));
        before.is_some_and(|before| !before.trim_end().ends_with('?'))
    }

    /// Returns true when a mapping is not one: `[a:, b]` holds no pairs, but text.
    fn is_text_in_brackets<'t>(&self, start: &Span, parser: &mut Parser<'t, StrInput<'t>>) -> bool {
        let opens = start.byte_range().and_then(|range| self.text.as_bytes().get(range.start));
        if self.flow_depth == 0 || opens == Some(&b'{') {
            return false;
        }
        match parser.peek() {
            Some(Ok((Event::Scalar(_, ScalarStyle::Plain, ..), span))) => {
                span.byte_range().is_some_and(|range| !range.is_empty() && self.goes_on_with_colon(&range))
            }
            _ => false,
        }
    }

    /// A slice of the source where the value stands there verbatim, text of its own otherwise.
    fn text_of(&self, value: Cow<'_, str>, style: Style, range: Range<usize>) -> Text {
        let inner = match style {
            Style::Single | Style::Double => range.start + 1..range.end.saturating_sub(1),
            _ => range.clone(),
        };
        if self.text.get(inner.clone()) == Some(value.as_ref()) {
            return self.cut(inner);
        }
        let mut value = value.into_owned();
        // go-yaml adds no line break to a block at the end of such a text.
        let is_last = self.unfinished.is_some_and(|end| range.end >= end);
        if is_last && matches!(style, Style::Literal | Style::Folded) && value.ends_with('\n') {
            value.pop();
        }
        Text::decoded(self.source, self.base + range.start, value)
    }

    fn cut(&self, range: Range<usize>) -> Text {
        Text::slice(self.source, self.base + range.start, self.base + range.end)
    }
}

/// Returns the parser's error about a document that begins at `base`.
pub(super) fn syntax(error: &ScanError, source: &Source, base: usize, limits: &Limits) -> YamlError {
    let line = source.line_at(base) + error.marker().line().saturating_sub(1);
    match error.kind() {
        granit_parser::ErrorKind::RecursionLimitExceeded => YamlError::TooDeep { line, limit: limits.depth },
        _ => YamlError::Syntax { line, problem: go_yaml_error::problem(error, source.as_str()) },
    }
}

impl From<ScalarStyle> for Style {
    fn from(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::Plain => Self::Plain,
            ScalarStyle::SingleQuoted => Self::Single,
            ScalarStyle::DoubleQuoted => Self::Double,
            ScalarStyle::Literal => Self::Literal,
            ScalarStyle::Folded => Self::Folded,
        }
    }
}

/// The namespace of the tags that YAML itself gives a meaning.
const NAMESPACE: &str = "tag:yaml.org,2002:";

/// Returns true for tags that have no meaning for the reference: a `!` alone, and `!!merge` of a `<<`, which yq writes.
fn says_nothing(tag: &ParserTag, value: &str) -> bool {
    tag.parts() == ("", "!")
        || value == "<<" && tag.suffix_in_namespace(NAMESPACE).as_deref() == Some("merge")
}

pub(crate) fn explicit_tag(tag: &ParserTag) -> Tag {
    match tag.suffix_in_namespace(NAMESPACE).as_deref() {
        Some("str") => Tag::Str,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        Some("bool") => Tag::Bool,
        Some("null") => Tag::Null,
        Some("timestamp") => Tag::Timestamp,
        Some("binary") => Tag::Binary,
        _ => Tag::Custom,
    }
}
