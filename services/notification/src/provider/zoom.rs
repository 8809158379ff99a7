//! `zoom`: a chat message of an incoming webhook app.

use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, json::filled, json::with, text::object_title};

pub(super) struct Zoom {
    url: Url,
    authorization: Option<HeaderValue>,
}

impl Zoom {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let mut url = address::hook("Zoom incoming webhook", &settings.address)?;
        if settings.token.is_empty() {
            return Err(InitError::Token("empty Zoom verification token"));
        }
        let format = url.query_pairs().find(|(key, _)| key == "format");
        if format.is_none_or(|(_, value)| value.is_empty()) {
            let others = url.query_pairs().filter(|(key, _)| key != "format");
            let query = address::encode_pairs(others.chain([("format".into(), "full".into())]).collect());
            url.set_query(Some(&query));
        }
        Ok(Self { url, authorization: settings.authorization("", &settings.token)? })
    }
}

impl Notifier for Zoom {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Message::post_json(&self.url, &payload(event)).authorized(self.authorization.as_ref()).into())
    }
}

fn payload(event: &Event) -> Value {
    let mut body = vec![with(json!({"type": "message"}), "text", filled(&event.message))];
    if !event.metadata.is_empty() {
        let items: Vec<Value> = event.metadata.iter().map(|(k, v)| json!({"key": k, "value": v})).collect();
        body.push(json!({"type": "fields", "items": items}));
    }
    let head = json!({"text": object_title(&event.involved_object), "sub_head": {"text": event.severity}});
    json!({"content": {"head": head, "body": body}})
}
