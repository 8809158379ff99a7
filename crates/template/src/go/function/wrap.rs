//! Sprig's functions that break and shorten texts. All count bytes.

use super::{CallError, Function, int, text};
use crate::go::value::Value;
use crate::text::check_length;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "wrap" => Function::exactly(2, |a| wrap(text(a, 1)?, int(a, 0)?, "", false)),
        "wrapWith" => Function::exactly(3, |a| wrap(text(a, 2)?, int(a, 0)?, text(a, 1)?, true)),
        "abbrev" => Function::exactly(2, |a| Ok(Value::text(abbreviate(text(a, 1)?, 0, int(a, 0)?)))),
        "abbrevboth" => {
            Function::exactly(3, |a| Ok(Value::text(abbreviate(text(a, 2)?, int(a, 0)?, int(a, 1)?))))
        }
        "initials" => Function::exactly(1, |a| Ok(Value::text(initials(text(a, 0)?)))),
        _ => None,
    }
}

/// Breaks a text into lines at spaces; words that are longer than a line stay whole or are cut.
fn wrap(subject: &str, width: i64, line_end: &str, cuts_words: bool) -> Result<Value, CallError> {
    let width = usize::try_from(width).unwrap_or_default().max(1);
    let line_end = if line_end.is_empty() { "\n" } else { line_end };
    let mut rest = subject.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(rest.len());
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(b" ") {
            rest = after;
            continue;
        }
        let space = |byte: &u8| *byte == b' ';
        let (line, after) = rest.split_at_checked(width + 1).unwrap_or((rest, b""));
        let (line, after) = match line.iter().rposition(space) {
            Some(end) => (rest.get(..end), rest.get(end + 1..)),
            None if cuts_words => (rest.get(..width), rest.get(width..)),
            // The last byte of the line can be no space here, so that the search may begin behind it.
            None => match after.iter().position(space) {
                Some(more) => (rest.get(..width + 1 + more), rest.get(width + 2 + more..)),
                None => break,
            },
        };
        out.extend_from_slice(line.unwrap_or_default());
        out.extend_from_slice(line_end.as_bytes());
        check_length(out.len())?;
        rest = after.unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Ok(Value::text(String::from_utf8_lossy(&out)))
}

/// Shortens a text to a width with dots at its end and, when it is to show what stands at an offset far enough
/// from the start, at its start.
fn abbreviate(subject: &str, offset: i64, width: i64) -> String {
    let bytes = subject.as_bytes();
    let Some(room) = usize::try_from(width).ok().and_then(|width| width.checked_sub(3)) else {
        return subject.to_owned();
    };
    if room == 0 || (offset > 0 && room < 4) || bytes.len() <= room + 3 {
        return subject.to_owned();
    }
    let latest = bytes.len() - room;
    let offset = usize::try_from(offset).unwrap_or_default().min(latest);
    let shown = |from: usize, to: usize| String::from_utf8_lossy(bytes.get(from..to).unwrap_or_default());
    if offset <= 4 {
        format!("{}...", shown(0, room))
    } else if offset < latest {
        format!("...{}...", shown(offset, offset + room - 3))
    } else {
        format!("...{}", shown(latest, bytes.len()))
    }
}

/// The first byte of each word, as Go's library has it.
fn initials(subject: &str) -> String {
    let mut is_inside = false;
    let mut out = String::new();
    for character in subject.bytes().map(char::from) {
        let is_space = character.is_whitespace();
        if !is_space && !is_inside {
            out.push(character);
        }
        is_inside = !is_space;
    }
    out
}
