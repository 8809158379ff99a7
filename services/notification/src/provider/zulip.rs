//! `zulip`: a form post to a channel's topic.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use url::{Url, form_urlencoded};

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, text::markdown};

pub(super) struct Zulip {
    url: Url,
    channel: String,
    topic: String,
    authorization: Option<HeaderValue>,
}

impl Zulip {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address)
            .map_err(|reason| InitError::Address(format!("invalid Zulip endpoint URL: {reason}")))?;
        let (channel, topic) = match settings.channel.split_once('/') {
            Some((channel, topic)) if !channel.is_empty() && !topic.is_empty() => (channel, topic),
            _ => {
                let text = "invalid Zulip channel format, expected <channel>/<topic>, got";
                return Err(InitError::Channel(format!("{text} '{}'", settings.channel)));
            }
        };
        Ok(Self {
            url: address::with_path(&url, "/api/v1/messages"),
            channel: channel.to_owned(),
            topic: topic.to_owned(),
            authorization: settings.basic()?,
        })
    }
}

impl Notifier for Zulip {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let content = markdown(event);
        let form =
            [("content", &*content), ("to", &self.channel), ("topic", &self.topic), ("type", "stream")];
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let message = Message::post_bytes(&self.url, body.into_bytes())
            .with(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .authorized(self.authorization.as_ref())
            .failing_with("");
        Ok(message.into())
    }
}
