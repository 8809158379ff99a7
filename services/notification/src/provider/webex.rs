//! `webex`: a message in Markdown to a room.

use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address, message::secret_header};
use crate::event::{
    Event,
    json::{filled, with},
    text::{fit, object_title},
};

/// Longest message that Webex takes, in bytes.
const MAX_MESSAGE: usize = 7439;

pub(super) struct Webex {
    url: Url,
    room: String,
    authorization: HeaderValue,
}

impl Webex {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let authorization = secret_header(format!("Bearer {}", settings.token).trim_end())
            .ok_or_else(|| InitError::Header("Authorization".into()))?;
        let url = address::hook("Webex hook", &settings.address)?;
        Ok(Self { url, room: settings.channel.clone(), authorization })
    }
}

impl Notifier for Webex {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let message = Message::post_json(&self.url, &payload(event, &self.room));
        Ok(message.authorized(Some(&self.authorization)).into())
    }
}

fn payload(event: &Event, room: &str) -> Value {
    let emoji = if event.is_error() { "💣" } else { "✅" };
    let title = object_title(&event.involved_object);
    let fitted = fit(&title, event, MAX_MESSAGE, char::len_utf8);
    let mut text = format!("{emoji} **{}**\n{}\n", fitted.title, fitted.message);
    for (key, value) in &fitted.facts {
        text.push_str(&format!(">**{key}**: {value}\n"));
    }
    with(json!({"markdown": text}), "roomId", filled(room))
}
