//! The effects of the operators on a value (KS-ENV-1..14).

use crate::glob::{Length, Pattern};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `${v}`
    Value,
    /// `${#v}`
    Length,
    /// `${v^}`
    UpperFirst,
    /// `${v^^}`
    UpperAll,
    /// `${v,}`
    LowerFirst,
    /// `${v,,}`
    LowerAll,
    /// `${v,^}`: a mix that changes nothing (KS-ENV-14)
    Keep,
    /// `${v:n}`, `${v:n:m}`
    Substring,
    /// `${v=d}`, `${v:=d}`, `${v:-d}`, `${v:?d}`, `${v:+d}`: all the same in Flux (KS-ENV-5)
    Default,
    /// `${v#p}`
    TrimShortestPrefix,
    /// `${v##p}`
    TrimLongestPrefix,
    /// `${v%p}`
    TrimShortestSuffix,
    /// `${v%%p}`
    TrimLongestSuffix,
    /// `${v/a/b}`
    ReplaceFirst,
    /// `${v//a/b}`
    ReplaceAll,
    /// `${v/#a/b}`
    ReplacePrefix,
    /// `${v/%a/b}`
    ReplaceSuffix,
}

impl Operator {
    /// Returns true when an unset variable is fine because the expression says what to put instead (KS-ENV-20).
    pub(crate) fn has_default(self) -> bool {
        self == Self::Default
    }

    /// The work of applying the operator, in bytes copied or compared.
    pub(crate) fn steps(self, value: &str, pattern: &str) -> usize {
        match self {
            Self::TrimShortestPrefix
            | Self::TrimLongestPrefix
            | Self::TrimShortestSuffix
            | Self::TrimLongestSuffix => {
                value.len().saturating_mul(pattern.len()).saturating_add(value.len())
            }
            _ => value.len(),
        }
    }

    /// The value with the operator applied; arguments that the operator does not take are not looked at.
    pub(crate) fn apply(self, value: &str, first: &str, second: Option<&str>) -> String {
        match self {
            Self::Value | Self::Keep => value.to_owned(),
            Self::Length => value.len().to_string(),
            Self::UpperFirst => change_first(value, upper),
            Self::UpperAll => value.chars().map(upper).collect(),
            Self::LowerFirst => change_first(value, lower),
            Self::LowerAll => value.chars().map(lower).collect(),
            Self::Substring => substring(value, first, second),
            Self::Default => if value.is_empty() { first } else { value }.to_owned(),
            Self::TrimShortestPrefix => trim_prefix(value, first, Length::Shortest),
            Self::TrimLongestPrefix => trim_prefix(value, first, Length::Longest),
            Self::TrimShortestSuffix => trim_suffix(value, first, Length::Shortest),
            Self::TrimLongestSuffix => trim_suffix(value, first, Length::Longest),
            Self::ReplaceFirst => value.replacen(first, second.unwrap_or_default(), 1),
            Self::ReplaceAll => value.replace(first, second.unwrap_or_default()),
            Self::ReplacePrefix => replace_prefix(value, first, second),
            Self::ReplaceSuffix => replace_suffix(value, first, second),
        }
    }
}

fn change_first(value: &str, change: impl Fn(char) -> char) -> String {
    let mut characters = value.chars();
    characters.next().map_or_else(String::new, |first| format!("{}{}", change(first), characters.as_str()))
}

/// The one capital letter of a letter, as Flux has it: `ß` stays, since its capital is two letters.
fn upper(letter: char) -> char {
    // Greek letters with an iota below have a capital with two letters, and one with one.
    let shift = match letter {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => return single(letter.to_uppercase()).unwrap_or(letter),
    };
    char::from_u32(u32::from(letter) + shift).unwrap_or(letter)
}

fn lower(letter: char) -> char {
    match letter {
        'İ' => 'i',
        _ => single(letter.to_lowercase()).unwrap_or(letter),
    }
}

fn single(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

/// Bytes, as Flux counts them; a cut within a character leaves the replacement character.
fn substring(value: &str, position: &str, length: Option<&str>) -> String {
    let bytes = value.as_bytes();
    let Ok(position) = position.parse::<i64>() else { return value.to_owned() };
    let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let start = if position < 0 { position.saturating_add(size).max(0) } else { position };
    let end = match length.map(str::parse::<i64>) {
        None => size,
        Some(Ok(length)) => start.saturating_add(length).min(size),
        Some(Err(_)) => return value.to_owned(),
    };
    let index = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
    let cut = bytes.get(index(start)..index(end)).unwrap_or_default();
    String::from_utf8_lossy(cut).into_owned()
}

fn trim_prefix(value: &str, pattern: &str, length: Length) -> String {
    let matched = Pattern::of_prefix(pattern).and_then(|pattern| pattern.prefix(value, length));
    value.get(matched.unwrap_or(0)..).unwrap_or(value).to_owned()
}

fn trim_suffix(value: &str, pattern: &str, length: Length) -> String {
    let matched = Pattern::of_suffix(pattern).and_then(|pattern| pattern.suffix(value, length));
    value.get(..matched.unwrap_or(value.len())).unwrap_or(value).to_owned()
}

/// Without a replacement the value stays as it is (KS-ENV-10).
fn replace_prefix(value: &str, prefix: &str, replacement: Option<&str>) -> String {
    match (value.strip_prefix(prefix), replacement) {
        (Some(rest), Some(replacement)) => format!("{replacement}{rest}"),
        _ => value.to_owned(),
    }
}

fn replace_suffix(value: &str, suffix: &str, replacement: Option<&str>) -> String {
    match (value.strip_suffix(suffix), replacement) {
        (Some(rest), Some(replacement)) => format!("{rest}{replacement}"),
        _ => value.to_owned(),
    }
}
