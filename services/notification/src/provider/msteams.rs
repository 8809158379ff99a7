//! `msteams`: an Adaptive Card, or the older MessageCard for Office 365 connectors (NTF-61).

use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{
    Event,
    json::filled,
    json::with,
    metadata::SUMMARY,
    text::{in_payload, object_title, shortened},
};

/// Hosts under this name are Office 365 connectors, which know no Adaptive Cards.
const CONNECTOR_HOSTS: &str = ".webhook.office.com";

/// Bytes of the texts of a card. Teams refuses messages of more than 28 KiB, of which the rest is for what stands around them.
const MAX_TEXTS: usize = 24 * 1024;

pub(super) struct MsTeams {
    url: Url,
}

impl MsTeams {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self { url: address::hook("MS Teams webhook", &settings.address)? })
    }
}

impl Notifier for MsTeams {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let is_connector = self.url.host_str().is_some_and(|host| host.ends_with(CONNECTOR_HOSTS));
        let event = &*shortened(event, MAX_TEXTS, in_payload);
        let payload = if is_connector { message_card(event) } else { adaptive_card(event) };
        Ok(Message::post_json(&self.url, &payload).into())
    }
}

/// The summary comes first, the rest in the order of keys.
fn facts(event: &Event, label: &str) -> Vec<Value> {
    let summary = event.metadata.get_key_value(SUMMARY);
    let others = event.metadata.iter().filter(|(key, _)| *key != SUMMARY);
    summary.into_iter().chain(others).map(|(key, value)| json!({label: key, "value": value})).collect()
}

fn adaptive_card(event: &Event) -> Value {
    let text = with(json!({"type": "TextBlock"}), "text", filled(&event.message));
    let text = with(text, "wrap", Some(true));
    let text = with(text, "color", event.is_error().then_some("attention"));
    let facts = Some(facts(event, "title")).filter(|facts| !facts.is_empty());
    let fact_set = with(json!({"type": "FactSet"}), "facts", facts);
    let title = json!({
        "type": "TextBlock",
        "text": object_title(&event.involved_object),
        "size": "large",
        "weight": "bolder",
        "wrap": true,
    });
    json!({"type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [{"type": "Container", "items": [title, text, fact_set]}],
            "msteams": {"width": "Full"},
        },
    }]})
}

fn message_card(event: &Event) -> Value {
    json!({
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "themeColor": if event.is_error() { "FF0000" } else { "0076D7" },
        "summary": object_title(&event.involved_object),
        "sections": [{
            "activityTitle": event.message,
            "activitySubtitle": object_title(&event.involved_object),
            "facts": facts(event, "name"),
        }],
    })
}
