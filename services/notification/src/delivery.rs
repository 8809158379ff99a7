//! Sending: one HTTP client for all providers, with retries, proxies, TLS material and careful words about failures
//! (NTF-46 … NTF-55, NTF-125, NTF-126).

pub(crate) mod answer;
pub mod mask;
pub mod nats;
mod redirect;
pub mod retry;

use std::borrow::Cow;
use std::time::Duration;

use http::{StatusCode, header::RETRY_AFTER};
use serde_json::Value;
use weir_http::{ClientError, Clients, Profile};

use self::nats::NatsError;
pub use self::retry::Retry;
use crate::provider::{Accept, Comment, CommitStatus, Delivery, Message};

/// Bytes of an answer that are read to judge it or to quote it (NTF-55); more than any error page needs to be understood.
const MAX_QUOTED: usize = 4 * 1024;
/// Bytes of a list of commit statuses; 50 statuses of GitHub are about 100 KiB.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// Errors of a delivery. The texts name scheme and host at most, since paths of webhooks are secrets (NTF-53).
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The time for the whole delivery is over.
    #[error("{0}failed to execute request: context deadline exceeded")]
    Deadline(Cow<'static, str>),
    /// The service refused.
    #[error("{prefix}request failed: request failed with status code {status}: {body}")]
    Status {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// Status code.
        status: u16,
        /// Start of the body, without control characters.
        body: String,
    },
    /// Slack's API refused the message.
    #[error("{prefix}Slack responded with error: {error}")]
    Slack {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// Slack's code.
        error: String,
    },
    /// The answer is not what the service promises.
    #[error("{prefix}unable to unmarshal response body: {error}")]
    Answer {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// The fault in it.
        error: String,
    },
    /// No answer, and no hope of one.
    #[error("{prefix}failed to execute request: {method} {origin}: {error}")]
    Connection {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// Method of the request.
        method: http::Method,
        /// Scheme and host.
        origin: String,
        /// The innermost cause.
        error: String,
    },
    /// Every try failed.
    #[error(
        "{prefix}failed to execute request: {method} {origin} giving up after {attempts} attempt(s): {error}"
    )]
    GaveUp {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// Method of the request.
        method: http::Method,
        /// Scheme and host.
        origin: String,
        /// Number of tries.
        attempts: u32,
        /// Error of the last try.
        error: String,
    },
    /// No NATS server took the message.
    #[error("{prefix}{source}")]
    Nats {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// The reason.
        #[source]
        source: NatsError,
    },
    /// TLS or proxy settings do not make a client.
    #[error("failed to get {subject}: {0}", subject = subject(.0))]
    Client(#[from] ClientError),
}

/// Returns the part of a Provider's settings that an error is about, in Flux's words.
fn subject(error: &ClientError) -> &'static str {
    if matches!(error, ClientError::Proxy { .. }) { "proxy URL" } else { "TLS config" }
}

/// Sends what a provider rendered.
#[derive(Clone)]
pub struct Sender {
    clients: Clients,
    retry: Retry,
}

/// A good answer.
struct Answer {
    body: Vec<u8>,
    /// True when the target does not exist yet, which is no failure.
    is_missing: bool,
}

impl Sender {
    /// A sender with an empty client cache.
    pub fn new(retry: Retry) -> Self {
        Self { clients: Clients::without_redirects("weir-notification"), retry }
    }

    /// Sends everything of one delivery; `timeout` covers all requests and all tries.
    ///
    /// # Errors
    /// When the service refuses, cannot be reached, or the time is over.
    pub async fn deliver(
        &self,
        delivery: Delivery,
        profile: &Profile,
        timeout: Duration,
    ) -> Result<(), DeliveryError> {
        let client = self.clients.get(profile)?;
        let prefix = match &delivery {
            Delivery::Nothing => return Ok(()),
            Delivery::Messages(messages) => {
                messages.first().map(|message| message.failure_prefix.clone()).unwrap_or_default()
            }
            Delivery::CommitStatus(status) => status.read.failure_prefix.clone(),
            Delivery::Comment(comment) => comment.who.failure_prefix.clone(),
            Delivery::Publication(publication) => publication.failure_prefix(),
        };
        let work = async {
            match delivery {
                Delivery::Nothing => Ok(()),
                Delivery::Messages(messages) => {
                    for message in &messages {
                        self.send(&client, message, MAX_QUOTED).await?;
                    }
                    Ok(())
                }
                Delivery::CommitStatus(status) => self.write_status(&client, &status).await,
                Delivery::Comment(comment) => self.write_comment(&client, &comment).await,
                Delivery::Publication(publication) => {
                    let published = nats::publish(&publication, profile).await;
                    published.map_err(|source| DeliveryError::Nats { prefix: prefix.clone(), source })
                }
            }
        };
        tokio::time::timeout(timeout, work).await.unwrap_or(Err(DeliveryError::Deadline(prefix)))
    }

    async fn write_status(
        &self,
        client: &reqwest::Client,
        status: &CommitStatus,
    ) -> Result<(), DeliveryError> {
        let listed = self.read(client, &status.read).await?;
        if !(status.is_current)(&listed) {
            self.send(client, &status.write, MAX_QUOTED).await?;
        }
        Ok(())
    }

    async fn write_comment(&self, client: &reqwest::Client, comment: &Comment) -> Result<(), DeliveryError> {
        let me = self.read(client, &comment.who).await?;
        let comments = self.read(client, &comment.list).await?;
        let message = match (comment.find)(&me, &comments) {
            Some(id) => (comment.update)(id),
            None => comment.create.clone(),
        };
        self.send(client, &message, MAX_QUOTED).await.map(drop)
    }

    /// Reads JSON; what is not there yet is null.
    async fn read(&self, client: &reqwest::Client, message: &Message) -> Result<Value, DeliveryError> {
        let answer = self.send(client, message, MAX_LIST).await?;
        if answer.is_missing {
            return Ok(Value::Null);
        }
        let prefix = message.failure_prefix.clone();
        serde_json::from_slice(&answer.body)
            .map_err(|error| DeliveryError::Answer { prefix, error: error.to_string() })
    }

    /// Tries until the answer is final; the caller bounds the time.
    #[expect(clippy::disallowed_methods, reason = "a delivery is no run")]
    async fn send(
        &self,
        client: &reqwest::Client,
        message: &Message,
        limit: usize,
    ) -> Result<Answer, DeliveryError> {
        let prefix = message.failure_prefix.clone();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (outcome, error) = match redirect::send(client, message).await {
                Ok(response) => {
                    let status = response.status();
                    let retry_after =
                        response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()).map(str::to_owned);
                    if !retry::is_worth_another(status) {
                        return judge(message, status, response, limit).await;
                    }
                    (
                        retry::Failure::Status { status, retry_after },
                        format!("status code {}", status.as_u16()),
                    )
                }
                Err(error) => {
                    let text = answer::cause(&error);
                    if answer::is_final(&error) {
                        let (method, origin) = (message.method.clone(), origin(message));
                        return Err(DeliveryError::Connection { prefix, method, origin, error: text });
                    }
                    (retry::Failure::Connection, text)
                }
            };
            match self.retry.wait_after(attempts, &outcome, jiff::Timestamp::now()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => {
                    let (method, origin) = (message.method.clone(), origin(message));
                    return Err(DeliveryError::GaveUp { prefix, method, origin, attempts, error });
                }
            }
        }
    }
}

async fn judge(
    message: &Message,
    status: StatusCode,
    response: reqwest::Response,
    limit: usize,
) -> Result<Answer, DeliveryError> {
    let prefix = message.failure_prefix.clone();
    let body = answer::read_at_most(response, limit).await;
    if message.accept == Accept::SlackOk {
        let answer: Value = match serde_json::from_slice(&body) {
            Ok(answer) => answer,
            Err(error) => return Err(DeliveryError::Answer { prefix, error: error.to_string() }),
        };
        if answer.get("ok").and_then(Value::as_bool) == Some(true) {
            return Ok(Answer { body, is_missing: false });
        }
        let error = answer.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Err(DeliveryError::Slack { prefix, error });
    }
    let is_missing = message.accept == Accept::StatusOrMissing && status == StatusCode::NOT_FOUND;
    if status.is_success() || is_missing {
        return Ok(Answer { body, is_missing });
    }
    let quoted = body.get(..MAX_QUOTED).unwrap_or(&body);
    let body = String::from_utf8_lossy(quoted).chars().filter(|c| !c.is_control()).collect();
    Err(DeliveryError::Status { prefix, status: status.as_u16(), body })
}

fn origin(message: &Message) -> String {
    message.url.origin().ascii_serialization()
}
