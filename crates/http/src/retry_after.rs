//! The time for which a server wants to be left alone, and how much of it a request waits for.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Longest wait between two tries of one request. Whoever is to wait for longer gives up, and its run is tried again by its
/// queue: a worker that waits does nothing for others.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// Returns the time until a request is sent again: `wait`, or as long as the server has asked for; none when that is too
/// long to wait for.
#[must_use]
pub fn next_try(wait: Duration, asked: Option<Duration>) -> Option<Duration> {
    Some(wait.max(asked.unwrap_or_default())).filter(|wait| *wait <= LONGEST_WAIT)
}

/// Returns the time for which the sender of these headers wants to be left alone, counted from now.
#[must_use]
pub fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?, Timestamp::now())
}

/// Returns the wait that the header `Retry-After` asks for: seconds, or a date (RFC 9110, 10.2.3). A date in the past
/// is no wait; a value of neither form counts as absent.
#[must_use]
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(1, None, Some(1))]
    #[case(1, Some(0), Some(1))]
    #[case(1, Some(3), Some(3))]
    #[case(1, Some(4), None)]
    fn tries(#[case] wait: u64, #[case] asked: Option<u64>, #[case] expected: Option<u64>) {
        let seconds = Duration::from_secs;
        assert_eq!(next_try(seconds(wait), asked.map(seconds)), expected.map(seconds));
    }

    #[rstest]
    #[case("7", Some(7))]
    #[case(" 0 ", Some(0))]
    #[case("Fri, 02 Jan 2026 03:04:15 GMT", Some(10))]
    #[case("Fri, 02 Jan 2026 03:04:00 GMT", Some(0))]
    #[case("-1", None)]
    #[case("soon", None)]
    fn waits(#[case] value: &str, #[case] seconds: Option<u64>) {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs));
    }
}
