//! The typed value of a scalar.

use std::borrow::Cow;

/// The meaning of a scalar, given its text, style and tag.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer within 64 bits, signed.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// Any other number; may be infinite or NaN, which cannot be rendered.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
}

impl Value<'_> {
    /// The text that the value becomes where a string is wanted.
    pub fn into_text(self) -> String {
        match self {
            Self::Str(text) => text.into_owned(),
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Float(value) => format_float32(value),
        }
    }
}

/// Writes a number: integral values as digits, others as Go prints them (KZ-1404).
///
/// Returns `None` for infinities and NaN.
pub fn format_float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let digits = format!("{value}");
    if !digits.contains('.') && (digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok()) {
        return Some(if digits == "-0" { "0".to_owned() } else { digits });
    }
    Some(shortest_general(value))
}

/// A float in a text, as Go prints it.
pub fn format_float64(value: f64) -> String {
    shortest_general(value)
}

/// A float where a string is wanted: with the digits of a 32-bit one, as Go's YAML decoder gives it.
fn format_float32(value: f64) -> String {
    shortest_general(value as f32)
}

/// Go's `strconv.FormatFloat(value, 'g', -1, …)`: exponent form below 1e-4 and from 1e6 on.
fn shortest_general(value: impl std::fmt::LowerExp + std::fmt::Display) -> String {
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Writes a number as Go's `encoding/json` does (used for hashes and JSON text).
///
/// Returns `None` for infinities and NaN.
pub fn format_json_float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return Some(format!("{value}"));
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let sign = if exponent < 0 { '-' } else { '+' };
    // Go turns `e-09` into `e-9`; other exponents have two digits anyway.
    Some(format!("{mantissa}e{sign}{}", exponent.abs()))
}
