//! `grafana`: an annotation on dashboards.

use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, metadata::SUMMARY, text::object_title};

pub(super) struct Grafana {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl Grafana {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address)
            .map_err(|_| InitError::Address(format!("invalid Grafana URL {}", settings.address)))?;
        let authorization = match settings.bearer()? {
            Some(bearer) => Some(bearer),
            None => settings.basic()?,
        };
        Ok(Self { url, authorization })
    }
}

impl Notifier for Grafana {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Message::post_json(&self.url, &payload(event)).authorized(self.authorization.as_ref()).into())
    }
}

fn payload(event: &Event) -> Value {
    let object = &event.involved_object;
    let mut tags = vec!["flux".to_owned(), event.reporting_controller.clone()];
    let summary = event.metadata.get_key_value(SUMMARY);
    let others = event.metadata.iter().filter(|(key, _)| *key != SUMMARY);
    // A colon parts key from value in Grafana's tags.
    let tag =
        |(key, value): (&String, &String)| format!("{}: {}", key.replace(':', "|"), value.replace(':', "|"));
    tags.extend(summary.into_iter().chain(others).map(tag));
    tags.push(format!("kind: {}", object.kind));
    tags.push(format!("name: {}", object.name));
    tags.push(format!("namespace: {}", object.namespace));
    json!({
        "when": event.timestamp.map_or(0, jiff::Timestamp::as_second),
        "text": object_title(object),
        "tags": tags,
    })
}
