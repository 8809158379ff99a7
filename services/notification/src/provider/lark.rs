//! `lark`: an interactive card.

use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{
    Event,
    text::{in_payload, object_title, shortened},
};

/// Bytes of the texts of a card. Lark refuses requests of more than 20 KiB, of which the rest is for what stands around them.
const MAX_TEXTS: usize = 18 * 1024;

pub(super) struct Lark {
    url: Url,
}

impl Lark {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address)
            .map_err(|_| InitError::Address(format!("invalid Lark hook URL {}", settings.address)))?;
        Ok(Self { url })
    }
}

impl Notifier for Lark {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let payload = payload(&shortened(event, MAX_TEXTS, in_payload));
        Ok(Message::post_json(&self.url, &payload).failing_with("").into())
    }
}

fn payload(event: &Event) -> Value {
    let (emoji, template) = if event.is_error() { ("🚨", "red") } else { ("💫", "turquoise") };
    let mut text = format!("**{}**\n\n", event.message);
    for (key, value) in &event.metadata {
        text.push_str(&format!("{key}: {value}\n"));
    }
    let title = format!("{emoji} {}", object_title(&event.involved_object));
    json!({"msg_type": "interactive", "card": {
        "config": {"wide_screen_mode": true},
        "header": {"title": {"tag": "plain_text", "content": title}, "template": template},
        "elements": [{"tag": "div", "text": {"tag": "lark_md", "content": text}}],
    }})
}
