//! Finds marked scalars and the objects they belong to.

mod identity;
mod mend;
mod place;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, options};

use self::identity::Walk;
pub(crate) use self::place::{header_line, is_block, line_start};
use crate::{ObjectId, SetterError, marker};

/// Largest file read, in bytes (SEC-7); manifests of this size do not fit an API server anyway.
pub const MAX_FILE_SIZE: usize = 10 << 20;

/// Deepest nesting of collections (DEP-YAML-4).
pub const MAX_NESTING: usize = 100;

/// Most documents in one file (DEP-YAML-4).
pub const MAX_DOCUMENTS: usize = 50_000;

/// Most scalars, collections and comments in one file, which bounds the memory for them (SEC-7); a manifest of the largest size has ten
/// bytes for each.
pub const MAX_NODES: usize = 1_000_000;

/// Longest run of comment lines the parser may buffer before an entry; its default of 96 is an error on
/// commented-out manifests.
const MAX_COMMENT_RUN: usize = 65_536;

/// Bytes that one file may cost the parser: it begins again, twice at most, at each place that has to be mended.
const MAX_PARSED: usize = 64 << 20;

/// A scalar with a marker.
#[derive(Debug)]
pub(crate) struct Target {
    /// Bytes of the token: quotes included; the body only, for blocks.
    pub(crate) span: Range<usize>,
    pub(crate) style: ScalarStyle,
    /// Start of an explicit tag that is not `!!str`, to be removed.
    pub(crate) foreign_tag: Option<usize>,
    /// True when the tag says that any plain text is a string.
    pub(crate) is_tagged_string: bool,
    /// The index of its event, to find it again in the edited text.
    pub(crate) event: usize,
    pub(crate) anchor: usize,
    pub(crate) value: String,
    pub(crate) setter: String,
    pub(crate) object: ObjectId,
}

/// A scalar that stands as a mapping's value or a sequence's item, before its comment is known.
struct Candidate {
    target: Target,
    /// Start of the node: its anchor, tag or token.
    start: usize,
    is_item: bool,
    object: identity::ObjectKey,
}

/// A comment of the file.
pub(super) struct Comment {
    span: Range<usize>,
    text: String,
}

/// A hash of one event without its place; the edited text must yield the same but for the marked values.
///
/// Tags of scalars are left out: a foreign tag on a marked scalar goes away with its old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape(u64);

impl Shape {
    fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Scalar(value, _, anchor, _) => Self::scalar(value, *anchor),
            other => Self::hash(format!("{other:?}")),
        }
    }

    pub(crate) fn scalar(value: &str, anchor: usize) -> Self {
        Self::hash((value, anchor))
    }

    fn hash(content: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The content of a file: its marked scalars and the shape of its events.
pub(crate) struct Scan {
    pub(crate) targets: Vec<Target>,
    pub(crate) shapes: Vec<Shape>,
}

/// Reads a file.
pub(crate) fn scan(text: &str) -> Result<Scan, SetterError> {
    if text.len() > MAX_FILE_SIZE {
        return Err(SetterError::TooLarge { size: text.len() });
    }
    let mut readable = Cow::Borrowed(text);
    let mut parsed = 0;
    loop {
        parsed += text.len();
        let error = match read(text, &readable) {
            Ok(reader) => return Ok(reader.finish(text)),
            Err(Stop::Refused(error)) => return Err(error),
            Err(Stop::Syntax(error)) => error,
        };
        let may_go_on = parsed <= MAX_PARSED;
        let mended = may_go_on.then(|| mend::mended(&readable, &error, parser_options)).flatten();
        match mended {
            Some(mended) => readable = Cow::Owned(mended),
            None => return Err(SetterError::Yaml { message: error.to_string() }),
        }
    }
}

/// The reason for which a file is not read to its end.
enum Stop {
    Refused(SetterError),
    Syntax(ScanError),
}

impl From<SetterError> for Stop {
    fn from(error: SetterError) -> Self {
        Self::Refused(error)
    }
}

/// Reads a file by what the parser can read of it, in which everything stands at the same place.
fn read(text: &str, readable: &str) -> Result<Reader, Stop> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str_with_options(readable, parser_options()) {
        let (event, span) = event.map_err(Stop::Syntax)?;
        let bytes = span.byte_range().unwrap_or_default();
        let tag_start = span.tag_start().and_then(|mark| mark.byte_offset());
        reader.read(text, &event, bytes, tag_start)?;
    }
    Ok(reader)
}

fn parser_options() -> Options {
    options! {
        emit_anchor_events: true,
        max_buffered_comment_events: MAX_COMMENT_RUN,
        flow_nesting_limit: MAX_NESTING,
        block_nesting_limit: MAX_NESTING,
    }
}

#[derive(Default)]
struct Reader {
    walk: Walk,
    documents: usize,
    /// The last scalar, whose anchor may be still to come.
    last: Option<Candidate>,
    candidates: Vec<Candidate>,
    comments: Vec<Comment>,
    shapes: Vec<Shape>,
}

impl Reader {
    fn read(
        &mut self,
        text: &str,
        event: &Event<'_>,
        bytes: Range<usize>,
        tag_start: Option<usize>,
    ) -> Result<(), SetterError> {
        if self.shapes.len() + self.comments.len() >= MAX_NODES {
            return Err(SetterError::TooManyNodes);
        }
        // Comments may be reported before or after the scalar they stand beside, so they take no part in shapes.
        if let Event::Comment(comment, _) = event {
            self.comments.push(Comment { span: bytes, text: comment.to_string() });
            return Ok(());
        }
        if let Event::DocumentStart(..) = event {
            self.documents += 1;
            if self.documents > MAX_DOCUMENTS {
                return Err(SetterError::TooManyDocuments);
            }
        }
        if let Event::Anchor(..) = event
            && let Some(last) = self.last.as_mut().filter(|last| last.target.event + 1 == self.shapes.len())
        {
            last.start = last.start.min(bytes.start);
        }
        let position = self.walk.step(event);
        if let (Some(position), &Event::Scalar(ref value, style, anchor, ref tag)) = (position, event) {
            let is_foreign = tag.as_ref().is_some_and(|tag| !tag.is_yaml_core_schema_tag("str"));
            let candidate = Candidate {
                start: tag_start.map_or(bytes.start, |start| start.min(bytes.start)),
                is_item: position.is_item,
                object: position.object,
                target: Target {
                    span: bytes,
                    style,
                    foreign_tag: tag_start.filter(|_| is_foreign),
                    is_tagged_string: tag.is_some() && !is_foreign,
                    event: self.shapes.len(),
                    anchor,
                    value: value.to_string(),
                    setter: String::new(),
                    object: ObjectId::default(),
                },
            };
            let before = self.last.replace(candidate);
            self.keep(text, before);
        }
        self.shapes.push(Shape::of(event));
        Ok(())
    }

    /// Keeps a scalar that a comment stands beside; most have none.
    fn keep(&mut self, text: &str, candidate: Option<Candidate>) {
        self.candidates.extend(candidate.filter(|candidate| place::may_be_marked(text, candidate)));
    }

    /// Joins scalars and comments, now that both are known.
    fn finish(mut self, text: &str) -> Scan {
        let last = self.last.take();
        self.keep(text, last);
        let comments = place::Comments::of(text, &self.comments);
        let identities = self.walk.finish();
        let mark = |candidate: Candidate| {
            let comment = place::comment_of(text, &comments, &candidate)?;
            let setter = marker::parse(comment)?;
            let object = identities.get(&candidate.object);
            Some(Target { setter, object, ..candidate.target })
        };
        let targets = self.candidates.into_iter().filter_map(mark).collect();
        Scan { targets, shapes: self.shapes }
    }
}
