//! Texts that go-yaml reads and the parser refuses: mended where the parser stopped, to be parsed again.
//!
//! Mending keeps every value and every line break, so lines in messages stay right. A text that parses at once is not
//! looked at here.

use granit_parser::{ErrorKind, Parser, ScanError};

use super::events;
use crate::Limits;

/// Bytes that may be parsed again to mend the documents of one file: 256 MiB, which takes a few seconds. A file of 1 MiB can
/// be mended at more than a hundred places, and one of the size of real manifests at thousands.
const MAX_WORK: usize = 256 << 20;

/// Blanks that indent a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// Mends the texts of one file.
#[derive(Default)]
pub(crate) struct Mender {
    /// Number of times that a text was mended.
    pub(super) mends: usize,
    work: usize,
}

impl Mender {
    /// Returns `text` with the place mended where the parser stopped with `error`; `None` where go-yaml stops too, or when
    /// the file has cost too much.
    pub(crate) fn mend(&mut self, text: &str, error: &ScanError, limits: &Limits) -> Option<String> {
        let at = error.marker().byte_offset()?;
        let mended = match error.kind() {
            ErrorKind::UnknownQuotedScalarEscape => indented(text, at, limits.bytes),
            ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation => {
                match self.open_at(text, at, limits)? {
                    // The end of a text behind a backslash is an unknown escape.
                    (ErrorKind::UnclosedQuotedScalar | ErrorKind::UnknownQuotedScalarEscape, start) => {
                        indented(text, start, limits.bytes)
                    }
                    _ => None,
                }
            }
            ErrorKind::TabInBlockIndentation => match self.open_at(text, at, limits)? {
                (ErrorKind::UnclosedFlowCollection { .. }, _) => untabbed(text, at),
                _ => None,
            },
            ErrorKind::CommentNotSeparated => separated(text, at),
            ErrorKind::UnknownAnchor | ErrorKind::SimpleKeyExpected => apart(text, at),
            ErrorKind::MisplacedFlowCollectionEnd if is_in_brackets(text) => {
                text.get(..at).map(str::to_owned)
            }
            _ => None,
        };
        let mended = mended.filter(|mended| mended != text)?;
        self.spend(mended.len())?;
        self.mends += 1;
        Some(mended)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.work = self.work.saturating_add(bytes);
        (self.work <= MAX_WORK).then_some(())
    }

    /// Returns what is open above the line of a byte, and its own place. The parser names both when the text ends there.
    fn open_at(&mut self, text: &str, at: usize, limits: &Limits) -> Option<(ErrorKind, usize)> {
        let before = text.get(..line_start(text, at))?.trim_end();
        self.spend(before.len())?;
        let error =
            Parser::new_from_str_with_options(before, events::options(limits)).find_map(Result::err)?;
        Some((error.kind().clone(), error.marker().byte_offset()?))
    }
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |line_break| line_break + 1)
}

/// Indents the lines of the quoted scalar at `start` as far as its quote, which is further than its block, and writes `\'`
/// without its backslash. Returns `None` if the scalar has no end or grows larger than `limit`.
fn indented(text: &str, start: usize, limit: usize) -> Option<String> {
    let (before, scalar) = text.split_at_checked(start + 1)?;
    let quote = before.chars().next_back()?;
    let indent = " ".repeat(before.get(line_start(text, start)..start)?.chars().count());
    let mut mended = before.to_owned();
    let mut rest = scalar;
    while let Some((part, after)) = next_part(rest, quote) {
        if mended.len() + part.len() + indent.len() + after.len() > limit {
            return None;
        }
        rest = after;
        match part {
            r"\'" => mended.push('\''),
            _ if part.ends_with('\n') => {
                let content = after.trim_start_matches(BLANKS);
                mended.push_str(part);
                // A line like these ends the document, for go-yaml as well.
                if !after.starts_with("---") && !after.starts_with("...") {
                    mended.push_str(if content.starts_with('\n') { "" } else { &indent });
                    rest = content;
                }
            }
            _ => mended.push_str(part),
        }
        if part.len() == 1 && part.starts_with(quote) {
            mended.push_str(rest);
            return Some(mended);
        }
    }
    None
}

/// Cuts off what stands for itself in a quoted scalar: text without breaks, a line break, an escape, the closing quote.
fn next_part(rest: &str, quote: char) -> Option<(&str, &str)> {
    let is_escape = |character: char| character == '\\' && quote == '"';
    let is_special = |character: char| character == '\n' || character == quote || is_escape(character);
    let mut characters = rest.chars();
    let first = characters.next()?;
    let length = match characters.next() {
        _ if !is_special(first) => rest.find(is_special).unwrap_or(rest.len()),
        Some(second) if is_escape(first) => 1 + second.len_utf8(),
        Some('\'') if first == '\'' => 2,
        _ => 1,
    };
    rest.split_at_checked(length)
}

/// Puts a space before a comment that begins right behind a quote, a bracket, a comma or the header of a block.
fn separated(text: &str, at: usize) -> Option<String> {
    let (before, comment) = text.split_at_checked(at)?;
    let is_end = |character: char| "\"'[]{},|>+-".contains(character) || character.is_ascii_digit();
    (before.ends_with(is_end) && comment.starts_with('#')).then(|| format!("{before} {comment}"))
}

/// Puts a space before the colon of a key that is an alias (`*app:`). Names of anchors are letters, digits, `_` and `-` for
/// go-yaml; for the parser the colon is part of the name.
fn apart(text: &str, at: usize) -> Option<String> {
    let name = text.get(at..)?.strip_prefix('*')?;
    let after = name
        .trim_start_matches(|character: char| character.is_ascii_alphanumeric() || "_-".contains(character));
    let is_key = after
        .strip_prefix(':')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
    let (before, colon) = text.split_at_checked(text.len() - after.len())?;
    is_key.then(|| format!("{before} {colon}"))
}

/// Returns true when the value of a document stands in brackets as a whole. Behind them go-yaml reads nothing, and so does not
/// notice one bracket too many.
fn is_in_brackets(text: &str) -> bool {
    let mut lines =
        text.lines().map(|line| line.strip_prefix("---").unwrap_or(line).trim_start_matches(BLANKS));
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', '%']));
    first.is_some_and(|line| line.starts_with(['{', '[']))
}

/// Indents the line of a byte with spaces, and so the lines behind it that have tabs and cannot go on with plain text, which
/// go-yaml refuses after tabs.
fn untabbed(text: &str, at: usize) -> Option<String> {
    let (before, lines) = text.split_at_checked(line_start(text, at))?;
    let mut mended = before.to_owned();
    let mut has_ended = true;
    let mut rest = lines;
    while has_ended && !rest.is_empty() {
        let content = rest.trim_start_matches(BLANKS);
        let (blanks, _) = rest.split_at_checked(rest.len() - content.len())?;
        if !blanks.contains('\t') {
            break;
        }
        let (line, after) =
            content.split_at_checked(content.find('\n').map_or(content.len(), |end| end + 1))?;
        mended.extend(std::iter::repeat_n(' ', blanks.len()));
        mended.push_str(line);
        has_ended = line.trim_end().ends_with([',', '[', ']', '{', '}', '"']);
        rest = after;
    }
    mended.push_str(rest);
    Some(mended)
}

#[cfg(test)]
mod tests;
