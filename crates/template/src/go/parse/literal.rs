//! Numbers, characters and strings by Go's rules.

use crate::go::{lex::Kind, node::Literal};

/// Reads a literal; the error is Go's.
pub(super) fn parse(kind: Kind, source: &str) -> Result<Literal, String> {
    match kind {
        Kind::Bool => Ok(Literal::Bool(source == "true")),
        Kind::Number => number(source).ok_or_else(|| format!("bad number syntax: {source:?}")),
        Kind::CharacterConstant => {
            let text =
                unquote(source, '\'').ok_or_else(|| format!("malformed character constant: {source}"))?;
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(only), None) => Ok(Literal::Int(i64::from(u32::from(only)))),
                _ => Err(format!("malformed character constant: {source}")),
            }
        }
        _ => text(source).map(Literal::Text).ok_or_else(|| "invalid syntax".to_owned()),
    }
}

/// Reads a quoted or raw string.
pub(super) fn text(source: &str) -> Option<String> {
    match source.strip_prefix('`') {
        Some(raw) => Some(raw.strip_suffix('`')?.replace('\r', "")),
        None => unquote(source, '"'),
    }
}

fn number(source: &str) -> Option<Literal> {
    let plain = source.replace('_', "");
    let (is_negative, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.starts_with('-'), digits),
        None => (false, plain.as_str()),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(prefix, _)| lower.starts_with(prefix));
    let whole = match radix {
        Some((prefix, radix)) => i64::from_str_radix(lower.strip_prefix(prefix)?, radix).ok(),
        None if lower.len() > 1
            && lower.starts_with('0')
            && lower.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            i64::from_str_radix(&lower, 8).ok()
        }
        None => lower.parse().ok(),
    };
    if let Some(whole) = whole {
        return Some(Literal::Int(if is_negative { -whole } else { whole }));
    }
    let is_decimal = lower.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let float: f64 = lower.parse().ok().filter(|_| is_decimal)?;
    float.is_finite().then_some(Literal::Float(if is_negative { -float } else { float }))
}

/// Removes quotes and resolves escapes.
fn unquote(source: &str, quote: char) -> Option<String> {
    let inner = source.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let escape = rest.next()?;
        out.push(match escape {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0B',
            '\\' => '\\',
            _ if escape == quote => quote,
            'x' => code(&mut rest, 2)?,
            'u' => code(&mut rest, 4)?,
            'U' => code(&mut rest, 8)?,
            _ => return None,
        });
    }
    Some(out)
}

fn code(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = rest.take(digits).collect();
    (text.len() == digits).then(|| u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)).flatten()
}
