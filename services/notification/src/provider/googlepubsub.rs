//! `googlepubsub`: the event itself as a message of a topic of Google Cloud's, over REST (spec 5.8). The token comes from
//! [`super::login`].

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use url::Url;

use super::address::SEGMENT;
use super::client::{ClientProfile, HOOK_CLIENT, Reply, quoted};
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, json};

const SERVER: &str = "https://pubsub.googleapis.com";

/// Parts of a topic's full name, `projects/<project>/topics/<topic>`.
const FULL_NAME_PARTS: usize = 4;

/// Google's own client, which tells refusals as gRPC does.
pub static CLIENT: ClientProfile = ClientProfile { refused, ..HOOK_CLIENT };

pub(super) struct GooglePubSub {
    url: Url,
    topic: String,
    attributes: BTreeMap<String, String>,
    authorization: Option<HeaderValue>,
}

impl GooglePubSub {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let Settings { address: project, channel: topic, .. } = settings;
        if project.is_empty() {
            return Err(InitError::Address("GCP project ID cannot be empty".to_owned()));
        }
        if topic.is_empty() {
            return Err(InitError::Channel("GCP Pub/Sub topic ID cannot be empty".to_owned()));
        }
        let named = format!("projects/{project}/topics/{topic}");
        // The topic may be of another project: its full name is taken as it is.
        let place = match topic.split('/').collect::<Vec<_>>() {
            parts if parts.len() == FULL_NAME_PARTS => parts,
            _ => vec!["projects", project.as_str(), "topics", topic.as_str()],
        };
        let place: Vec<String> =
            place.into_iter().map(|part| utf8_percent_encode(part, SEGMENT).to_string()).collect();
        let url = format!("{SERVER}/v1/{}:publish", place.join("/"));
        let url = Url::parse(&url).map_err(|error| InitError::Address(error.to_string()))?;
        Ok(Self {
            url,
            topic: named,
            attributes: settings.headers.clone(),
            authorization: settings.bearer()?,
        })
    }
}

impl Notifier for GooglePubSub {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let attributes = (!self.attributes.is_empty()).then(|| json!(self.attributes));
        let data = json!({"data": BASE64_STANDARD.encode(event.to_bytes())});
        let payload = json!({"messages": [json::with(data, "attributes", attributes)]});
        let prefix = format!("error publishing to GCP Pub/Sub topic {}: ", self.topic);
        let message = Message::post_json(&self.url, &payload).authorized(self.authorization.as_ref());
        Ok(message.with_client(&CLIENT).failing_with(prefix).into())
    }
}

/// Returns the error of a refusal: code and message as gRPC has them, where the server tells them.
fn refused(message: &Message, reply: &Reply) -> String {
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let [status, reason] =
        ["/error/status", "/error/message"].map(|place| answer.pointer(place).and_then(Value::as_str));
    match (status, reason) {
        (Some(status), Some(reason)) => {
            let said = format!("rpc error: code = {} desc = {reason}", code_of(status));
            quoted(said.as_bytes())
        }
        _ => (HOOK_CLIENT.refused)(message, reply),
    }
}

/// Returns gRPC's name of a status: `NOT_FOUND` is `NotFound`.
fn code_of(status: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().chain(letters.flat_map(char::to_lowercase)).collect::<String>()
    };
    status.split('_').map(word).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("events", "/v1/projects/p/topics/events:publish")]
    #[case("projects/other/topics/events", "/v1/projects/other/topics/events:publish")]
    #[case("a/b", "/v1/projects/p/topics/a%2Fb:publish")]
    fn topics(#[case] channel: &str, #[case] path: &str) {
        let settings = Settings { address: "p".into(), channel: channel.into(), ..Settings::default() };
        assert_eq!(GooglePubSub::new(&settings).unwrap().url.path(), path);
    }
}
