//! `opsgenie`: an alert whose alias joins repeats (NTF-64).

use http::HeaderValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::Event;

pub(super) struct Opsgenie {
    url: Url,
    provider_uid: String,
    authorization: Option<HeaderValue>,
}

impl Opsgenie {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("Opsgenie hook", &settings.address)?;
        if settings.token.is_empty() {
            return Err(InitError::Token("empty Opsgenie apikey/token"));
        }
        let authorization = settings.authorization("GenieKey ", &settings.token)?;
        Ok(Self { url, provider_uid: settings.provider_uid.clone(), authorization })
    }
}

impl Notifier for Opsgenie {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let payload = payload(event, &self.provider_uid);
        Ok(Message::post_json(&self.url, &payload).authorized(self.authorization.as_ref()).into())
    }
}

fn payload(event: &Event, provider_uid: &str) -> Value {
    let object = &event.involved_object;
    let mut details: Map<String, Value> =
        event.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    details.insert("severity".into(), event.severity.clone().into());
    let identity = format!("{provider_uid}/{}/{}", object.path(), event.reason);
    json!({
        "message": format!("{}/{}", object.kind, object.name),
        "alias": hex::encode(Sha256::digest(identity)),
        "description": event.message,
        "details": details,
    })
}
