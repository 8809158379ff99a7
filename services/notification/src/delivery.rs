//! Sending: one HTTP client for all providers, with retries, proxies, TLS material and careful words about failures
//! (NTF-46 … NTF-55, NTF-125, NTF-126).

pub(crate) mod answer;
mod failure_text;
pub mod nats;
mod redirect;
pub mod retry;

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use weir_http::{ClientError, Clients, Profile};

use self::nats::NatsError;
pub use self::retry::Retry;
use crate::provider::client::Reply;
use crate::provider::{Accept, Comment, CommitStatus, Delivery, Message};

/// Bytes of a list of commit statuses; 50 statuses of GitHub are about 100 KiB.
const MAX_LIST: usize = 4 * 1024 * 1024;
/// Bytes of an answer of Slack, which repeats the whole message in several forms.
const MAX_SLACK: usize = 1024 * 1024;
/// Bytes of a good answer that nobody looks at: read so that the connection can be used again.
const MAX_IGNORED: usize = 4 * 1024;

/// Errors of a delivery. The texts name scheme and host at most, where paths are secrets (NTF-53).
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// A request failed.
    #[error("{prefix}{text}")]
    Request {
        /// Words of the provider type.
        prefix: Cow<'static, str>,
        /// The failure, in the words of the client that Flux uses for the service.
        text: String,
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

/// The requests of one delivery, with one time for all of them and all tries.
struct Conversation {
    client: reqwest::Client,
    retry: Retry,
    deadline: Instant,
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

    /// Sends the questions that a notifier has before it renders; returns the last answer.
    ///
    /// # Errors
    /// When one of them is not answered in time.
    pub async fn ask(
        &self,
        questions: &[Message],
        profile: &Profile,
        timeout: Duration,
    ) -> Result<Value, DeliveryError> {
        let conversation = self.converse(profile, timeout)?;
        let mut last = Value::Null;
        for question in questions {
            last = conversation.read(question).await?;
        }
        Ok(last)
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
        let conversation = self.converse(profile, timeout)?;
        match delivery {
            Delivery::Nothing => Ok(()),
            Delivery::Messages(messages) => {
                for message in &messages {
                    conversation.write(message).await?;
                }
                Ok(())
            }
            Delivery::CommitStatus(status) => conversation.write_status(&status).await,
            Delivery::Comment(comment) => conversation.write_comment(&comment).await,
            Delivery::Publication(publication) => {
                let prefix = publication.failure_prefix();
                match timeout_at(conversation.deadline, nats::publish(&publication, profile)).await {
                    Ok(published) => published.map_err(|source| DeliveryError::Nats { prefix, source }),
                    Err(_) => Err(DeliveryError::Request { prefix, text: failure_text::DEADLINE.to_owned() }),
                }
            }
        }
    }

    fn converse(&self, profile: &Profile, timeout: Duration) -> Result<Conversation, DeliveryError> {
        let client = self.clients.get(profile)?;
        let now = Instant::now();
        Ok(Conversation { client, retry: self.retry, deadline: now.checked_add(timeout).unwrap_or(now) })
    }
}

impl Conversation {
    async fn write_status(&self, status: &CommitStatus) -> Result<(), DeliveryError> {
        let listed = self.read(&status.read).await?;
        if !(status.is_current)(&listed) {
            self.write(&status.write).await?;
        }
        Ok(())
    }

    async fn write_comment(&self, comment: &Comment) -> Result<(), DeliveryError> {
        let comments = self.read(&comment.list).await?;
        let message = match (comment.find)(&comments) {
            Some(id) => (comment.update)(id),
            None => comment.create.clone(),
        };
        self.write(&message).await
    }

    async fn write(&self, message: &Message) -> Result<(), DeliveryError> {
        let is_read = message.client.reads_answers;
        let limit = match message.accept {
            Accept::SlackOk => MAX_SLACK,
            _ if is_read => MAX_LIST,
            _ => MAX_IGNORED,
        };
        let answer = self.send(message, limit).await?;
        if is_read { parsed(message, &answer.body).map(drop) } else { Ok(()) }
    }

    /// Reads JSON; what is not there yet is null.
    async fn read(&self, message: &Message) -> Result<Value, DeliveryError> {
        let answer = self.send(message, MAX_LIST).await?;
        if answer.is_missing {
            return Ok(Value::Null);
        }
        parsed(message, &answer.body)
    }

    /// Tries until the answer is final or the time is over; `limit` is how much of a good answer is read, in bytes.
    #[expect(clippy::disallowed_methods, reason = "a delivery is no run")]
    async fn send(&self, message: &Message, limit: usize) -> Result<Answer, DeliveryError> {
        let (mut attempts, mut last_try) = (0, None);
        let ended = |text, last_try: Option<String>| {
            Err(failed(message, failure_text::after(text, last_try.as_deref())))
        };
        loop {
            attempts += 1;
            let exchange = answer::exchange(&self.client, message, limit);
            let Ok(exchanged) = timeout_at(self.deadline, exchange).await else {
                return ended(failure_text::late(message, attempts), last_try);
            };
            let is_worth_another = match &exchanged {
                Ok(reply) => retry::is_worth_another(reply.status),
                Err(error) => !answer::is_final(error),
            };
            let retry_after = exchanged.as_ref().ok().and_then(|reply| reply.wait.as_deref());
            let wait =
                self.retry.wait_after(message.client.tries, attempts, retry_after, jiff::Timestamp::now());
            if is_worth_another {
                last_try = Some(answer::told(&exchanged, &message.url));
            }
            match (wait.filter(|_| is_worth_another), exchanged) {
                (Some(wait), _) => {
                    if timeout_at(self.deadline, tokio::time::sleep(wait)).await.is_err() {
                        return ended(failure_text::late_waiting(message), last_try);
                    }
                }
                (None, Ok(_)) if is_worth_another && message.client.gives_up => {
                    return ended(failure_text::gave_up(message, attempts), last_try);
                }
                (None, Ok(reply)) => return judge(message, reply),
                (None, Err(error)) => {
                    let reason = answer::cause(&error, &message.url);
                    return Err(failed(message, failure_text::unanswered(message, &reason, attempts)));
                }
            }
        }
    }
}

fn judge(message: &Message, reply: Reply) -> Result<Answer, DeliveryError> {
    if message.accept == Accept::SlackOk {
        let answer = parsed(message, &reply.body)?;
        if answer.get("ok").and_then(Value::as_bool) == Some(true) {
            return Ok(Answer { body: reply.body, is_missing: false });
        }
        let error = answer.get("error").and_then(Value::as_str).unwrap_or_default();
        return Err(failed(message, format!("request failed: Slack responded with error: {error}")));
    }
    let is_missing = message.accept == Accept::StatusOrMissing && reply.status == http::StatusCode::NOT_FOUND;
    if reply.status.is_success() || is_missing {
        return Ok(Answer { body: reply.body, is_missing });
    }
    Err(failed(message, (message.client.refused)(message, &reply)))
}

fn failed(message: &Message, text: String) -> DeliveryError {
    DeliveryError::Request { prefix: message.failure_prefix.clone(), text }
}

/// Reads the JSON of an answer; text behind it does not matter.
fn parsed(message: &Message, body: &[u8]) -> Result<Value, DeliveryError> {
    match serde_json::Deserializer::from_slice(body).into_iter::<Value>().next() {
        Some(Ok(value)) => Ok(value),
        None if message.client.empty_answer.is_none() => Ok(Value::Null),
        None => Err(failed(message, failure_text::no_json(message, None, body))),
        Some(Err(error)) => Err(failed(message, failure_text::no_json(message, Some(&error), body))),
    }
}
