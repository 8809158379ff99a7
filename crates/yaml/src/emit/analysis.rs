//! The styles in which a string may be written (KZ-1405..1408).

use crate::printable::is_printable;

/// The style of a string in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStyle {
    Plain,
    Single,
    Double,
    Literal,
}

/// Chooses the style of a value.
pub(crate) fn style_of(text: &str) -> OutputStyle {
    if is_obviously_plain(text) {
        return if resolves_to_string(text) { OutputStyle::Plain } else { OutputStyle::Double };
    }
    let allowed = Allowed::of(text);
    if text.contains('\n') {
        return if allowed.literal { OutputStyle::Literal } else { OutputStyle::Double };
    }
    if !resolves_to_string(text) {
        return OutputStyle::Double;
    }
    match allowed {
        Allowed { plain: true, .. } => OutputStyle::Plain,
        Allowed { single: true, .. } => OutputStyle::Single,
        _ => OutputStyle::Double,
    }
}

/// Chooses the style as go-yaml's version 3 does, which writes lines with tabs as blocks.
pub(crate) fn unfolded_style_of(text: &str) -> OutputStyle {
    if text.contains('\n') && Allowed::of(text).literal_with_tabs {
        OutputStyle::Literal
    } else {
        style_of(text)
    }
}

/// Returns true when text can stand behind `|` or `>`.
pub(crate) fn allows_block(text: &str) -> bool {
    !text.is_empty() && Allowed::of(text).literal
}

/// Returns true when text can stand in single quotes.
pub(crate) fn allows_single(text: &str) -> bool {
    Allowed::of(text).single
}

/// Most strings of a manifest: letters, digits and inner punctuation that never needs quotes.
fn is_obviously_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts_plain = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric() || matches!(first, b'/' | b'$' | b'_'));
    starts_plain
        && bytes.all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_' | b'$' | b'=')
        })
}

/// Returns true when the text read back as YAML 1.1 is a string (KZ-1406).
pub(super) fn resolves_to_string(text: &str) -> bool {
    let (tag, _) = crate::resolve::resolve(text, crate::Schema::Yaml11);
    tag == crate::Tag::Str && !is_base_60(text)
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: times of day, which YAML 1.1 reads as numbers.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !text.starts_with(|first: char| first.is_ascii_digit()) || !text.contains(':') {
        return false;
    }
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = text.split(':');
    let whole = parts.next().unwrap_or_default();
    digits(whole)
        && digits(fraction)
        && parts.all(|part| match part.as_bytes() {
            [last] => last.is_ascii_digit(),
            [b'0'..=b'5', last] => last.is_ascii_digit(),
            _ => false,
        })
}

/// The styles that libyaml's scalar analysis permits.
#[derive(Debug, Clone, Copy)]
struct Allowed {
    plain: bool,
    single: bool,
    literal: bool,
    literal_with_tabs: bool,
}

impl Allowed {
    fn of(text: &str) -> Self {
        let mut seen = Seen { indicator: starts_with_indicator(text), ..Seen::default() };
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            seen.character(previous, character, characters.peek().copied());
            previous = Some(character);
        }
        let blank_edge = text.starts_with([' ', '\n']) || text.ends_with([' ', '\n']);
        let broken = seen.special || seen.space_before_break;
        let literal_with_tabs = !(broken || text.ends_with(' '));
        Self {
            plain: !(broken || seen.tab || blank_edge || seen.indicator || seen.line_break),
            single: !(broken || seen.tab || seen.break_before_space),
            literal: literal_with_tabs && !seen.tab,
            literal_with_tabs,
        }
    }
}

/// The facts found while reading a string once.
#[derive(Default)]
struct Seen {
    indicator: bool,
    special: bool,
    tab: bool,
    line_break: bool,
    space_before_break: bool,
    break_before_space: bool,
}

impl Seen {
    fn character(&mut self, previous: Option<char>, character: char, next: Option<char>) {
        match character {
            ':' if previous.is_some() && is_blank_or_end(next) => self.indicator = true,
            // libyaml counts the start of the text as blank, but the first character is judged on its own.
            '#' if previous.is_some_and(is_blank_or_break) => self.indicator = true,
            '\n' => {
                self.line_break = true;
                self.space_before_break |= previous == Some(' ');
            }
            ' ' => self.break_before_space |= previous == Some('\n'),
            '\t' => self.tab = true,
            // They end a line for readers of YAML 1.1, and for none of YAML 1.2: escaped, they are the same to all.
            '\u{2028}' | '\u{2029}' => self.special = true,
            _ => self.special |= !is_printable(character),
        }
    }
}

/// Document markers, and first characters that mean something to a YAML reader.
fn starts_with_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut characters = text.chars();
    match characters.next() {
        Some(
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
        ) => true,
        Some('?' | ':' | '-') => is_blank_or_end(characters.next()),
        _ => false,
    }
}

fn is_blank_or_end(character: Option<char>) -> bool {
    character.is_none_or(|character| matches!(character, ' ' | '\t'))
}

fn is_blank_or_break(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\0')
}
