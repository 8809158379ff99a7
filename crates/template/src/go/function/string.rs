//! Sprig's functions of strings; the subject comes last (TP-9).

use super::case::{lower, upper};
use super::{CallError, Function, at, failed, int, strings, text, texts};
use crate::go::value::Value;
use crate::text::{check_length, replace, truncate};

pub(super) fn find(name: &str) -> Option<Function> {
    shape(name).or_else(|| test(name)).or_else(|| split(name))
}

/// Functions from a string to a string.
fn shape(name: &str) -> Option<Function> {
    match name {
        "lower" => {
            Function::exactly(1, |a| Ok(Value::text(text(a, 0)?.chars().map(lower).collect::<String>())))
        }
        "upper" => {
            Function::exactly(1, |a| Ok(Value::text(text(a, 0)?.chars().map(upper).collect::<String>())))
        }
        "title" => Function::exactly(1, |a| Ok(Value::text(map_initials(text(a, 0)?, upper, ends_word)))),
        "untitle" => {
            Function::exactly(1, |a| Ok(Value::text(map_initials(text(a, 0)?, lower, char::is_whitespace))))
        }
        "trim" => Function::exactly(1, |a| Ok(Value::text(text(a, 0)?.trim()))),
        "trimAll" | "trimall" => Function::exactly(2, |a| {
            let set = text(a, 0)?;
            Ok(Value::text(text(a, 1)?.trim_matches(|character| set.contains(character))))
        }),
        "trimPrefix" => Function::exactly(2, |a| {
            let subject = text(a, 1)?;
            Ok(Value::text(subject.strip_prefix(text(a, 0)?).unwrap_or(subject)))
        }),
        "trimSuffix" => Function::exactly(2, |a| {
            let subject = text(a, 1)?;
            Ok(Value::text(subject.strip_suffix(text(a, 0)?).unwrap_or(subject)))
        }),
        "nospace" => {
            Function::exactly(1, |a| Ok(Value::text(text(a, 0)?.split_whitespace().collect::<String>())))
        }
        "trunc" => Function::exactly(2, |a| Ok(Value::text(truncate(int(a, 0)?, text(a, 1)?)))),
        "substr" => Function::exactly(3, |a| Ok(Value::text(substring(int(a, 0)?, int(a, 1)?, text(a, 2)?)))),
        "replace" => {
            Function::exactly(3, |a| Ok(Value::text(replace(text(a, 2)?, text(a, 0)?, text(a, 1)?)?)))
        }
        "repeat" => Function::exactly(2, |a| Ok(Value::text(repeat(int(a, 0)?, text(a, 1)?)?))),
        "indent" => Function::exactly(2, |a| Ok(Value::text(indent(int(a, 0)?, text(a, 1)?)?))),
        "nindent" => {
            Function::exactly(2, |a| Ok(Value::text(format!("\n{}", indent(int(a, 0)?, text(a, 1)?)?))))
        }
        "quote" => Function::at_least(0, |a| enclose(a, |text| format!("{text:?}").replace("\\'", "'"))),
        "squote" => Function::at_least(0, |a| enclose(a, |text| format!("'{text}'"))),
        "cat" => Function::at_least(0, |a| enclose(a, |text| text)),
        "toString" => Function::exactly(1, |a| Ok(Value::text(at(a, 0).printed()?))),
        _ => None,
    }
}

fn test(name: &str) -> Option<Function> {
    match name {
        "contains" => Function::exactly(2, |a| Ok(Value::Bool(text(a, 1)?.contains(text(a, 0)?)))),
        "hasPrefix" => Function::exactly(2, |a| Ok(Value::Bool(text(a, 1)?.starts_with(text(a, 0)?)))),
        "hasSuffix" => Function::exactly(2, |a| Ok(Value::Bool(text(a, 1)?.ends_with(text(a, 0)?)))),
        "plural" => {
            Function::exactly(3, |a| Ok(Value::text(if int(a, 2)? == 1 { text(a, 0)? } else { text(a, 1)? })))
        }
        _ => None,
    }
}

/// Functions between strings and lists of strings.
fn split(name: &str) -> Option<Function> {
    match name {
        "splitList" => Function::exactly(2, |a| texts(parts(text(a, 1)?, text(a, 0)?, usize::MAX))),
        "split" => Function::exactly(2, |a| numbered(parts(text(a, 1)?, text(a, 0)?, usize::MAX))),
        "splitn" => Function::exactly(3, |a| {
            let most = usize::try_from(int(a, 1)?).unwrap_or(usize::MAX);
            numbered(parts(text(a, 2)?, text(a, 0)?, most))
        }),
        "join" => Function::exactly(2, |a| Ok(Value::text(strings(at(a, 1))?.join(text(a, 0)?)))),
        "sortAlpha" => Function::exactly(1, |a| {
            let mut sorted = strings(at(a, 0))?;
            sorted.sort_unstable();
            texts(sorted)
        }),
        "toStrings" => Function::exactly(1, |a| texts(strings(at(a, 0))?)),
        _ => None,
    }
}

/// Maps the first character of the text, and each one behind an end of a word.
fn map_initials(text: &str, map: fn(char) -> char, ends_word: fn(char) -> bool) -> String {
    let mut is_initial = true;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        out.push(if is_initial { map(character) } else { character });
        is_initial = ends_word(character);
    }
    out
}

/// The ends of words of Go's `strings.Title`: an apostrophe is one.
fn ends_word(character: char) -> bool {
    match character {
        '_' => false,
        character if character.is_ascii() => !character.is_ascii_alphanumeric(),
        character => character.is_whitespace(),
    }
}

fn substring(start: i64, end: i64, text: &str) -> String {
    let length = text.len();
    let start = usize::try_from(start).unwrap_or_default().min(length);
    let end = usize::try_from(end).ok().filter(|end| *end <= length).unwrap_or(length).max(start);
    String::from_utf8_lossy(text.as_bytes().get(start..end).unwrap_or_default()).into_owned()
}

fn repeat(count: i64, text: &str) -> Result<String, CallError> {
    let Ok(count) = usize::try_from(count) else { return failed("strings: negative Repeat count") };
    check_length(count.saturating_mul(text.len()))?;
    Ok(text.repeat(count))
}

fn indent(count: i64, text: &str) -> Result<String, CallError> {
    let pad = repeat(count, " ")?;
    Ok(format!("{pad}{}", replace(text, "\n", &format!("\n{pad}"))?))
}

/// Joins the printed forms of all that is something by spaces.
fn enclose(arguments: &[Value], form: fn(String) -> String) -> Result<Value, CallError> {
    let some = arguments.iter().filter(|value| !matches!(value, Value::Nil));
    let pieces: Vec<String> = some.map(|value| value.printed().map(form)).collect::<Result<_, _>>()?;
    Ok(Value::text(pieces.join(" ")))
}

/// At most so many parts, the last of which is all the rest. Without a separator each character is one.
fn parts(subject: &str, separator: &str, most: usize) -> Vec<String> {
    match separator {
        "" if most == 0 => Vec::new(),
        "" => {
            let end = subject.char_indices().nth(most - 1).map_or(subject.len(), |(at, _)| at);
            let (singles, rest) = subject.split_at(end);
            let rest = Some(rest).filter(|rest| !rest.is_empty());
            singles.chars().map(String::from).chain(rest.map(str::to_owned)).collect()
        }
        _ => subject.splitn(most, separator).map(str::to_owned).collect(),
    }
}

/// `{_0: …, _1: …}`.
fn numbered(parts: Vec<String>) -> Result<Value, CallError> {
    let entries = parts.into_iter().enumerate().map(|(index, part)| (format!("_{index}"), Value::text(part)));
    Ok(Value::dictionary(entries.collect())?)
}
