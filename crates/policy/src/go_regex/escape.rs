//! Escapes: one character, a class of characters, an assertion, or quoted text.

use super::{Fault, GoRegexError};

/// The ASCII members of Perl's digit class: Rust's own would match every script's digits.
const DIGIT: &str = "0-9";
const SPACE: &str = r"\t\n\x0C\r ";
const WORD: &str = "0-9A-Za-z_";

/// Appends a character so that it stands for itself, inside and outside of classes.
pub(super) fn push_literal(out: &mut String, character: char) {
    if character.is_ascii_punctuation() && character != '_' || character.is_ascii_control() {
        out.push_str(&format!("\\x{{{:X}}}", u32::from(character)));
    } else {
        out.push(character);
    }
}

/// Returns the members of a Perl class by its letter, and whether they are what it excludes.
pub(super) fn perl_class(letter: char) -> Option<(&'static str, bool)> {
    let members = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        'w' => WORD,
        _ => return None,
    };
    Some((members, letter.is_ascii_uppercase()))
}

/// Translates the escape at the start of the text, outside of classes, and returns the rest.
pub(super) fn translate<'t>(text: &'t str, out: &mut String) -> Result<&'t str, GoRegexError> {
    let letter = text.chars().nth(1).ok_or_else(|| GoRegexError::syntax(Fault::TrailingBackslash, ""))?;
    let after = text.get(1 + letter.len_utf8()..).unwrap_or_default();
    match letter {
        'A' | 'z' => out.push_str(text.get(..2).unwrap_or_default()),
        'b' => out.push_str(r"(?-u:\b)"),
        'B' => out.push_str(r"(?-u:\B)"),
        'Q' => {
            let (quoted, rest) = after.split_once(r"\E").unwrap_or((after, ""));
            quoted.chars().for_each(|character| push_literal(out, character));
            return Ok(rest);
        }
        'p' | 'P' => {
            let (class, rest) = unicode_class(text)?;
            out.push_str(&class);
            return Ok(rest);
        }
        _ => {
            if let Some((members, is_negated)) = perl_class(letter) {
                let negation = if is_negated { "^" } else { "" };
                out.push_str(&format!("[{negation}{members}]"));
            } else {
                let (character, rest) = character(text)?;
                push_literal(out, character);
                return Ok(rest);
            }
        }
    }
    Ok(after)
}

/// Translates `\pL`, `\p{Name}`, `\P…` and `\p{^Name}` at the start of the text.
pub(super) fn unicode_class(text: &str) -> Result<(String, &str), GoRegexError> {
    let fault = |fragment: &str| GoRegexError::syntax(Fault::CharRange, fragment);
    let is_upper = text.starts_with(r"\P");
    let after = text.get(2..).unwrap_or_default();
    let (name, rest) = match after.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or_else(|| fault(text))?,
        None => {
            let letter = after.chars().next().ok_or_else(|| fault(text))?;
            after.split_at_checked(letter.len_utf8()).unwrap_or((after, ""))
        }
    };
    let (name, is_negated) = name.strip_prefix('^').map_or((name, is_upper), |name| (name, !is_upper));
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(fault(text.get(..text.len() - rest.len()).unwrap_or(text)));
    }
    Ok((format!("\\{}{{{name}}}", if is_negated { 'P' } else { 'p' }), rest))
}

/// Reads an escape that stands for one character: punctuation, C escapes, octal and hexadecimal.
pub(super) fn character(text: &str) -> Result<(char, &str), GoRegexError> {
    let letter = text.chars().nth(1).ok_or_else(|| GoRegexError::syntax(Fault::TrailingBackslash, ""))?;
    let after = text.get(1 + letter.len_utf8()..).unwrap_or_default();
    let fault = || GoRegexError::syntax(Fault::Escape, text.get(..1 + letter.len_utf8()).unwrap_or_default());
    let simple = match letter {
        'a' => '\x07',
        'f' => '\x0C',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0B',
        'x' => return hexadecimal(text, after),
        // A lone digit other than zero would be a backreference, which linear-time engines do not have.
        '1'..='7' if !after.starts_with(|next: char| next.is_digit(8)) => return Err(fault()),
        '0'..='7' => return octal(text).ok_or_else(fault),
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => letter,
        _ => return Err(fault()),
    };
    Ok((simple, after))
}

/// Reads up to three octal digits after the backslash.
fn octal(text: &str) -> Option<(char, &str)> {
    let digits = text.get(1..)?;
    let len = digits.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let value = u32::from_str_radix(digits.get(..len)?, 8).ok()?;
    Some((char::from_u32(value)?, digits.get(len..)?))
}

/// Reads `\xFF` or `\x{10FFFF}`.
fn hexadecimal<'t>(text: &'t str, after: &'t str) -> Result<(char, &'t str), GoRegexError> {
    let (digits, rest) = match after.strip_prefix('{') {
        Some(braced) => braced.split_once('}').unwrap_or((braced, "")),
        None => after.split_at_checked(2).unwrap_or((after, "")),
    };
    let is_hexadecimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = is_hexadecimal.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
    let character = value.and_then(char::from_u32).ok_or_else(|| {
        GoRegexError::syntax(Fault::Escape, text.get(..text.len() - rest.len()).unwrap_or(text))
    })?;
    Ok((character, rest))
}
