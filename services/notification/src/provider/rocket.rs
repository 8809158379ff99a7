//! `rocket`: Rocket.Chat's incoming webhook, which takes Slack's format.

use url::Url;

use super::slack::{Look, payload};
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::Event;

pub(super) struct Rocket {
    url: Url,
    channel: String,
    username: String,
}

impl Rocket {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("Rocket hook", &settings.address)?;
        Ok(Self { url, channel: settings.channel.clone(), username: settings.username.clone() })
    }
}

impl Notifier for Rocket {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let look = Look {
            // An empty name is allowed: the service then shows the webhook's own.
            username: &self.username,
            channel: &self.channel,
            fallback: String::new(),
            color: if event.is_error() { "#FF0000" } else { "#0076D7" },
        };
        Ok(Message::post_json(&self.url, &payload(event, &look)).into())
    }
}
