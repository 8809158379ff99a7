//! When a request is tried again, and after how long (NTF-52).

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;

/// Tries of one request.
const MAX_ATTEMPTS: u32 = 5;
/// Longest wait of our own choice; a service may ask for more.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Exponential waits: `first`, twice that, four times that …
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Wait after the first failure.
    pub first: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Duration::from_secs(2) }
    }
}

/// How a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No answer.
    Connection,
    /// An answer that may change.
    Status {
        /// The status.
        status: StatusCode,
        /// Header `Retry-After`.
        retry_after: Option<String>,
    },
}

/// Returns true when the same request may get a better answer later.
pub fn is_worth_another(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
}

impl Retry {
    /// How long to wait after so many tries; `None` when it was the last one.
    pub fn wait_after(&self, attempts: u32, failure: &Failure, now: Timestamp) -> Option<Duration> {
        if attempts >= MAX_ATTEMPTS {
            return None;
        }
        if let Failure::Status { status, retry_after: Some(text) } = failure
            && matches!(*status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
            && let Some(wait) = weir_http::retry_after(text, now)
        {
            return Some(wait);
        }
        let factor = 2_u32.checked_pow(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        Some(self.first.saturating_mul(factor).min(MAX_WAIT.max(self.first)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn wait(attempts: u32, code: u16, retry_after: Option<&str>) -> Option<u64> {
        let status = StatusCode::from_u16(code).unwrap();
        let failure = Failure::Status { status, retry_after: retry_after.map(str::to_owned) };
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        Retry::default().wait_after(attempts, &failure, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn waits_double_and_end_after_five_tries() {
        let waits: Vec<_> = (1..=5).map(|attempts| wait(attempts, 500, None)).collect();
        assert_eq!(waits, [Some(2), Some(4), Some(8), Some(16), None]);
    }

    #[rstest]
    #[case(429, "7", 7)]
    #[case(503, "7", 7)]
    #[case(500, "7", 2)]
    #[case(429, "Fri, 02 Jan 2026 03:04:15 GMT", 10)]
    #[case(429, "Fri, 02 Jan 2026 03:04:00 GMT", 0)]
    #[case(429, "soon", 2)]
    fn retry_after_is_honoured_where_it_means_something(
        #[case] code: u16,
        #[case] header: &str,
        #[case] seconds: u64,
    ) {
        assert_eq!(wait(1, code, Some(header)), Some(seconds));
    }

    #[rstest]
    #[case(200, false)]
    #[case(400, false)]
    #[case(404, false)]
    #[case(429, true)]
    #[case(500, true)]
    #[case(501, false)]
    #[case(503, true)]
    fn only_passing_failures_are_worth_another_try(#[case] code: u16, #[case] worth: bool) {
        assert_eq!(is_worth_another(StatusCode::from_u16(code).unwrap()), worth);
    }
}
