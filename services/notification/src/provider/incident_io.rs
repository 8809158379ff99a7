//! `incident.io`: an HTTP alert source.

use http::HeaderValue;
use serde_json::{Map, Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, json::filled, json::with, text::object_title};

pub(super) struct IncidentIo {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl IncidentIo {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("incident.io alert source", &settings.address)?;
        if settings.token.is_empty() {
            return Err(InitError::Token("empty incident.io API token"));
        }
        Ok(Self { url, authorization: settings.bearer()? })
    }
}

impl Notifier for IncidentIo {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        Ok(Message::post_json(&self.url, &payload(event)).authorized(self.authorization.as_ref()).into())
    }
}

fn payload(event: &Event) -> Value {
    let mut metadata: Map<String, Value> =
        event.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    metadata.insert("severity".into(), event.severity.clone().into());
    metadata.insert("reason".into(), event.reason.clone().into());
    if !event.reporting_controller.is_empty() {
        metadata.insert("reportingController".into(), event.reporting_controller.clone().into());
    }
    let payload = json!({
        "title": format!("{}: {}", object_title(&event.involved_object), event.reason),
        "status": if event.is_error() { "firing" } else { "resolved" },
        "deduplication_key": event.involved_object.uid,
        "metadata": metadata,
    });
    with(payload, "description", filled(&event.message))
}
