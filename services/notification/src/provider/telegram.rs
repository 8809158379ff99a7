//! `telegram`: a bot's message in MarkdownV2, whose every special character is escaped (NTF-62, NTF-132).

use serde_json::{Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, json::with, text::fit};

const API: &str = "https://api.telegram.org";
const SPECIAL: &str = "\\.-_[]()~>`#+=|{}!*";
/// Longest text of a message. Telegram counts units of UTF-16, and not the escapes before them.
const MAX_TEXT: usize = 4096;

pub(super) struct Telegram {
    url: Url,
    channel: String,
}

impl Telegram {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.channel.is_empty() {
            return Err(InitError::Channel("empty Telegram channel".into()));
        }
        if settings.token.is_empty() {
            return Err(InitError::Token("empty Telegram token"));
        }
        let mut url = Url::parse(API).map_err(|error| InitError::Address(error.to_string()))?;
        url.set_path(&format!("/bot{}/sendMessage", settings.token));
        Ok(Self { url, channel: settings.channel.clone() })
    }
}

impl Notifier for Telegram {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        Ok(Message::post_json(&self.url, &payload(event, &self.channel)).failing_with("").into())
    }
}

fn payload(event: &Event, channel: &str) -> Value {
    let (chat, thread) =
        channel.split_once(':').map_or((channel, None), |(chat, thread)| (chat, Some(thread)));
    let thread = thread.filter(|thread| !thread.is_empty());
    let object = &event.involved_object;
    let emoji = if event.is_error() { "🚨" } else { "💫" };
    let title = format!("{emoji} {}/{}/{}", object.kind.to_lowercase(), object.name, object.namespace);
    let fitted = fit(&title, event, MAX_TEXT, char::len_utf16);
    let mut text = format!("*{}*\n{}\n", escape(&fitted.title), escape(&fitted.message));
    for (key, value) in &fitted.facts {
        text.push_str(&format!("\\- *{}*: {}\n", escape(key), escape(value)));
    }
    let payload = with(json!({"chat_id": chat}), "message_thread_id", thread);
    with(with(payload, "text", Some(text)), "parse_mode", Some("MarkdownV2"))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
