//! `zulip`: a form post to a channel's topic.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use url::Url;

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
        let mut url = address::parse(&settings.address)
            .map_err(|reason| InitError::Address(format!("invalid Zulip endpoint URL: {reason}")))?;
        let (channel, topic) = match settings.channel.split_once('/') {
            Some((channel, topic)) if !channel.is_empty() && !topic.is_empty() => (channel, topic),
            _ => {
                let text = "invalid Zulip channel format, expected <channel>/<topic>, got";
                return Err(InitError::Channel(format!("{text} '{}'", settings.channel)));
            }
        };
        url.set_path("/api/v1/messages");
        Ok(Self {
            url,
            channel: channel.to_owned(),
            topic: topic.to_owned(),
            authorization: settings.basic_of_either()?,
        })
    }
}

impl Notifier for Zulip {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let content = markdown(event);
        let form =
            [("type", "stream"), ("to", &*self.channel), ("topic", &*self.topic), ("content", &*content)];
        let body = address::encode_pairs(form.map(|(key, value)| (key.into(), value.into())).into());
        let message = Message::post_bytes(&self.url, body.into_bytes())
            .with(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .authorized(self.authorization.as_ref())
            .failing_with("");
        Ok(message.into())
    }
}
