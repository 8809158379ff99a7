//! Text that remembers where it was read.

use std::fmt;
use std::sync::Arc;

/// A file's content, shared by every [`Text`] that was cut out of it.
#[derive(Debug)]
pub struct Source {
    text: String,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    /// The text is the content of the file of this name.
    File(String),
    /// The text was decoded (escapes, folded lines) from this place of another source.
    Decoded { from: Arc<Source>, at: u32 },
    /// The text is a document of the file of this name, changed line by line; it begins on this line.
    Mended { name: String, first_line: usize },
    /// The text was made by a program.
    Made,
}

/// The place of a piece of text in the file it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Name of the file as given to the parser.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Source {
    /// A file read into memory. Offsets are 32 bits wide, so callers cap the size ([`crate::Limits::bytes`]).
    pub fn file(name: impl Into<String>, text: String) -> Arc<Self> {
        Arc::new(Self { text, origin: Origin::File(name.into()) })
    }

    /// A text that replaces the document at `start` of `source` and has the same lines.
    pub(crate) fn mended(source: &Self, start: usize, text: String) -> Arc<Self> {
        let origin = Origin::Mended { name: source.name().to_owned(), first_line: source.line_at(start) };
        Arc::new(Self { text, origin })
    }

    /// The whole content.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The file's name; empty for text made by a program.
    pub fn name(&self) -> &str {
        match &self.origin {
            Origin::File(name) | Origin::Mended { name, .. } => name,
            Origin::Decoded { from, .. } => from.name(),
            Origin::Made => "",
        }
    }

    /// The line (from 1) that the byte at `offset` is on.
    pub fn line_at(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        let first = if let Origin::Mended { first_line, .. } = &self.origin { *first_line } else { 1 };
        before.iter().filter(|byte| **byte == b'\n').count() + first
    }

    fn position_at(&self, offset: usize) -> Option<Position> {
        match &self.origin {
            Origin::File(name) | Origin::Mended { name, .. } => {
                Some(Position { file: name.clone(), line: self.line_at(offset) })
            }
            Origin::Decoded { from, at } => from.position_at(*at as usize),
            Origin::Made => None,
        }
    }
}

/// An immutable string: a slice of a [`Source`], 16 bytes wide, cloned by counting a reference.
///
/// Most scalars of a build are never changed, so they stay slices of the files they came from.
#[derive(Clone)]
pub struct Text {
    source: Arc<Source>,
    start: u32,
    end: u32,
}

impl Text {
    /// The slice `start..end` (bytes) of a source. Out-of-range slices read as empty.
    pub fn slice(source: &Arc<Source>, start: usize, end: usize) -> Self {
        let start = clamp(start);
        Self { source: Arc::clone(source), start, end: clamp(end).max(start) }
    }

    /// Text decoded from the byte `at` of `from`: it has content of its own, but keeps its place in the file.
    pub fn decoded(from: &Arc<Source>, at: usize, text: String) -> Self {
        let end = clamp(text.len());
        let origin = Origin::Decoded { from: Arc::clone(from), at: clamp(at) };
        Self { source: Arc::new(Source { text, origin }), start: 0, end }
    }

    /// The characters.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.source.text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Length in bytes.
    #[inline]
    fn byte_len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Place at which the text was read; `None` for text made by a program.
    pub fn position(&self) -> Option<Position> {
        self.source.position_at(self.start as usize)
    }
}

fn clamp(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        let end = clamp(text.len());
        Self { source: Arc::new(Source { text, origin: Origin::Made }), start: 0, end }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    // Looking up keys is most of what a build does; most keys differ in length already.
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.byte_len() == other.len() && self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
