//! The comment that belongs to a scalar (ST-11, ST-12), by the bytes around it.

use std::collections::HashMap;

use granit_parser::ScalarStyle;

use super::{Candidate, Comment};

/// The comments of a file by the start of their line; a line has one at most.
pub(super) type Comments<'c> = HashMap<usize, &'c Comment>;

/// Returns the comment that marks the scalar: the one at the end of its line, or, if there is none, the lone
/// comment above an item or between a key or dash and a value on a line of its own.
pub(super) fn comment_of<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c str> {
    // An empty value has no bytes; a comment after it belongs to its key.
    if candidate.target.span.is_empty() {
        return None;
    }
    line_comment(text, comments, candidate).or_else(|| head_comment(text, comments, candidate))
}

fn line_comment<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c str> {
    let span = &candidate.target.span;
    if is_block(candidate.target.style) {
        // The comment stands on the header's line, which ends above the body.
        let header = header_line(text, span.start)?;
        return comments.get(&header).map(|comment| comment.text.as_str());
    }
    let comment =
        comments.get(&line_start(text, span.end)).filter(|comment| comment.span.start >= span.end)?;
    let between = text.get(span.end..comment.span.start)?.trim();
    matches!(between, "" | ",").then_some(comment.text.as_str())
}

fn head_comment<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c str> {
    let line = line_start(text, candidate.start);
    let prefix = text.get(line..candidate.start)?.trim();
    let is_alone = prefix.is_empty();
    let is_after_own_dash = candidate.is_item && prefix == "-";
    if !is_alone && !is_after_own_dash {
        return None;
    }
    let above = line_above(text, line)?;
    let comment = comments.get(&above)?;
    let before = text.get(above..comment.span.start)?.trim();
    let is_after_dash = is_alone && candidate.is_item && before == "-";
    let is_lone = before.is_empty() && !is_comment_line(text, comments, previous_line(text, above));
    (is_after_dash || is_lone).then_some(comment.text.as_str())
}

/// A line with nothing but a comment.
fn is_comment_line(text: &str, comments: &Comments<'_>, line: Option<usize>) -> bool {
    let Some(line) = line else { return false };
    let before = comments.get(&line).and_then(|comment| text.get(line..comment.span.start));
    before.is_some_and(|before| before.trim().is_empty())
}

pub(crate) fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

/// Returns the start of the line on which a block's header stands; blank lines may lie between it and the body.
pub(crate) fn header_line(text: &str, body: usize) -> Option<usize> {
    line_above(text, line_start(text, body))
}

/// Returns the start of the line that holds the byte.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Returns the start of the nearest line above that is not blank.
fn line_above(text: &str, line: usize) -> Option<usize> {
    let mut above = previous_line(text, line)?;
    while text.get(above..line)?.lines().next().is_none_or(|line| line.trim().is_empty()) {
        above = previous_line(text, above)?;
    }
    Some(above)
}

fn previous_line(text: &str, line: usize) -> Option<usize> {
    line.checked_sub(1).map(|newline| line_start(text, newline))
}
