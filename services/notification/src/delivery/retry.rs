//! When a request is tried again, and after how long (NTF-52).

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;

use crate::provider::client::Tries;

/// Longest wait of our own choice; a service may ask for more.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The waits between tries, as long as those of the clients that Flux uses.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Wait after the first failure of a webhook.
    pub first: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Duration::from_secs(2) }
    }
}

/// Returns true when the same request may get a better answer later.
pub fn is_worth_another(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
}

impl Retry {
    /// Returns the time to wait after so many tries; `None` when it was the last one. A service may name the time (`Retry-After`).
    pub fn wait_after(
        &self,
        tries: Tries,
        attempts: u32,
        retry_after: Option<&str>,
        now: Timestamp,
    ) -> Option<Duration> {
        let (most, wait) = match tries {
            Tries::Once => return None,
            Tries::Doubling { most } => {
                let factor = 2_u32.checked_pow(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
                (most, self.first.saturating_mul(factor))
            }
            Tries::Rising { most } => (most, (self.first * 2 / 5).saturating_mul(attempts)),
        };
        if attempts >= most {
            return None;
        }
        let asked = retry_after.and_then(|text| weir_http::retry_after(text, now));
        Some(asked.unwrap_or(wait.min(MAX_WAIT.max(self.first))))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::provider::client::{ClientProfile, HOOK};
    use crate::provider::{azure_devops, bitbucket, bitbucket_server, datadog, gitea, github, gitlab};

    fn wait(client: &ClientProfile, attempts: u32, retry_after: Option<&str>) -> Option<u128> {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        Retry::default().wait_after(client.tries, attempts, retry_after, now).map(|wait| wait.as_millis())
    }

    #[rstest]
    #[case(&HOOK, &[2000, 4000, 8000, 16000])]
    #[case(&bitbucket_server::CLIENT, &[2000, 4000, 8000, 16000])]
    #[case(&datadog::CLIENT, &[2000, 4000, 8000, 16000])]
    #[case(&gitlab::CLIENT, &[800, 1600, 2400, 3200, 4000])]
    #[case(&github::CLIENT, &[])]
    #[case(&gitea::CLIENT, &[])]
    #[case(&bitbucket::CLIENT, &[])]
    #[case(&azure_devops::CLIENT, &[])]
    fn waits_are_those_of_the_clients(#[case] client: &'static ClientProfile, #[case] expected: &[u128]) {
        let waits: Vec<_> = (1..).map_while(|attempts| wait(client, attempts, None)).collect();
        assert_eq!(waits, expected);
    }

    #[rstest]
    #[case("7", 7000)]
    #[case("Fri, 02 Jan 2026 03:04:15 GMT", 10_000)]
    #[case("Fri, 02 Jan 2026 03:04:00 GMT", 0)]
    #[case("soon", 2000)]
    fn a_service_may_name_the_time(#[case] header: &str, #[case] millis: u128) {
        assert_eq!(wait(&HOOK, 1, Some(header)), Some(millis));
        assert_eq!(wait(&HOOK, 5, Some(header)), None);
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
