//! A webhook and the answers to it.

use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::error::Error;

/// Header with the signature of the payload.
const SIGNATURE: HeaderName = HeaderName::from_static("x-signature");
/// Name of the sender, as Flux's command has it: gateways and logs of receivers go by it (CLI-TRG01).
const AGENT: &str = concat!("flux/v", env!("CARGO_PKG_VERSION"));
/// Bytes of an answer that are shown.
const MAX_ANSWER: usize = 16 * 1024;

/// A request that can be sent more than once.
pub(super) struct Webhook {
    client: Client,
    url: Url,
    headers: HeaderMap,
    payload: String,
    /// The identity token among the headers, which the receiver may repeat.
    token: Option<SecretString>,
}

/// The outcome of a request.
pub(super) enum Answer {
    /// The receiver has taken it.
    Taken,
    /// There is no answer, or one that may be another one soon.
    MayChange(String),
    /// It will not be taken.
    Refused(String),
}

impl Webhook {
    /// A request without anything that proves who sends it.
    pub(super) fn new(url: String, payload: String) -> Result<Self, Error> {
        let bad = |cause: &dyn std::fmt::Display| Error::Flags(format!("unable to create request: {cause}"));
        let url: Url = url.parse().map_err(|error: url::ParseError| bad(&error))?;
        let client = weir_http::client_builder().build().map_err(|error| bad(&error))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        Ok(Self { client, url, headers, payload, token: None })
    }

    /// Adds the payload's signature by a token.
    pub(super) fn signed(self, token: &str) -> Result<Self, Error> {
        let mac = Hmac::<Sha256>::new_from_slice(token.as_bytes());
        let mut mac = mac.map_err(|error| Error::Flags(format!("unable to sign the payload: {error}")))?;
        mac.update(self.payload.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        self.with_header(SIGNATURE, &signature)
    }

    /// Adds an identity token.
    pub(super) fn authorized(mut self, token: SecretString) -> Result<Self, Error> {
        self = self.with_header(AUTHORIZATION, &format!("Bearer {}", token.expose_secret()))?;
        self.token = Some(token);
        Ok(self)
    }

    fn with_header(mut self, name: HeaderName, value: &str) -> Result<Self, Error> {
        let value = HeaderValue::from_str(value);
        // The value is not shown: it may be a token.
        let mut value =
            value.map_err(|_| Error::Flags(format!("the value of {name} cannot stand in a header")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sends it once.
    pub(super) async fn send(&self) -> Answer {
        let Self { client, url, headers, payload, token } = self;
        let sent = client.post(url.clone()).headers(headers.clone()).body(payload.clone()).send().await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(error) => {
                return Answer::MayChange(format!(
                    "request to {url} failed: {}",
                    weir_http::reason(&error, url)
                ));
            }
        };
        let status = answer.status();
        if status.is_success() {
            return Answer::Taken;
        }
        let body = weir_http::read_capped(answer, MAX_ANSWER).await.unwrap_or_default();
        let mut reason = format!("request to {url} failed with status {status}");
        let body = weir_http::redact(&String::from_utf8_lossy(&body), token.as_slice(), weir_http::REDACTED);
        if !body.trim().is_empty() {
            reason = format!("{reason}: {}", body.trim());
        }
        if may_change(status) { Answer::MayChange(reason) } else { Answer::Refused(reason) }
    }
}

/// Returns true for answers that are worth another try. A path is not known yet while the service or its Receiver starts.
fn may_change(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 408 | 429 | 500 | 502 | 503 | 504)
}
