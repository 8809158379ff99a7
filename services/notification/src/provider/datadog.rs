//! `datadog`: an event of the events API.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use url::Url;

use super::client::{API_CLIENT, ClientProfile, MAX_TRIES, Tries};
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address, message::secret_header};
use crate::event::Event;

const API_KEY: HeaderName = HeaderName::from_static("dd-api-key");

/// Datadog's own client, which makes one try in Flux; here it is tried again as a webhook.
pub static CLIENT: ClientProfile = ClientProfile {
    tries: Tries::Doubling { most: MAX_TRIES },
    reads_answers: true,
    empty_answer: None,
    ..API_CLIENT
};

pub(super) struct Datadog {
    url: Url,
    key: HeaderValue,
}

impl Datadog {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.token.is_empty() {
            return Err(InitError::Token("token cannot be empty"));
        }
        let url = address::parse(&settings.address).map_err(|reason| {
            InitError::Address(format!("failed to parse address {:?}: {reason}", settings.address))
        })?;
        let key = secret_header(&settings.token).ok_or_else(|| InitError::Header(API_KEY.to_string()))?;
        Ok(Self { url: address::with_path(&url, "/api/v1/events"), key })
    }
}

impl Notifier for Datadog {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let message = Message::post_json(&self.url, &payload(event)).with(API_KEY, self.key.clone());
        let message = message.with_client(&CLIENT);
        Ok(message.failing_with("failed to post event to DataDog: ").into())
    }
}

fn payload(event: &Event) -> Value {
    let object = &event.involved_object;
    let mut tags = vec![
        format!("flux_reporting_controller:{}", event.reporting_controller),
        format!("flux_reason:{}", event.reason),
        format!("kube_kind:{}", object.kind),
        format!("kube_name:{}", object.name),
        format!("kube_namespace:{}", object.namespace),
    ];
    tags.extend(event.metadata.iter().map(|(key, value)| format!("{key}:{value}")));
    let tags: Vec<String> = tags.iter().map(|tag| tag.to_lowercase()).collect();
    json!({
        "title": format!("Events from the {} {}/{}", object.kind, object.name, object.namespace),
        "text": event.message,
        "tags": tags,
        "source_type_name": "fluxcd",
        "date_happened": event.timestamp.map_or(0, jiff::Timestamp::as_second),
        "alert_type": if event.is_error() { "error" } else { "info" },
    })
}
