//! `googlechat`: a card of the first version, whose absent values are explicit nulls.

use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{
    Event,
    text::{in_payload, object_title, shortened},
};

/// Bytes of the texts of a card. Google Chat refuses messages of more than 32,000, of which the rest is for what stands around them.
const MAX_TEXTS: usize = 24_000;

pub(super) struct GoogleChat {
    url: Url,
}

impl GoogleChat {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address)
            .map_err(|_| InitError::Address(format!("invalid Google Chat hook URL {}", settings.address)))?;
        Ok(Self { url })
    }
}

impl Notifier for GoogleChat {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Message::post_json(&self.url, &payload(&shortened(event, MAX_TEXTS, in_payload))).into())
    }
}

fn payload(event: &Event) -> Value {
    let text = escape(&event.message);
    let text = if event.is_error() { format!("<font color=\"#ff0000\">{text}</font>") } else { text };
    let key_value = |(key, value): (&String, &String)| {
        json!({"textParagraph": null, "keyValue": {
            "topLabel": key, "content": value, "contentMultiline": false, "bottomLabel": null, "icon": null,
        }})
    };
    let paragraph = json!({"textParagraph": {"text": text}, "keyValue": null});
    let mut sections = vec![json!({"header": "", "widgets": [paragraph]})];
    if !event.metadata.is_empty() {
        let widgets: Vec<Value> = event.metadata.iter().map(key_value).collect();
        sections.push(json!({"header": "", "widgets": widgets}));
    }
    json!({"cards": [{
        "header": {
            "title": object_title(&event.involved_object),
            "subtitle": event.reporting_controller,
            "imageUrl": null,
            "imageStyle": null,
        },
        "sections": sections,
    }]})
}

/// The text is HTML there, and the message is written by whoever writes manifests (NTF-132).
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
