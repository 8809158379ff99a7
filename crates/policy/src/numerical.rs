//! Decimal numbers of any size, compared exactly (IP-9).
//!
//! Flux compares `float64`, so that timestamps of 17 digits can tie; here every digit counts.

use std::cmp::Ordering;

/// Largest exponent read, either sign; beyond it a tag is no sensible number (a `float64` ends at 308).
pub const MAX_EXPONENT: i64 = 4096;

/// A number as sign, decimal exponent and significant digits: `±0.DIGITS × 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    exponent: i64,
    /// Without leading and trailing zeros; empty for zero, which is never negative.
    digits: String,
}

impl Decimal {
    /// Reads `[+-]digits[.digits][e[+-]digits]`, with single underscores between digits as in Go; nothing else is a
    /// number, not `inf`, `nan` or `0x1p2`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains('_') {
            return Self::parse(&without_underscores(text)?);
        }
        let (is_negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (mantissa, power) =
            rest.split_once(['e', 'E']).map_or((rest, Some(0)), |(m, e)| (m, exponent(e)));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        let leading = i64::try_from(digits.len() - significant.len()).ok()?;
        let point = i64::try_from(whole.len()).ok()? + power?;
        let significant = significant.trim_end_matches('0');
        Some(if significant.is_empty() {
            Self { is_negative: false, exponent: 0, digits: String::new() }
        } else {
            Self { is_negative, exponent: point - leading, digits: significant.to_owned() }
        })
    }

    /// Compares without the sign: a longer run before the point is larger, then digit by digit.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The text without its underscores, if each stands between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let mut pieces = text.split('_').peekable();
    let mut plain = String::with_capacity(text.len());
    while let Some(piece) = pieces.next() {
        let is_digit = |at: Option<u8>| at.is_some_and(|byte| byte.is_ascii_digit());
        let (first, last) = (piece.bytes().next(), piece.bytes().last());
        if !plain.is_empty() && !is_digit(first) || pieces.peek().is_some() && !is_digit(last) {
            return None;
        }
        plain.push_str(piece);
    }
    Some(plain)
}

fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|power: &i64| power.abs() <= MAX_EXPONENT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use proptest::prelude::*;
    use rstest::rstest;

    use super::Decimal;

    #[test]
    fn numbers_of_every_form_are_ordered_by_value() {
        let ordered = [
            "-1e3",
            "-2",
            "-0.5",
            "0",
            "1e-3",
            ".5",
            "1.5",
            "9",
            "10.",
            "1e3",
            "20240101120000001",
            "20240101120000002",
        ];
        let numbers: Vec<Decimal> = ordered.iter().map(|text| Decimal::parse(text).unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert_eq!(Decimal::parse("-0.0"), Decimal::parse("0"));
        assert_eq!(Decimal::parse("0010.50"), Decimal::parse("1.05e1"));
        assert_eq!(Decimal::parse("2024_01_05.2_5e1_0"), Decimal::parse("20240105.25e10"));
    }

    #[rstest]
    #[case("")]
    #[case("-")]
    #[case(".")]
    #[case("1a")]
    #[case("inf")]
    #[case("NaN")]
    #[case("0x10")]
    #[case("_1")]
    #[case("1_")]
    #[case("1__0")]
    #[case("1_.5")]
    #[case("1._5")]
    #[case("-_1")]
    #[case("1e_5")]
    #[case("_")]
    #[case("v_1")]
    #[case("1e")]
    #[case("1e99999")]
    #[case("--1")]
    fn other_texts_are_no_numbers(#[case] text: &str) {
        assert_eq!(Decimal::parse(text), None);
    }

    proptest! {
        #[test]
        fn order_agrees_with_integers(a in any::<i64>(), b in any::<i64>()) {
            let parse = |value: i64| Decimal::parse(&value.to_string()).unwrap();
            prop_assert_eq!(parse(a).cmp(&parse(b)), a.cmp(&b));
        }
    }
}
