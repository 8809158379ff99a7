//! `googlepubsub`: the event itself as a message of a topic of Google Cloud's, over REST (spec 5.8). The token comes from
//! [`super::login`].

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use percent_encoding::utf8_percent_encode;
use serde_json::json;
use url::Url;

use super::address::SEGMENT;
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, json};

const SERVER: &str = "https://pubsub.googleapis.com";

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
        let [in_project, in_topic] = [project, topic].map(|part| utf8_percent_encode(part, SEGMENT));
        let url = format!("{SERVER}/v1/projects/{in_project}/topics/{in_topic}:publish");
        let url = Url::parse(&url).map_err(|error| InitError::Address(error.to_string()))?;
        Ok(Self {
            url,
            topic: format!("projects/{project}/topics/{topic}"),
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
        Ok(message.failing_with(prefix).into())
    }
}
