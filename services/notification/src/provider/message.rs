//! The message that a provider sends.

use std::borrow::Cow;

use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::client::{ClientProfile, HOOK};
use super::nats::Publication;
use crate::event::json;

/// The delivery of one event.
pub enum Delivery {
    /// The type does not report such events.
    Nothing,
    /// Requests sent one after the other; the first failure ends it.
    Messages(Vec<Message>),
    /// A commit status: written unless the service has it already.
    CommitStatus(Box<CommitStatus>),
    /// A comment that is written once and updated in place.
    Comment(Box<Comment>),
    /// A message for a NATS server.
    Publication(Box<Publication>),
}

impl From<Message> for Delivery {
    fn from(message: Message) -> Self {
        Self::Messages(vec![message])
    }
}

/// A commit status that is written only if the latest one of the same name differs (NTF-73).
pub struct CommitStatus {
    /// Lists what the commit has.
    pub read: Message,
    /// Returns true for the answer of `read` when the latest status of this name already equals that of `write`.
    pub is_current: Box<dyn Fn(&Value) -> bool + Send + Sync>,
    /// Writes the status.
    pub write: Message,
}

/// Finds the number of our comment in the list of comments.
pub type FindComment = dyn Fn(&Value) -> Option<u64> + Send + Sync;

/// A comment on a pull or merge request (NTF-83).
pub struct Comment {
    /// Lists the comments.
    pub list: Message,
    /// Finds ours.
    pub find: Box<FindComment>,
    /// Writes the comment of that number anew.
    pub update: Box<dyn Fn(u64) -> Message + Send + Sync>,
    /// Writes a comment.
    pub create: Message,
}

/// The rule by which an answer is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Any 2xx is success (NTF-51).
    Status,
    /// Any 2xx, or 404 for what is not there yet.
    StatusOrMissing,
    /// Only `"ok": true` in the JSON body is (NTF-60).
    SlackOk,
}

/// One HTTP request.
#[derive(Clone)]
pub struct Message {
    /// Method.
    pub method: Method,
    /// URL; often a secret, never logged.
    pub url: Url,
    /// All headers.
    pub headers: HeaderMap,
    /// The very bytes that are sent, on every try (NTF-58).
    pub body: Vec<u8>,
    /// The rule by which the answer is judged.
    pub accept: Accept,
    /// The client whose tries it gets, and whose words its failures have.
    pub client: &'static ClientProfile,
    /// Put before the text of a failure.
    pub failure_prefix: Cow<'static, str>,
}

impl Message {
    /// A POST of JSON, as most services want it.
    pub fn post_json(url: &Url, payload: &impl Serialize) -> Self {
        Self::post_bytes(url, json::to_bytes(payload))
    }

    /// A POST of JSON that is encoded already.
    pub fn post_bytes(url: &Url, body: Vec<u8>) -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        Self {
            method: Method::POST,
            url: url.clone(),
            headers,
            body,
            accept: Accept::Status,
            client: &HOOK,
            failure_prefix: Cow::Borrowed("postMessage failed: "),
        }
    }

    /// A GET without a body.
    pub fn get(url: &Url) -> Self {
        let mut message = Self::post_bytes(url, Vec::new());
        message.method = Method::GET;
        message.headers.clear();
        message
    }

    /// Changes what is put before the text of a failure.
    pub fn failing_with(mut self, prefix: impl Into<Cow<'static, str>>) -> Self {
        self.failure_prefix = prefix.into();
        self
    }

    /// Changes the client that it is sent like.
    pub fn with_client(mut self, client: &'static ClientProfile) -> Self {
        self.client = client;
        self
    }

    /// Changes how the answer is read.
    pub fn accepting(mut self, accept: Accept) -> Self {
        self.accept = accept;
        self
    }

    /// Sets a header that a provider has checked or made itself.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Returns the place of the request as errors name it, without user info.
    pub(crate) fn place(&self) -> String {
        if self.client.hides_paths {
            return self.url.origin().ascii_serialization();
        }
        weir_http::without_user_info(&self.url).into()
    }

    /// Sets the Authorization header, if there is one to set.
    pub fn authorized(self, value: Option<&HeaderValue>) -> Self {
        match value {
            Some(value) => self.with(AUTHORIZATION, value.clone()),
            None => self,
        }
    }
}

/// A header value that logs never show; `None` when it has control characters (NTF-125).
pub fn secret_header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
