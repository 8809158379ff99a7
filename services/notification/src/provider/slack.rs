//! `slack`: incoming webhooks, and `chat.postMessage` with a bot token (NTF-59, NTF-60).

use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use super::{Accept, Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, text::object_title};

/// The one address whose answer has the result in its body; compared as written.
const POST_MESSAGE: &str = "https://slack.com/api/chat.postMessage";

pub(super) struct Slack {
    url: Url,
    channel: String,
    username: String,
    authorization: Option<HeaderValue>,
    accept: Accept,
}

impl Slack {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self {
            url: address::hook("Slack hook", &settings.address)?,
            channel: settings.channel.clone(),
            username: settings.username.clone(),
            authorization: settings.bearer()?,
            accept: if settings.address == POST_MESSAGE { Accept::SlackOk } else { Accept::Status },
        })
    }
}

impl Notifier for Slack {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let payload = payload(event, &Look::slack(event, &self.username, &self.channel));
        let mut message = Message::post_json(&self.url, &payload).authorized(self.authorization.as_ref());
        message.accept = self.accept;
        Ok(message.into())
    }
}

/// The differences between the services that take Slack's format.
pub(super) struct Look<'a> {
    pub(super) username: &'a str,
    pub(super) channel: &'a str,
    pub(super) fallback: String,
    pub(super) color: &'a str,
}

impl<'a> Look<'a> {
    /// Slack's own look: the controller's name stands in for a missing user name.
    pub(super) fn slack(event: &'a Event, username: &'a str, channel: &'a str) -> Self {
        let first_line = event.message.split('\n').next().unwrap_or_default();
        Self {
            username: if username.is_empty() { &event.reporting_controller } else { username },
            channel,
            fallback: format!("{}: {first_line}", object_title(&event.involved_object)),
            color: if event.is_error() { "danger" } else { "good" },
        }
    }
}

/// One attachment with a field per metadata entry.
pub(super) fn payload(event: &Event, look: &Look<'_>) -> Value {
    let field = |(key, value): (&String, &String)| json!({"title": key, "value": value, "short": false});
    json!({
        "channel": look.channel,
        "username": look.username,
        "icon_url": "",
        "icon_emoji": "",
        "attachments": [{
            "fallback": look.fallback,
            "color": look.color,
            "author_name": object_title(&event.involved_object),
            "text": event.message,
            "mrkdwn_in": ["text"],
            "fields": event.metadata.iter().map(field).collect::<Vec<_>>(),
        }],
    })
}
