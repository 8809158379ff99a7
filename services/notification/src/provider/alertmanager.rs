//! `alertmanager`: one alert per event; it resolves by Alertmanager's own timeout (NTF-65).

use http::HeaderValue;
use serde_json::{Map, Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, json::with, metadata::SUMMARY};

pub(super) struct Alertmanager {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl Alertmanager {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("Alertmanager", &settings.address)?;
        let authorization = match settings.basic()? {
            Some(basic) => Some(basic),
            None => settings.bearer()?,
        };
        Ok(Self { url, authorization })
    }
}

impl Notifier for Alertmanager {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Message::post_json(&self.url, &payload(event)).authorized(self.authorization.as_ref()).into())
    }
}

fn payload(event: &Event) -> Value {
    let object = &event.involved_object;
    let mut labels: Map<String, Value> = event
        .metadata
        .iter()
        .filter(|(key, _)| *key != SUMMARY)
        .map(|(k, v)| (k.clone(), v.clone().into()))
        .collect();
    let own = [
        ("alertname", format!("Flux{}{}", object.kind, title(&event.reason))),
        ("severity", event.severity.clone()),
        ("reason", event.reason.clone()),
        ("kind", object.kind.clone()),
        ("name", object.name.clone()),
        ("namespace", object.namespace.clone()),
        ("reportingcontroller", event.reporting_controller.clone()),
    ];
    labels.extend(own.map(|(key, value)| (key.to_owned(), value.into())));
    let annotations =
        with(json!({"message": event.message}), "summary", event.metadata.get(SUMMARY).cloned());
    json!([{
        "status": "firing",
        "labels": labels,
        "annotations": annotations,
        "startsAt": event.timestamp_text(),
        "endsAt": "0001-01-01T00:00:00Z",
    }])
}

/// Each word with an upper-case first letter and the rest in lower case; a CamelCase reason is one word. Digits and underscores
/// are inside of words.
fn title(text: &str) -> String {
    let mut is_inside = false;
    let mut title = String::with_capacity(text.len());
    for character in text.chars() {
        if is_inside {
            title.extend(character.to_lowercase());
        } else {
            title.extend(character.to_uppercase());
        }
        let joins = character == '_' || character.is_numeric();
        is_inside = character.is_alphabetic() || (joins && is_inside);
    }
    title
}
