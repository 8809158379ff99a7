//! Go's number syntax.

use crate::{Tag, Value};

/// Parses an integer (any base, sign, `_` separators) or a float as go-yaml does.
pub(super) fn parse(text: &str) -> Option<(Tag, Value<'static>)> {
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')) {
        return None;
    }
    let without_separators;
    let text = if text.contains('_') {
        without_separators = text.replace('_', "");
        without_separators.as_str()
    } else {
        text
    };
    if let Some(value) = integer(text) {
        return Some((Tag::Int, value));
    }
    if is_float(text)
        && let Ok(value) = text.parse::<f64>()
        && value.is_finite()
    {
        return Some((Tag::Float, Value::Float(value)));
    }
    None
}

/// Parses a float that starts with a dot. Here Go takes `_` only between two digits.
pub(super) fn fraction(text: &str) -> Option<(Tag, Value<'static>)> {
    let is_digit =
        |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let mut separators = text.match_indices('_');
    if !separators.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))) {
        return None;
    }
    let float = text.replace('_', "").parse().ok()?;
    Some((Tag::Float, Value::Float(float)))
}

fn integer(text: &str) -> Option<Value<'static>> {
    let (negative, signed, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, true, text.get(1..)?),
        b'+' => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let (radix, digits) = split_radix(magnitude);
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    match i64::try_from(value) {
        Ok(value) if negative => Some(Value::Int(-value)),
        Ok(value) => Some(Value::Int(value)),
        Err(_) if negative && value == i64::MIN.unsigned_abs() => Some(Value::Int(i64::MIN)),
        // Go reads what does not fit a signed number as an unsigned one, which takes no sign.
        Err(_) if !signed => Some(Value::Uint(value)),
        Err(_) => None,
    }
}

fn split_radix(magnitude: &str) -> (u32, &str) {
    let prefixed = |radix| (radix, magnitude.get(2..).unwrap_or_default());
    match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => prefixed(16),
        [b'0', b'o' | b'O', ..] => prefixed(8),
        [b'0', b'b' | b'B', ..] => prefixed(2),
        [b'0', _, ..] => (8, magnitude.get(1..).unwrap_or_default()),
        _ => (10, magnitude),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && all_digits(fraction),
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction),
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    mantissa_ok && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits))
}
