//! Receivers: webhooks from outside that request a reconciliation. One file per type decides if a request is genuine;
//! the rest decides which objects the request marks, and keeps the Receiver's status.

pub mod filter;
pub mod index;
pub mod path;
pub mod reconcile;
pub mod target;

mod acr;
mod bitbucket;
mod cdevents;
mod decide;
mod dockerhub;
pub mod gcr;
mod generic;
mod generic_hmac;
mod github;
mod gitlab;
mod harbor;
mod nexus;
mod observe;
pub mod oidc;
mod quay;
mod report;
mod signature;

use http::HeaderMap;
use serde::de::DeserializeOwned;
use subtle::ConstantTimeEq;

/// The type that has no Secret: it believes tokens of identity providers.
pub const TYPE_GENERIC_OIDC: &str = "generic-oidc";
/// The type whose Secret holds more than a token.
pub const TYPE_GCR: &str = "gcr";

/// A webhook call as it came in.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Headers.
    pub headers: &'a HeaderMap,
    /// Body, byte for byte: signatures cover it.
    pub body: &'a [u8],
}

impl<'a> Call<'a> {
    /// A header's bytes; empty when absent.
    fn header_bytes(&self, name: &str) -> &'a [u8] {
        self.headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default()
    }

    /// Reads the first JSON value of the body; a `null` is none. Text behind it does not matter.
    fn first_json<T: DeserializeOwned>(&self, service: &'static str) -> Result<Option<T>, Refusal> {
        let mut values = serde_json::Deserializer::from_slice(self.body).into_iter::<Option<T>>();
        let first = values.next().unwrap_or_else(|| Err(serde::de::Error::custom("EOF")));
        first.map_err(|error| Refusal::Payload(service, error.to_string()))
    }

    /// A header's text; empty when absent or not text.
    fn header(&self, name: &str) -> &'a str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The rules by which a Receiver accepts a call.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The Secret's token, byte for byte; never empty (NTF-124).
    pub token: &'a [u8],
    /// `spec.events`
    pub events: &'a [String],
}

impl Rules<'_> {
    /// Admits events that the Receiver lists. Without a list all are admitted; case does not matter.
    fn admit(&self, service: &'static str, event: &str) -> Result<(), Refusal> {
        if self.events.is_empty() || self.events.iter().any(|name| name.eq_ignore_ascii_case(event)) {
            return Ok(());
        }
        Err(Refusal::Event { service, event: event.to_owned() })
    }

    /// Compares a header with the token byte for byte: a token may have bytes that are no text.
    fn is_token(&self, given: &[u8]) -> bool {
        self.token.ct_eq(given).into()
    }
}

/// Reasons to refuse a call; for the log only, the caller sees no more than the status code (NTF-92).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refusal {
    /// The signature is missing or wrong.
    #[error("{context}{fault}")]
    Signature {
        /// The words of the type.
        context: &'static str,
        /// The fault found.
        fault: signature::Fault,
    },
    /// The event is not in `spec.events`.
    #[error("the {service} {} is not authorised", quoted_event(.service, .event))]
    Event {
        /// The sender.
        service: &'static str,
        /// Its name for the event.
        event: String,
    },
    /// A shared token in a header is wrong.
    #[error("the {0} header value does not match the receiver token")]
    Token(&'static str),
    /// Nexus: no signature, or a wrong one.
    #[error("{0}")]
    Nexus(&'static str),
    /// A form has bad escapes.
    #[error("{0}the body is no form")]
    Form(&'static str),
    /// GitHub and Bitbucket send two content types only.
    #[error("webhook request has unsupported Content-Type {0:?}")]
    ContentType(String),
    /// The body is not what the type sends.
    #[error("cannot decode {0} webhook payload: {1}")]
    Payload(&'static str, String),
    /// The body is no CDEvent.
    #[error("unable to validate CDEvent event: {0}")]
    CdEvent(String),
    /// A token of an identity provider is missing or not believed.
    #[error("{0}")]
    Oidc(String),
    /// The call is not Google's.
    #[error("{0}")]
    Gcr(String),
    /// No type of the API.
    #[error("receiver type '{0}' not supported")]
    Type(String),
}

fn quoted_event(service: &str, event: &str) -> String {
    if service == cdevents::SERVICE { format!("{event:?}") } else { format!("event {event:?}") }
}

/// Verifies that a call is genuine, and about a listed event (NTF-95 … NTF-99). For the types that need no other
/// party for it; the others are [`oidc`] and [`gcr`].
///
/// # Errors
/// The reason of the refusal.
pub fn verify(receiver_type: &str, call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    match receiver_type {
        "generic" => generic::verify(),
        "generic-hmac" => generic_hmac::verify(call, rules),
        "github" => github::verify(call, rules),
        "gitlab" => gitlab::verify(call, rules),
        "bitbucket" => bitbucket::verify(call, rules),
        "harbor" => harbor::verify(call, rules),
        "dockerhub" => dockerhub::verify(call),
        "quay" => quay::verify(call),
        "acr" => acr::verify(call),
        "nexus" => nexus::verify(call, rules),
        "cdevents" => cdevents::verify(call, rules),
        other => Err(Refusal::Type(other.to_owned())),
    }
}

#[cfg(test)]
mod tests;
