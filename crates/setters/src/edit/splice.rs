//! Writes new scalar tokens over old ones (ST-13, ST-14, ST-15).

use std::ops::Range;

use granit_parser::ScalarStyle;

use crate::{
    plain,
    scan::{Target, header_line, is_block, line_start},
};

/// One replacement of bytes.
type Patch = (Range<usize>, String);

/// Returns the text with every target's token replaced.
pub(super) fn splice(text: &str, writes: &[(&Target, &str)]) -> String {
    let mut patches: Vec<Patch> =
        writes.iter().flat_map(|(target, value)| patches(text, target, value)).collect();
    patches.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, replacement) in patches {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&replacement);
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

fn patches(text: &str, target: &Target, value: &str) -> Vec<Patch> {
    let mut patches = Vec::new();
    if let Some(start) = target.foreign_tag {
        let rest = text.get(start..).unwrap_or_default();
        let value = rest.trim_start_matches(|character| !is_blank(character)).trim_start_matches([' ', '\t']);
        patches.push((start..text.len() - value.len(), String::new()));
    }
    match target.style {
        style if is_block(style) => patches.extend(block(text, target, value)),
        ScalarStyle::SingleQuoted => {
            patches.push((target.span.clone(), format!("'{}'", value.replace('\'', "''"))));
        }
        ScalarStyle::DoubleQuoted => patches.push((target.span.clone(), double_quoted(value))),
        _ => patches.push((target.span.clone(), plain(value, target.is_tagged_string))),
    }
    patches
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// A plain token, quoted if a parser could read it as anything but a string.
fn plain(value: &str, is_tagged_string: bool) -> String {
    // Under `!!str` digits are a string already; other characters that need quotes still do.
    let is_string = plain::is_string(value) || is_tagged_string && plain::is_string(&format!("a{value}"));
    if is_string { value.to_owned() } else { double_quoted(value) }
}

/// A double-quoted token; JSON's escapes are a subset of YAML's.
fn double_quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// Patches of a block scalar: the header gets strip chomping, the body becomes one line at its indentation.
fn block(text: &str, target: &Target, value: &str) -> Vec<Patch> {
    let body = &target.span;
    let content = text.get(body.clone()).unwrap_or_default();
    if value.is_empty() || target.value.trim().is_empty() {
        return Vec::new();
    }
    let Some(header) = header_line(text, body.start).and_then(|line| header(text, line)) else {
        return Vec::new();
    };
    let first_line = line_start(text, body.start);
    let indent = text.get(first_line..body.start).unwrap_or_default();
    let header_end =
        text.get(header.end..).and_then(|rest| rest.find('\n')).map_or(first_line, |at| header.end + at + 1);
    let old = text.get(header.clone()).unwrap_or_default();
    let kept: String = old.chars().filter(|character| !matches!(character, '+' | '-')).collect();
    vec![
        (header, format!("{kept}-")),
        (header_end..body.start + content.trim_end().len(), format!("{indent}{value}")),
    ]
}

/// Finds the header token (`|`, `>2-`, …) on its line, in front of the comment that holds the marker.
fn header(text: &str, line: usize) -> Option<Range<usize>> {
    let rest = text.get(line..)?;
    let rest = rest.lines().next()?;
    // Nothing but blanks may stand between the header and its comment, so the header ends the part before it.
    let before = rest.match_indices('#').map(|(at, _)| rest.get(..at).unwrap_or_default().trim_end());
    let before = before.filter(|part| {
        part.trim_end_matches(|character: char| matches!(character, '+' | '-') || character.is_ascii_digit())
            .ends_with(['|', '>'])
    });
    let part = before.max_by_key(|part| std::cmp::Reverse(part.len()))?;
    let start = part.rfind(['|', '>'])?;
    Some(line + start..line + part.len())
}
