//! Go durations: what `metav1.Duration` reads and prints.

use std::fmt;
use std::str::FromStr;
use std::time;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::schema::pattern;

#[cfg(test)]
mod tests;

/// A length of time, written as Go writes it: `1h30m`, `1.5h`, `300ms`, `0`.
///
/// Prints like Go's `time.Duration`: `1h30m0s`, `1m0s`, `1.5s`, `176.163666ms`, `0s`. Negative durations, which have no
/// meaning in this API, are refused. The largest one is Go's, about 292 years.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(time::Duration);

/// The largest Go duration in nanoseconds; more does not fit into its 64 signed bits.
const MAX_NANOS: u128 = i64::MAX as u128;

/// Nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// Errors in the text of a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// Empty, a number missing, or negative.
    #[error("invalid duration {0:?}")]
    Invalid(String),
    /// A number without a unit.
    #[error("missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A unit that is none of ns, us, ms, s, m, h.
    #[error("unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The whole text.
        text: String,
    },
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(time::Duration::ZERO);

    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(time::Duration::from_secs(seconds))
    }

    /// A duration of milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(time::Duration::from_millis(milliseconds))
    }

    /// The standard library's type.
    pub const fn to_std(self) -> time::Duration {
        self.0
    }

    /// Returns true when it is zero.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl From<time::Duration> for Duration {
    fn from(value: time::Duration) -> Self {
        Self(value)
    }
}

impl From<Duration> for time::Duration {
    fn from(value: Duration) -> Self {
        value.0
    }
}

/// Nanoseconds of one unit.
fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

/// Splits at the first character that `part` does not accept.
fn split(text: &str, part: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !part(c)).unwrap_or(text.len()))
}

/// The nanoseconds of `whole.fraction` times `unit`, without floating point; `None` when it does not fit.
fn nanos(whole: &str, fraction: &str, unit: u128) -> Option<u128> {
    let mut total = if whole.is_empty() { 0 } else { whole.parse::<u128>().ok()?.checked_mul(unit)? };
    let mut scale = unit;
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
        scale /= 10;
        total = total.checked_add(u128::from(digit) * scale)?;
    }
    Some(total)
}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ParseDurationError::Invalid(text.to_owned());
        let mut rest = text.strip_prefix('+').unwrap_or(text);
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total = 0u128;
        while !rest.is_empty() {
            let (whole, after) = split(rest, |c| c.is_ascii_digit());
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => split(after, |c| c.is_ascii_digit()),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let (unit, after) = split(after, |c| c != '.' && !c.is_ascii_digit());
            if unit.is_empty() {
                return Err(ParseDurationError::MissingUnit(text.to_owned()));
            }
            let scale = unit_nanos(unit).ok_or_else(|| ParseDurationError::UnknownUnit {
                unit: unit.to_owned(),
                text: text.to_owned(),
            })?;
            total =
                nanos(whole, fraction, scale).and_then(|part| total.checked_add(part)).ok_or_else(invalid)?;
            rest = after;
        }
        if total > MAX_NANOS {
            return Err(invalid());
        }
        let seconds = u64::try_from(total / SECOND).map_err(|_| invalid())?;
        let subsecond = u32::try_from(total % SECOND).map_err(|_| invalid())?;
        Ok(Self(time::Duration::new(seconds, subsecond)))
    }
}

/// Writes `value / 10^places` without trailing zeros.
fn decimal(f: &mut fmt::Formatter<'_>, value: u128, places: usize) -> fmt::Result {
    let scale = (0..places).fold(1u128, |scale, _| scale * 10);
    write!(f, "{}", value / scale)?;
    let fraction = format!("{:0places$}", value % scale);
    let fraction = fraction.trim_end_matches('0');
    if places > 0 && !fraction.is_empty() { write!(f, ".{fraction}") } else { Ok(()) }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match nanos {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{nanos}ns"),
            1_000..1_000_000 => decimal(f, nanos, 3).and_then(|()| f.write_str("µs"))?,
            1_000_000..SECOND => decimal(f, nanos, 6).and_then(|()| f.write_str("ms"))?,
            _ => {
                let seconds = nanos / SECOND;
                let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if seconds >= 60 {
                    write!(f, "{minutes}m")?;
                }
                decimal(f, nanos % (60 * SECOND), 9)?;
                f.write_str("s")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": pattern::DURATION })
    }
}
