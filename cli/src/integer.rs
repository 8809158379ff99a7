//! Whole numbers on the command line, as Go reads them: `0x10`, `0b1`, `010` and `1_000` are numbers, too.

/// Reads a number; the reason for which a text is none is in the words of Go's library.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let refused = |reason: &str| format!("strconv.ParseInt: parsing {text:?}: {reason}");
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = digits(number);
    let is_group = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_digit(radix));
    if !digits.split('_').all(is_group) {
        return Err(refused("invalid syntax"));
    }
    let number = i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), radix);
    number.map_err(|_| refused("value out of range"))
}

/// Splits the base off a number. A `_` may stand behind it, as between digits.
fn digits(number: &str) -> (u32, &str) {
    let bases = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8), ("0", 8)];
    let of = |(prefix, radix)| Some((radix, number.strip_prefix(prefix)?));
    match bases.into_iter().find_map(of) {
        Some((radix, digits)) if number != "0" => (radix, digits.strip_prefix('_').unwrap_or(digits)),
        _ => (10, number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("0", Ok(0))]
    #[case("-1", Ok(-1))]
    #[case("+10", Ok(10))]
    #[case("1_000", Ok(1000))]
    #[case("0x10", Ok(16))]
    #[case("-0X_fF", Ok(-255))]
    #[case("0b11", Ok(3))]
    #[case("0o17", Ok(15))]
    #[case("017", Ok(15))]
    #[case("0_17", Ok(15))]
    #[case("-9223372036854775808", Ok(i64::MIN))]
    #[case("9223372036854775808", Err("value out of range"))]
    #[case("", Err("invalid syntax"))]
    #[case("-", Err("invalid syntax"))]
    #[case("--1", Err("invalid syntax"))]
    #[case("0x", Err("invalid syntax"))]
    #[case("08", Err("invalid syntax"))]
    #[case("1__0", Err("invalid syntax"))]
    #[case("_1", Err("invalid syntax"))]
    #[case("1_", Err("invalid syntax"))]
    #[case("1.5", Err("invalid syntax"))]
    fn numbers_are_read_as_by_go(#[case] text: &str, #[case] expected: Result<i64, &str>) {
        let refused = |reason| format!("strconv.ParseInt: parsing {text:?}: {reason}");
        assert_eq!(parse(text), expected.map_err(refused));
    }
}
