//! Sprig's numbers: whole ones unless the name has another type, wrapping as Go's do.

use super::{CallError, Function, at, failed, int, text};
use crate::go::value::Value;
use crate::limit::MAX_ITEMS;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "int" | "int64" => Function::exactly(1, |a| Ok(Value::Int(whole(at(a, 0))))),
        "float64" => Function::exactly(1, |a| Ok(Value::Float(real(at(a, 0))))),
        "atoi" => Function::exactly(1, |a| Ok(Value::Int(text(a, 0)?.parse().unwrap_or_default()))),
        "add" => Function::at_least(0, |a| Ok(Value::Int(a.iter().map(whole).fold(0, i64::wrapping_add)))),
        "add1" => Function::exactly(1, |a| Ok(Value::Int(whole(at(a, 0)).wrapping_add(1)))),
        "sub" => Function::exactly(2, |a| Ok(Value::Int(whole(at(a, 0)).wrapping_sub(whole(at(a, 1)))))),
        "mul" => Function::at_least(1, |a| Ok(Value::Int(a.iter().map(whole).fold(1, i64::wrapping_mul)))),
        "div" => Function::exactly(2, |a| divided(a, i64::checked_div)),
        "mod" => Function::exactly(2, |a| divided(a, i64::checked_rem)),
        "max" | "biggest" => {
            Function::at_least(1, |a| Ok(Value::Int(a.iter().map(whole).max().unwrap_or_default())))
        }
        "min" => Function::at_least(1, |a| Ok(Value::Int(a.iter().map(whole).min().unwrap_or_default()))),
        "ceil" => Function::exactly(1, |a| Ok(Value::Float(real(at(a, 0)).ceil()))),
        "floor" => Function::exactly(1, |a| Ok(Value::Float(real(at(a, 0)).floor()))),
        "round" => Function::between(2, 3, round),
        "maxf" => Function::at_least(1, |a| Ok(Value::Float(farthest(a, f64::max)))),
        "minf" => Function::at_least(1, |a| Ok(Value::Float(farthest(a, f64::min)))),
        "toDecimal" => Function::exactly(1, |a| {
            Ok(Value::Int(i64::from_str_radix(&at(a, 0).printed()?, 8).unwrap_or_default()))
        }),
        "until" => Function::exactly(1, |a| {
            let end = int(a, 0)?;
            steps(0, end, if end < 0 { -1 } else { 1 })
        }),
        "untilStep" => Function::exactly(3, |a| steps(int(a, 0)?, int(a, 1)?, int(a, 2)?)),
        "seq" => Function::between(0, 3, sequence),
        _ => None,
    }
}

pub(super) fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(value) => *value,
        #[expect(clippy::cast_possible_truncation, reason = "Go truncates too")]
        Value::Float(value) => *value as i64,
        Value::Bool(value) => i64::from(*value),
        Value::Text(text) => written(without_zeros(text)).unwrap_or_default(),
        _ => 0,
    }
}

/// `1.00` without its point and zeros.
fn without_zeros(text: &str) -> &str {
    let short = text.trim_end_matches('0');
    if short.len() < text.len() { short.strip_suffix('.').unwrap_or(text) } else { text }
}

/// A whole number with the prefixes of Go's literals: `0x10`, `0b1`, `0o7` and `07`.
fn written(text: &str) -> Option<i64> {
    let (sign, digits) = text.split_at_checked(usize::from(text.starts_with(['+', '-'])))?;
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.split_at_checked(2) {
        Some(("0x", rest)) => (rest, 16),
        Some(("0b", rest)) => (rest, 2),
        Some(("0o", rest)) => (rest, 8),
        _ if lower.len() > 1 && lower.starts_with('0') => (lower.as_str(), 8),
        _ => (lower.as_str(), 10),
    };
    let plain = !digits.starts_with(['+', '-']);
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok().filter(|_| plain)
}

pub(super) fn real(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        Value::Text(text) => text.parse().unwrap_or_default(),
        #[expect(clippy::cast_precision_loss, reason = "Go rounds too")]
        other => whole(other) as f64,
    }
}

/// Rounds up from a half on, or from the third argument on; a negative number always goes down, as in sprig.
fn round(arguments: &[Value]) -> Result<Value, CallError> {
    let scale = 10_f64.powi(i32::try_from(int(arguments, 1)?.clamp(-300, 300)).unwrap_or_default());
    let least = match arguments.get(2) {
        None => 0.5,
        Some(Value::Float(least)) => *least,
        Some(_) => return Err(CallError::Type { index: 2, expected: "float64" }),
    };
    let digits = real(at(arguments, 0)) * scale;
    let rounded = if digits.fract() >= least { digits.ceil() } else { digits.floor() };
    Ok(Value::Float(rounded / scale))
}

/// The largest or smallest; what is no number wins.
fn farthest(arguments: &[Value], choose: fn(f64, f64) -> f64) -> f64 {
    let numbers = arguments.iter().map(real);
    let farther = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { choose(a, b) };
    numbers.reduce(farther).unwrap_or_default()
}

fn divided(arguments: &[Value], divide: fn(i64, i64) -> Option<i64>) -> Result<Value, CallError> {
    let quotient = divide(whole(at(arguments, 0)), whole(at(arguments, 1)));
    quotient.map_or_else(|| failed("runtime error: integer divide by zero"), |value| Ok(Value::Int(value)))
}

/// The numbers from `start` up to, not with, `end`.
fn numbers(start: i64, end: i64, step: i64) -> Result<Vec<i64>, CallError> {
    let mut numbers = Vec::new();
    let mut next = start;
    while (step > 0 && next < end) || (step < 0 && next > end) {
        if numbers.len() >= MAX_ITEMS {
            return failed(format!("list of more than {MAX_ITEMS} items"));
        }
        numbers.push(next);
        next = next.saturating_add(step);
    }
    Ok(numbers)
}

fn steps(start: i64, end: i64, step: i64) -> Result<Value, CallError> {
    Ok(Value::list(numbers(start, end, step)?.into_iter().map(Value::Int).collect())?)
}

/// As the shell's `seq`: one to three numbers, the end included, printed with spaces.
fn sequence(arguments: &[Value]) -> Result<Value, CallError> {
    let given: Vec<i64> =
        (0..arguments.len()).map(|index| int(arguments, index)).collect::<Result<_, _>>()?;
    let (start, step, end) = match given[..] {
        [end] => (1, if end < 1 { -1 } else { 1 }, end),
        [start, end] => (start, if end < start { -1 } else { 1 }, end),
        [start, step, end] => (start, step, end),
        _ => return Ok(Value::text("")),
    };
    let beyond = if end < start { -1 } else { 1 };
    let numbers = numbers(start, end.saturating_add(beyond), step)?;
    Ok(Value::text(numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")))
}
