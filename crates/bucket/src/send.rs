//! One request: tried again while that may help, its answer capped, its errors without secrets.

use std::time::Duration;

use reqwest::{Client, Request, Response, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;

use crate::error::Error;
use crate::xml;

/// Tries of one request.
const MAX_TRIES: u32 = 4;
/// Wait before the second try; three times as long before each further one.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const WAIT_FACTOR: u32 = 3;
/// Bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Characters of a server's words that go into a message.
const MAX_WORDS: usize = 512;
/// Header in which S3 names the region of a bucket.
const REGION: &str = "x-amz-bucket-region";
/// Bytes of a region's name, which is one part of a host's name.
const MAX_REGION: usize = 63;

/// Sends requests of one bucket.
#[derive(Clone)]
pub(crate) struct Sender {
    client: Client,
    /// Secrets that no message may repeat.
    secrets: Vec<SecretString>,
}

impl Sender {
    pub(crate) fn new(client: Client, secrets: Vec<SecretString>) -> Self {
        Self { client, secrets }
    }

    /// Sends what `make` makes, anew for each try because signatures hold the time, and returns a successful answer.
    pub(crate) async fn send(&self, make: impl Fn() -> Result<Request, Error>) -> Result<Response, Error> {
        let (mut wait, mut tries) = (FIRST_WAIT, 1);
        loop {
            let error = match self.attempt(make()?).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let may_help = error.is_transient() && tries < MAX_TRIES;
            let pause = weir_http::next_try(wait, error.retry_after()).filter(|_| may_help);
            let Some(pause) = pause else { return Err(error) };
            tracing::debug!(%error, tries, "bucket request is tried again");
            #[expect(
                clippy::disallowed_methods,
                reason = "between the few tries of one request, within the time of the object"
            )]
            tokio::time::sleep(pause).await;
            wait *= WAIT_FACTOR;
            tries += 1;
        }
    }

    /// As [`Sender::send`], with the answer's body of at most `limit` bytes.
    pub(crate) async fn body(
        &self,
        what: &'static str,
        limit: usize,
        make: impl Fn() -> Result<Request, Error>,
    ) -> Result<bytes::Bytes, Error> {
        let response = self.send(make).await?;
        let url = response.url().clone();
        weir_http::read_capped(response, limit).await.map_err(|error| match error {
            weir_http::BodyError::TooLarge { limit } => {
                Error::TooLarge { what: what.to_owned(), limit: limit as u64 }
            }
            weir_http::BodyError::Broken(error) => Error::transport(&reqwest::Method::GET, &url, &error),
        })
    }

    async fn attempt(&self, request: Request) -> Result<Response, Error> {
        let (method, url) = (request.method().clone(), request.url().clone());
        let response = self.client.execute(request).await;
        let response = response.map_err(|error| Error::transport(&method, &url, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = weir_http::asked_wait(response.headers());
        let header =
            response.headers().get(REGION).and_then(|region| region.to_str().ok()).map(str::to_owned);
        let body = weir_http::read_capped(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        let Words { code, message, region } = words(status, &body);
        let message = weir_http::redact(&message, &self.secrets, weir_http::REDACTED);
        let message = message.chars().take(MAX_WORDS).collect();
        let region = Some(region).filter(|region| !region.is_empty()).or(header);
        Err(Error::Refused {
            status,
            code,
            message,
            retry_after,
            region: region.filter(|region| is_region(region)),
        })
    }
}

/// Returns true for what may be the name of a region: it becomes part of a host's name.
fn is_region(text: &str) -> bool {
    (1..=MAX_REGION).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The error text of a server.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
struct Words {
    #[serde(rename = "Code", default)]
    code: String,
    #[serde(rename = "Message", default)]
    message: String,
    #[serde(rename = "Region", default)]
    region: String,
}

/// S3 and Azure send it as XML, Google as JSON; the answer to a HEAD has nothing but its status.
fn words(status: StatusCode, body: &[u8]) -> Words {
    #[derive(Deserialize)]
    struct Google {
        error: GoogleError,
    }
    #[derive(Deserialize)]
    struct GoogleError {
        message: String,
    }
    if let Ok(words) = xml::parse::<Words>("error", body)
        && !words.code.is_empty()
    {
        return words;
    }
    let code = status.as_str().to_owned();
    match serde_json::from_slice(body) {
        Ok(Google { error: GoogleError { message } }) => Words { code, message, ..Words::default() },
        Err(_) => of_status(status),
    }
}

/// The words of MinIO's client for an answer without any.
fn of_status(status: StatusCode) -> Words {
    let words = |code: &str, message: &str| Words {
        code: code.to_owned(),
        message: message.to_owned(),
        ..Words::default()
    };
    match status {
        StatusCode::NOT_FOUND => words("NoSuchKey", "The specified key does not exist."),
        StatusCode::FORBIDDEN => words("AccessDenied", "Access Denied."),
        StatusCode::PRECONDITION_FAILED => {
            words("PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        }
        status => words(&status.to_string(), &status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        403,
        "<?xml version=\"1.0\"?><Error><Code>InvalidAccessKeyId</Code><Message>no</Message><AWSAccessKeyId>x</AWSAccessKeyId></Error>",
        "InvalidAccessKeyId",
        "no"
    )]
    #[case(403, "", "AccessDenied", "Access Denied.")]
    #[case(503, "<html>busy</html>", "503 Service Unavailable", "503 Service Unavailable")]
    #[case(401, r#"{"error":{"code":401,"message":"Anonymous caller"}}"#, "401", "Anonymous caller")]
    fn refusals(#[case] status: u16, #[case] body: &str, #[case] code: &str, #[case] message: &str) {
        let words = words(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        assert_eq!((words.code.as_str(), words.message.as_str()), (code, message));
    }
}
