//! Dotted field paths, as replacements and vars write them (KZ-611).

mod get;
mod make;
mod visit;

use regex::Regex;
use weir_policy::go_regex;

pub use self::get::PathError;
pub(crate) use self::get::get;
pub(crate) use self::make::find_or_make;
pub(crate) use self::visit::{Creating, visit};

/// A step of a path.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// A key of a mapping.
    Key(String),
    /// An element of a list by position.
    Index(i64),
    /// The elements of a list whose field, or which themselves, have a value.
    Match {
        /// The field; empty means the element itself.
        field: String,
        /// The value: exact when a source is looked up, an expression when targets are.
        value: String,
        /// `value` as an expression; `None` when it is none.
        pattern: Option<Regex>,
    },
    /// Every element of a list.
    Every,
}

/// Splits a path at dots; `\.` is a dot, `[a.b]` is one key, `[k=v]` selects elements.
pub(crate) fn split(path: &str) -> Vec<Part> {
    split_text(path).into_iter().map(|text| part(&text)).collect()
}

/// As [`split`], for reading: blanks around a part do not count, nor do parts without text.
pub(crate) fn split_source(path: &str) -> Vec<Part> {
    parts(&split_text(path))
}

/// Returns the parts that the pieces of a path stand for.
pub(crate) fn parts(pieces: &[String]) -> Vec<Part> {
    pieces.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).map(part).collect()
}

/// As [`split`], with `a[0]` read as `a.0` (vars).
pub(crate) fn split_with_indexes(path: &str) -> Vec<Part> {
    let mut pieces = Vec::new();
    for text in split_text(path) {
        let indexed = text.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
        match indexed
            .filter(|(_, index)| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()))
        {
            Some((key, index)) => {
                pieces.extend([key.to_owned(), index.to_owned()]);
            }
            None => pieces.push(text),
        }
    }
    parts(&pieces)
}

fn part(text: &str) -> Part {
    if let Ok(index) = text.parse::<i64>() {
        return Part::Index(index);
    }
    if text == "*" {
        return Part::Every;
    }
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner.and_then(|inner| inner.split_once('=')) {
        Some((field, value)) => Part::Match {
            field: field.to_owned(),
            value: value.to_owned(),
            pattern: go_regex::compile(value).ok(),
        },
        None => Part::Key(text.to_owned()),
    }
}

fn split_text(path: &str) -> Vec<String> {
    let path = path.strip_prefix('.').filter(|rest| !rest.is_empty()).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    let mut pieces = path.split('.');
    let mut current = pieces.next().map(str::to_owned);
    while let Some(mut piece) = current.take() {
        current = pieces.next().map(str::to_owned);
        // An escaped dot joins two pieces.
        while let (Some(start), Some(next)) = (piece.strip_suffix('\\'), current.as_deref()) {
            piece = format!("{start}.{next}");
            current = pieces.next().map(str::to_owned);
        }
        parts.push(piece);
    }
    join_brackets(parts)
}

/// Pieces between an opening bracket and the closing one belong together.
fn join_brackets(pieces: Vec<String>) -> Vec<String> {
    let mut joined = Vec::new();
    let mut pieces = pieces.into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            joined.push(piece);
            continue;
        }
        let mut bracketed = piece;
        for piece in pieces.by_ref() {
            bracketed.push('.');
            bracketed.push_str(&piece);
            if piece.ends_with(']') {
                break;
            }
        }
        // Without a value to match, the brackets only protect the dots of a key.
        let is_key = !bracketed.contains('=');
        joined.push(if is_key { bracketed.trim_matches(['[', ']']).to_owned() } else { bracketed });
    }
    joined
}

#[cfg(test)]
mod tests;
