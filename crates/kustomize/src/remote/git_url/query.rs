//! The parameters in the query of a Git URL (KZ-313). An unreadable one counts as absent.

use std::collections::HashMap;
use std::time::Duration;

/// Units of a duration, longer names first.
const UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

#[derive(Default)]
pub(super) struct Query {
    pub(super) reference: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) submodules: Option<bool>,
}

impl Query {
    /// Parses a query. One that is malformed anywhere counts as empty.
    pub(super) fn parse(text: &str) -> Self {
        let Some(values) = pairs(text) else { return Self::default() };
        let value = |key: &str| values.get(key).map(String::as_str).filter(|value| !value.is_empty());
        Self {
            reference: value("ref").or_else(|| value("version")).map(str::to_owned),
            timeout: value("timeout").and_then(timeout),
            submodules: value("submodules").and_then(boolean),
        }
    }
}

/// Values by key; the first one of a key counts.
fn pairs(text: &str) -> Option<HashMap<String, String>> {
    let mut values = HashMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return None;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        values.entry(decoded(key)?).or_insert(value);
    }
    Some(values)
}

/// A part of a query without its escapes.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits =
                    [char::from(rest.next()?), char::from(rest.next()?)].map(|digit| digit.to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Whole seconds, or a duration as Go writes it.
fn timeout(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().map(Duration::from_secs).or_else(|| duration(text))?;
    (!seconds.is_zero()).then_some(seconds)
}

fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, tail) = rest.split_at_checked(end)?;
        let (length, tail) =
            UNITS.iter().find_map(|(unit, length)| Some((length, tail.strip_prefix(unit)?)))?;
        seconds += number.parse::<f64>().ok()? * length;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
