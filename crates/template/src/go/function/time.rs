//! Durations; the time itself is nothing that templates can know.

use super::{Function, at};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "duration" => Function::exactly(1, |a| {
            let seconds = match at(a, 0) {
                Value::Int(seconds) => *seconds,
                Value::Text(text) => text.parse().unwrap_or_default(),
                _ => 0,
            };
            Ok(Value::text(written(seconds.wrapping_mul(SECOND))))
        }),
        "durationRound" => Function::exactly(1, |a| {
            let nanoseconds = match at(a, 0) {
                Value::Int(nanoseconds) => *nanoseconds,
                Value::Text(text) => read(text).unwrap_or_default(),
                _ => 0,
            };
            Ok(Value::text(rounded(nanoseconds.unsigned_abs())))
        }),
        _ => None,
    }
}

const SECOND: i64 = 1_000_000_000;

/// The largest unit that the duration is longer than, and how many of it there are.
fn rounded(nanoseconds: u64) -> String {
    const SECONDS: [(u64, &str); 6] =
        [(31_536_000, "y"), (2_592_000, "mo"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let units = SECONDS.iter().map(|(seconds, name)| (seconds * SECOND.unsigned_abs(), name));
    let mut longer = units.filter(|(unit, _)| nanoseconds > *unit);
    longer.next().map_or("0s".to_owned(), |(unit, name)| format!("{}{name}", nanoseconds / unit))
}

/// A duration of whole seconds as Go prints it: `1h0m5s`.
fn written(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let (whole, rest) = (total / SECOND.unsigned_abs(), total % SECOND.unsigned_abs());
    let fraction = format!(".{rest:09}");
    let fraction = if rest == 0 { "" } else { fraction.trim_end_matches('0') };
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}{fraction}s"),
        (0, _) => format!("{sign}{minutes}m{seconds}{fraction}s"),
        _ => format!("{sign}{hours}h{minutes}m{seconds}{fraction}s"),
    }
}

/// Reads Go's form of durations, such as `1h15m30.5s`, in nanoseconds.
fn read(text: &str) -> Option<i64> {
    let (is_negative, mut rest) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0_i128;
    let is_number = |character: char| character.is_ascii_digit() || character == '.';
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(is_number);
        let number = rest.strip_suffix(unit)?;
        rest = unit.trim_start_matches(|character: char| !is_number(character));
        total = total.checked_add(part(number, unit.strip_suffix(rest)?)?)?;
    }
    let total = if is_negative { -total } else { total };
    i64::try_from(total).ok().filter(|_| text.contains(|character: char| character.is_ascii_digit()))
}

/// The nanoseconds of one number and its unit; what is finer is cut off.
fn part(number: &str, unit: &str) -> Option<i128> {
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().take(15).collect();
    let below = match u32::try_from(digits.len()).ok()? {
        0 => 0,
        places => digits.parse::<i128>().ok()? * unit / 10_i128.checked_pow(places)?,
    };
    whole.checked_mul(unit)?.checked_add(below)
}
