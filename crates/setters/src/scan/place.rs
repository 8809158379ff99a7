//! The comment that belongs to a scalar (ST-11, ST-12), by the bytes around it.

use std::collections::HashMap;

use granit_parser::ScalarStyle;

use super::{Candidate, Comment};

/// The comments of a file; a line has one at most.
pub(super) struct Comments<'c> {
    by_start: HashMap<usize, &'c Comment>,
    by_line: HashMap<usize, &'c Comment>,
}

impl<'c> Comments<'c> {
    pub(super) fn of(text: &str, comments: &'c [Comment]) -> Self {
        let by_start = comments.iter().map(|comment| (comment.span.start, comment)).collect();
        let by_line =
            comments.iter().map(|comment| (line_start(text, comment.span.start), comment)).collect();
        Self { by_start, by_line }
    }

    /// The comment of the line that starts there.
    fn on(&self, line: usize) -> Option<&'c Comment> {
        self.by_line.get(&line).copied()
    }
}

/// Returns true when the scalar's neighbourhood has the sign of a comment, so that one may mark it. No text is read for more than
/// one scalar, so that the time does not grow with the length of a line.
pub(super) fn may_be_marked(text: &str, candidate: &Candidate) -> bool {
    let has_sign = |line: Option<usize>| line.is_some_and(|line| line_at(text, line).contains('#'));
    let beside = if is_block(candidate.target.style) {
        has_sign(header_line(text, candidate.target.span.start))
    } else {
        text.get(comment_start(text, candidate.target.span.end)..).is_some_and(|rest| rest.starts_with('#'))
    };
    beside || line_alone(text, candidate).is_some_and(|(line, _)| has_sign(line_above(text, line)))
}

/// Returns the comment that marks the scalar: the one at the end of its line, or, if there is none, the lone
/// comment above an item or between a key or dash and a value on a line of its own.
pub(super) fn comment_of<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c str> {
    // An empty value has no bytes; a comment after it belongs to its key.
    if candidate.target.span.is_empty() {
        return None;
    }
    let comment = line_comment(text, comments, candidate).or_else(|| head_comment(text, comments, candidate));
    comment.map(|comment| comment.text.as_str())
}

fn line_comment<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c Comment> {
    let span = &candidate.target.span;
    if is_block(candidate.target.style) {
        // The comment stands on the header's line, which ends above the body.
        return comments.on(header_line(text, span.start)?);
    }
    comments.by_start.get(&comment_start(text, span.end)).copied()
}

/// Returns the start of the comment at the end of a scalar's line, if there is one: nothing but a comma may stand before it.
fn comment_start(text: &str, scalar_end: usize) -> usize {
    let skip = |rest: &str| rest.trim_start_matches(is_blank).len();
    let rest = text.get(scalar_end..).unwrap_or_default();
    let at = text.len() - skip(rest);
    match text.get(at..).and_then(|rest| rest.strip_prefix(',')) {
        Some(rest) => text.len() - skip(rest),
        None => at,
    }
}

fn head_comment<'c>(text: &str, comments: &Comments<'c>, candidate: &Candidate) -> Option<&'c Comment> {
    let (line, is_after_dash) = line_alone(text, candidate)?;
    let above = line_above(text, line)?;
    let comment = comments.on(above)?;
    let before = text.get(above..comment.span.start)?.trim();
    let is_below_dash = !is_after_dash && candidate.is_item && before == "-";
    let is_lone = before.is_empty() && !is_comment_line(text, comments, previous_line(text, above));
    (is_below_dash || is_lone).then_some(comment)
}

/// Returns the start of the scalar's line if nothing but the scalar's own dash stands before it there, with true if the dash does.
fn line_alone(text: &str, candidate: &Candidate) -> Option<(usize, bool)> {
    let before = text.get(..candidate.start)?.trim_end_matches(is_blank);
    let (before, is_after_dash) = match before.strip_suffix('-') {
        Some(before) if candidate.is_item => (before.trim_end_matches(is_blank), true),
        _ => (before, false),
    };
    (before.is_empty() || before.ends_with('\n')).then(|| (line_start(text, candidate.start), is_after_dash))
}

fn is_blank(character: char) -> bool {
    character != '\n' && character.is_whitespace()
}

/// A line with nothing but a comment.
fn is_comment_line(text: &str, comments: &Comments<'_>, line: Option<usize>) -> bool {
    let Some(line) = line else { return false };
    let before = comments.on(line).and_then(|comment| text.get(line..comment.span.start));
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
    while line_at(text, above).trim().is_empty() {
        above = previous_line(text, above)?;
    }
    Some(above)
}

fn line_at(text: &str, start: usize) -> &str {
    text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

fn previous_line(text: &str, line: usize) -> Option<usize> {
    line.checked_sub(1).map(|newline| line_start(text, newline))
}
