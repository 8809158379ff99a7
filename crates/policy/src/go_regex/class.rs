//! Character classes: `[` … `]`.

use super::{Fault, GoRegexError, escape};

/// The POSIX classes Go knows.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Translates the class at the start of the text and returns the rest.
///
/// Every member is written as an escaped literal, so that Rust's set operators (`&&`, `--`, `~~`) and nested
/// classes never arise from text that Go reads as characters.
pub(super) fn translate<'t>(text: &'t str, out: &mut String) -> Result<&'t str, GoRegexError> {
    let missing = || GoRegexError::syntax(Fault::MissingBracket, text);
    let mut rest = text.get(1..).unwrap_or_default();
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut is_first = true;
    loop {
        match rest.chars().next().ok_or_else(missing)? {
            ']' if !is_first => {
                out.push(']');
                return Ok(rest.get(1..).unwrap_or_default());
            }
            '\\' => rest = escaped(text, rest, out)?,
            _ => {
                rest = match rest.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) {
                    Some((name, after)) => posix(name, after, out)?,
                    None => range(text, rest, out)?,
                }
            }
        }
        is_first = false;
    }
}

/// Translates `[:name:]`, after which stands `after`.
fn posix<'t>(name: &str, after: &'t str, out: &mut String) -> Result<&'t str, GoRegexError> {
    let whole = format!("[:{name}:]");
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(GoRegexError::syntax(Fault::CharRange, whole));
    }
    out.push_str(&whole);
    Ok(after)
}

fn escaped<'t>(class: &'t str, rest: &'t str, out: &mut String) -> Result<&'t str, GoRegexError> {
    let letter = rest.chars().nth(1).ok_or_else(|| GoRegexError::syntax(Fault::TrailingBackslash, ""))?;
    if let Some((members, is_negated)) = escape::perl_class(letter) {
        out.push_str(&if is_negated { format!("[^{members}]") } else { members.to_owned() });
        return Ok(rest.get(2..).unwrap_or_default());
    }
    if matches!(letter, 'p' | 'P') {
        let (unicode, after) = escape::unicode_class(rest)?;
        out.push_str(&unicode);
        return Ok(after);
    }
    range(class, rest, out)
}

/// Translates one character or a range of two.
fn range<'t>(class: &'t str, rest: &'t str, out: &mut String) -> Result<&'t str, GoRegexError> {
    let (low, after) = member(class, rest)?;
    escape::push_literal(out, low);
    let Some(bound) = after.strip_prefix('-').filter(|bound| !bound.is_empty() && !bound.starts_with(']'))
    else {
        return Ok(after);
    };
    let (high, after) = member(class, bound)?;
    if high < low {
        let whole = rest.get(..rest.len() - after.len()).unwrap_or(rest);
        return Err(GoRegexError::syntax(Fault::CharRange, whole));
    }
    out.push('-');
    escape::push_literal(out, high);
    Ok(after)
}

fn member<'t>(class: &'t str, text: &'t str) -> Result<(char, &'t str), GoRegexError> {
    let first = text.chars().next().ok_or_else(|| GoRegexError::syntax(Fault::MissingBracket, class))?;
    if first == '\\' {
        return escape::character(text);
    }
    Ok((first, text.get(first.len_utf8()..).unwrap_or_default()))
}
