//! `matrix`: a text message to a room; the transaction id makes a repeated request harmless.

use http::{HeaderValue, Method};
use percent_encoding::{percent_decode_str, percent_encode};
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use url::Url;

use super::{
    Delivery, InitError, Message, Notifier, RenderError, Settings,
    address::{self, SEGMENT},
    message::secret_header,
};
use crate::event::{Event, text::object_title};

pub(super) struct Matrix {
    url: Url,
    room: String,
    authorization: HeaderValue,
}

impl Matrix {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("Matrix homeserver", &settings.address)?;
        let authorization = secret_header(format!("Bearer {}", settings.token).trim_end())
            .ok_or_else(|| InitError::Header("Authorization".into()))?;
        Ok(Self { url, room: settings.channel.clone(), authorization })
    }
}

impl Notifier for Matrix {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let transaction = hex::encode(Sha1::digest(event.to_bytes()));
        let base = self.url.path().trim_end_matches('/');
        // In Flux the room goes into the path as it is, so that people have encoded it themselves.
        let room = percent_decode_str(&self.room).collect::<Vec<u8>>();
        let room = percent_encode(&room, SEGMENT);
        let path = format!("{base}/_matrix/client/r0/rooms/{room}/send/m.room.message/{transaction}");
        let url = address::with_path(&self.url, &path);
        let mut message = Message::post_json(&url, &payload(event)).authorized(Some(&self.authorization));
        message.method = Method::PUT;
        Ok(message.into())
    }
}

fn payload(event: &Event) -> Value {
    let emoji = if event.is_error() { "🚨" } else { "💫" };
    let mut text = format!("{emoji} {}\n{}\n", object_title(&event.involved_object), event.message);
    for (key, value) in &event.metadata {
        text.push_str(&format!("- {key}: {value}\n"));
    }
    json!({"body": text, "msgtype": "m.text"})
}
