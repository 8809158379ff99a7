//! When a text may stand without quotes (ST-14).

/// Words that some YAML parser reads as a boolean or null, in lower case.
const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"];

/// Returns true when the text, written plain, is read as the same string by every YAML 1.1 and 1.2 parser, in block
/// and in flow context.
pub(crate) fn is_string(text: &str) -> bool {
    let is_word = WORDS.contains(&text.to_ascii_lowercase().as_str());
    has_plain_characters(text) && !is_word && !is_number(text) && !is_date(text)
}

/// Characters of image references only, so that no indicator needs a thought.
fn has_plain_characters(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@+-".contains(&byte);
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric() || "_./+".contains(first));
    starts_well && text.bytes().all(is_plain) && !text.ends_with(':')
}

fn is_number(text: &str) -> bool {
    let text = text.replace('_', "").to_ascii_lowercase();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let all =
        |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if let Some((prefix, radix)) =
        [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(p, _)| unsigned.starts_with(p))
    {
        return all(unsigned.trim_start_matches(prefix), radix);
    }
    matches!(unsigned, ".inf" | ".nan" | "inf" | "nan" | "infinity")
        || is_decimal(unsigned)
        || is_sexagesimal(unsigned)
}

/// `12`, `1.5`, `.5`, `5.`, `1e5`, `1.5e-3`.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    are_digits(whole)
        && are_digits(fraction)
        && are_digits(exponent)
        && !(whole.is_empty() && fraction.is_empty())
}

/// YAML 1.1 reads `190:20:30` as one number.
fn is_sexagesimal(text: &str) -> bool {
    text.contains(':')
        && text.split(':').all(|part| !part.is_empty() && is_decimal(part) && !part.contains('e'))
}

/// YAML 1.1 reads `2024-01-01`, with or without a time, as a timestamp.
fn is_date(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let mut parts = date.split('-');
    let mut next_has = |lengths: std::ops::RangeInclusive<usize>| {
        parts
            .next()
            .is_some_and(|part| lengths.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
    };
    next_has(4..=4) && next_has(1..=2) && next_has(1..=2) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("2.0.0")]
    #[case("ghcr.io/o/app:2.0.0")]
    #[case("localhost:5000/app:1@sha256:0f")]
    #[case("v1")]
    #[case("1a")]
    #[case("2024-01-01-rc")]
    #[case("yes1")]
    #[case("1234567a8")]
    fn strings_stay_plain(#[case] text: &str) {
        assert!(super::is_string(text));
    }

    #[rstest]
    #[case("")]
    #[case("1.5")]
    #[case("20240101")]
    #[case("1e5")]
    #[case("1234567e8")]
    #[case("0x1F")]
    #[case("0o7")]
    #[case("0777")]
    #[case("1_000")]
    #[case("+5")]
    #[case(".5")]
    #[case("5.")]
    #[case(".inf")]
    #[case("-.INF")]
    #[case(".NaN")]
    #[case("190:20:30")]
    #[case("Yes")]
    #[case("n")]
    #[case("OFF")]
    #[case("null")]
    #[case("~")]
    #[case("2024-01-01")]
    #[case("2024-1-1T10:00:00Z")]
    #[case("a: b")]
    #[case("a#b")]
    #[case("- a")]
    #[case("a:")]
    #[case("*a")]
    fn other_readings_need_quotes(#[case] text: &str) {
        assert!(!super::is_string(text));
    }
}
