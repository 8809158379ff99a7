//! `discord`: its Slack-compatible endpoint.

use url::Url;

use super::slack::{Look, payload};
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, text::shortened};

/// Characters of the texts of a message: Discord refuses longer ones.
const MAX_TEXTS: usize = 4096;

pub(super) struct Discord {
    url: Url,
    username: String,
}

impl Discord {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let mut url = address::hook("Discord hook", &settings.address)?;
        if !settings.address.ends_with("/slack") {
            url.set_path(&format!("{}/slack", url.path().trim_end_matches('/')));
        }
        Ok(Self { url, username: settings.username.clone() })
    }
}

impl Notifier for Discord {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        // The channel is part of the webhook, a name in the payload would be refused.
        let look = Look { fallback: String::new(), ..Look::slack(event, &self.username, "") };
        let event = shortened(event, MAX_TEXTS, char::len_utf16);
        Ok(Message::post_json(&self.url, &payload(&event, &look)).into())
    }
}
