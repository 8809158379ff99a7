//! Times as Go's `time.RFC3339` takes them, which is neither all of RFC 3339 nor nothing beside it (NTF-3).

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Digits of a fraction that count.
const FRACTION: usize = 9;

/// Returns the moment; none for text that Go refuses. Moments beyond the range of the library, as the last day of the year 9999,
/// are its last one.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let mut rest = Rest(text.as_bytes());
    let year = rest.number(4, 4)?;
    rest.mark(b"-")?;
    let month = rest.number(2, 2)?;
    rest.mark(b"-")?;
    let day = rest.number(2, 2)?;
    rest.mark(b"T")?;
    let hour = rest.number(1, 2)?;
    rest.mark(b":")?;
    let minute = rest.number(2, 2)?;
    rest.mark(b":")?;
    let second = rest.number(2, 2)?;
    let nanosecond = rest.fraction();
    let offset = rest.offset()?;
    let small = |number: i32| i8::try_from(number).ok();
    let (date, time) = ((small(month)?, small(day)?), (small(hour)?, small(minute)?, small(second)?));
    let year = i16::try_from(year).ok()?;
    let local = DateTime::new(year, date.0, date.1, time.0, time.1, time.2, nanosecond).ok()?;
    rest.0.is_empty().then(|| offset.to_timestamp(local).unwrap_or(Timestamp::MAX))
}

/// The bytes that are still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// Takes a number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<i32> {
        let digits = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.0.split_at_checked(digits).filter(|_| digits >= least)?;
        self.0 = rest;
        std::str::from_utf8(number).ok()?.parse().ok()
    }

    /// Takes one of the marks.
    fn mark(&mut self, marks: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| marks.contains(first))?;
        self.0 = rest;
        Some(*first)
    }

    /// Takes a fraction of a second, if there is one, as nanoseconds.
    fn fraction(&mut self) -> i32 {
        let [b'.' | b',', digits @ ..] = self.0 else { return 0 };
        let (digits, rest) = digits.split_at(digits.iter().take_while(|byte| byte.is_ascii_digit()).count());
        if digits.is_empty() {
            return 0;
        }
        self.0 = rest;
        let padded = digits.iter().copied().chain(std::iter::repeat(b'0'));
        padded.take(FRACTION).fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'))
    }

    /// Takes `Z` or `±hh:mm`. Go takes 24 hours and 60 minutes for an offset as well.
    fn offset(&mut self) -> Option<Offset> {
        let sign = match self.mark(b"Z+-")? {
            b'Z' => return Some(Offset::UTC),
            b'-' => -1,
            _ => 1,
        };
        let hours = self.number(2, 2).filter(|hours| *hours <= 24)?;
        self.mark(b":")?;
        let minutes = self.number(2, 2).filter(|minutes| *minutes <= 60)?;
        Offset::from_seconds(sign * (hours * 60 + minutes) * 60).ok()
    }
}
