//! Requests that are sent again, by the rules of Vault's own client (KS-DEC-13).

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use weir_auth::{ProviderError, rest};

use super::server::variable;

/// Times that a request is sent again at most.
const RETRIES: &str = "VAULT_MAX_RETRIES";
const DEFAULT_RETRIES: u32 = 2;
/// More of them would outlast the time for one key. The error would be the end of that time then, and not the server's answer.
const MAX_RETRIES: u32 = 3;
/// Pause before a request is sent again, longer by as much each time. The time for one key bounds all of them.
const PAUSE: Duration = Duration::from_secs(1);

/// Returns the answer to a request that carries `token`.
pub(super) async fn answer<T: DeserializeOwned>(
    request: RequestBuilder,
    token: &SecretString,
) -> Result<T, ProviderError> {
    let secrets = std::slice::from_ref(token);
    let most = variable(RETRIES).and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_RETRIES);
    for retry in 1..=most.min(MAX_RETRIES) {
        let Some(copy) = request.try_clone() else { break };
        let answered = rest::json_hiding("Vault", copy, secrets).await;
        if !answered.as_ref().is_err_and(may_pass) {
            return answered;
        }
        #[expect(clippy::disallowed_methods, reason = "the pause is within the time for one key")]
        tokio::time::sleep(PAUSE * retry).await;
    }
    rest::json_hiding("Vault", request, secrets).await
}

/// Returns true for an error of a server that is in trouble for a moment, as while another one takes over. A certificate that is
/// refused stays so.
fn may_pass(error: &ProviderError) -> bool {
    match error {
        ProviderError::Transport(unanswered) => !unanswered.reason.starts_with("tls: "),
        ProviderError::Refused { status, .. } => match *status {
            StatusCode::PRECONDITION_FAILED | StatusCode::TOO_MANY_REQUESTS => true,
            status => status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_http::Unanswered;

    use super::*;

    #[rstest]
    #[case(412, true)]
    #[case(429, true)]
    #[case(500, true)]
    #[case(503, true)]
    #[case(501, false)]
    #[case(400, false)]
    #[case(403, false)]
    fn some_refusals_may_pass(#[case] status: u16, #[case] expected: bool) {
        let status = StatusCode::from_u16(status).unwrap();
        let error = ProviderError::Refused { url: String::new(), status, words: String::new() };
        assert_eq!(may_pass(&error), expected);
    }

    #[rstest]
    #[case("dial tcp 10.0.0.1:8200: connect: connection refused", true)]
    #[case("tls: failed to verify certificate: x509: certificate signed by unknown authority", false)]
    fn a_refused_certificate_stays_so(#[case] reason: &str, #[case] expected: bool) {
        let unanswered = Unanswered { method: "Post", url: String::new(), reason: reason.to_owned() };
        assert_eq!(may_pass(&ProviderError::Transport(unanswered)), expected);
    }
}
