//! Small JSON requests to providers, of tokens and of what tokens are for: capped answers, plain words, nothing secret in
//! errors.

use std::time::{Duration, SystemTime};

use reqwest::header::AUTHORIZATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Request, RequestBuilder, Response};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use crate::error::ProviderError;

/// Bytes of an answer; tokens have a few KiB.
const MAX_ANSWER: usize = 1 << 20;
/// Characters of a refusal that go into a message.
const MAX_WORDS: usize = 512;
/// Time for which an answer is believed that names its life in seconds: the longest that any provider gives, as Azure does to
/// identities of machines.
const MAX_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Fields in which providers say why they refuse. Others may repeat what was sent.
const REASONS: [&str; 3] = ["error_description", "message", "error"];

/// Time to reach a service of this machine; where there is none, often nobody refuses the connection either.
const MACHINE_CONNECT: Duration = Duration::from_secs(5);

/// A client of the services of this machine that give out its identity. They speak plain HTTP: a proxy, which may be a tenant's,
/// would read the identity on its way, and has no way to this machine either.
pub(crate) fn machine_client() -> Result<Client, ProviderError> {
    let client = weir_http::client_builder().no_proxy().redirect(Policy::none());
    let client = client.connect_timeout(MACHINE_CONNECT).build();
    client.map_err(|error| ProviderError::Unusable {
        what: "client of the machine's services",
        reason: crate::error::words(&error),
    })
}

/// Sends a request and reads a JSON answer with success. `what` names the one who answers.
///
/// # Errors
/// When there is no answer, a refusal, or something else than expected.
pub async fn json<T: DeserializeOwned>(
    what: &'static str,
    request: RequestBuilder,
) -> Result<T, ProviderError> {
    json_hiding(what, request, &[]).await
}

/// As [`json`], for a request that carries `secrets` beside its `Authorization`, which a refusal may repeat.
///
/// # Errors
/// As [`json`].
pub async fn json_hiding<T: DeserializeOwned>(
    what: &'static str,
    request: RequestBuilder,
    secrets: &[SecretString],
) -> Result<T, ProviderError> {
    let bytes = send(request, secrets).await?;
    serde_json::from_slice(&bytes).map_err(|_| ProviderError::Answer { what, missing: "answer" })
}

/// Sends a request that carries `secrets`, and reads the body of an answer with success.
pub(crate) async fn bytes(
    request: RequestBuilder,
    secrets: &[SecretString],
) -> Result<bytes::Bytes, ProviderError> {
    send(request, secrets).await
}

async fn send(request: RequestBuilder, secrets: &[SecretString]) -> Result<bytes::Bytes, ProviderError> {
    let (client, request) = request.build_split();
    let request = request
        .map_err(|error| ProviderError::Unusable { what: "request", reason: crate::error::words(&error) })?;
    let url = request.url().clone();
    let method = request.method().clone();
    let secrets: Vec<_> = secrets.iter().cloned().chain(authorization(&request)).collect();
    let transport =
        |error: &reqwest::Error| ProviderError::Transport(weir_http::Unanswered::new(&method, &url, error));
    let response: Response = client.execute(request).await.map_err(|error| transport(&error))?;
    let status = response.status();
    let body = weir_http::read_capped(response, MAX_ANSWER).await;
    if !status.is_success() {
        let words = body.map(|body| reason(&body, &secrets)).unwrap_or_default();
        return Err(ProviderError::Refused { url: weir_http::shown(&url), status, words });
    }
    body.map_err(|error| match error {
        weir_http::BodyError::Broken(error) => transport(&error),
        large @ weir_http::BodyError::TooLarge { .. } => {
            ProviderError::Unusable { what: "answer", reason: large.to_string() }
        }
    })
}

/// Returns the part of a request's `Authorization` that follows the scheme.
fn authorization(request: &Request) -> Option<SecretString> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    Some(value.split_once(' ').map_or(value, |(_, secret)| secret).into())
}

/// Returns true when a Secret that names this place may have its credentials sent there: over TLS, or on this
/// machine.
#[must_use]
pub fn may_be_told_secrets(url: &url::Url) -> bool {
    url.scheme() == "https" || matches!(url.host_str(), Some("127.0.0.1" | "localhost"))
}

/// Seconds since 1970, as statements about ourselves carry them.
pub(crate) fn seconds_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The end of a life of so many seconds from now, [`MAX_LIFE`] at most.
pub(crate) fn in_seconds(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds).min(MAX_LIFE)
}

/// A moment as RFC 3339 has it; now if it is none, so that nothing is kept for longer than is known.
pub(crate) fn moment(text: &str) -> SystemTime {
    text.parse::<jiff::Timestamp>().map_or_else(|_| SystemTime::now(), SystemTime::from)
}

/// Returns the reason given in a refusal, if it is JSON that has one.
fn reason(body: &[u8], secrets: &[SecretString]) -> String {
    let Ok(serde_json::Value::Object(body)) = serde_json::from_slice(body) else { return String::new() };
    // Google puts the message one level deeper.
    let inner = body.get("error").and_then(serde_json::Value::as_object).unwrap_or(&body);
    let found = REASONS.iter().find_map(|key| inner.get(*key)?.as_str()).unwrap_or_default();
    // Vault has a list of them.
    let listed = body.get("errors").and_then(serde_json::Value::as_array).into_iter().flatten();
    let all = std::iter::once(found).chain(listed.filter_map(serde_json::Value::as_str));
    let found = all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
    let words = weir_http::redact(&found, secrets, weir_http::REDACTED);
    let words: String = words.chars().take(MAX_WORDS).collect();
    if words.is_empty() { words } else { format!(": {words}") }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::{HeaderMap, StatusCode};
    use weir_testkit::Server;

    use super::*;

    /// SRC-SCK-11
    #[tokio::test]
    async fn a_refusal_shows_no_secret_of_the_request() {
        let answer = |headers: HeaderMap, body: String| async move {
            let header = headers[AUTHORIZATION].to_str().unwrap();
            let words = serde_json::json!({ "message": format!("{header} may not {body}") });
            (StatusCode::FORBIDDEN, words.to_string())
        };
        let server = Server::start(Router::new().fallback(answer), None).await.unwrap();
        let request = Client::new().post(format!("http://{}", server.address()));
        let request = request.bearer_auth("hunter2").body("open sesame9");
        let error = json_hiding::<()>("it", request, &["sesame9".into()]).await.unwrap_err().to_string();
        assert!(error.ends_with(": Bearer <redacted> may not open <redacted>"), "{error}");
    }

    #[test]
    fn a_life_has_an_end() {
        let (now, minute) = (SystemTime::now(), Duration::from_secs(60));
        assert!(in_seconds(u64::MAX) < now + MAX_LIFE + minute);
        assert!(in_seconds(120) > now + minute);
    }
}
