//! `generic` and `generic-hmac`: the event itself, with headers of the user's, signed if asked (NTF-57, NTF-58).

use hmac::{Hmac, KeyInit, Mac};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use sha2::Sha256;
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address, message::secret_header};
use crate::event::Event;

const COMPONENT: HeaderName = HeaderName::from_static("gotk-component");
const SIGNATURE: HeaderName = HeaderName::from_static("x-signature");
/// Headers that belong to the connection, which the user may not set (NTF-125).
const CONNECTION_HEADERS: [HeaderName; 7] =
    [HOST, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING, TE, TRAILER, UPGRADE];

pub(super) struct Generic {
    url: Url,
    headers: HeaderMap,
    key: Option<Vec<u8>>,
}

impl Generic {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::parse(&settings.address).map_err(|reason| {
            InitError::Address(format!("invalid hook URL {}: {reason}", settings.address))
        })?;
        Ok(Self { url, headers: user_headers(settings)?, key: None })
    }

    pub(super) fn signed(settings: &Settings) -> Result<Self, InitError> {
        let generic = Self::new(settings)?;
        if settings.hmac_key.is_empty() {
            return Err(InitError::HmacKey);
        }
        Ok(Self { key: Some(settings.hmac_key.clone()), ..generic })
    }
}

impl Notifier for Generic {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let component = HeaderValue::from_str(&event.reporting_controller)
            .map_err(|_| RenderError::Header(COMPONENT.to_string()))?;
        let mut message = Message::post_bytes(&self.url, event.to_bytes()).with(COMPONENT, component);
        for (name, value) in &self.headers {
            message = message.with(name.clone(), value.clone());
        }
        // Last, so that a header of the user's cannot take the place of the signature.
        if let Some(signature) = self.key.as_deref().and_then(|key| signature(key, &message.body)) {
            message = message.with(SIGNATURE, signature);
        }
        Ok(message.into())
    }
}

fn signature(key: &[u8], body: &[u8]) -> Option<HeaderValue> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(body);
    HeaderValue::from_str(&format!("sha256={}", hex::encode(mac.finalize().into_bytes()))).ok()
}

/// Returns the headers that the user sets, except those of the connection.
pub(super) fn user_headers(settings: &Settings) -> Result<HeaderMap, InitError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let bad = || InitError::Header(name.chars().filter(|c| !c.is_control()).collect());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if !CONNECTION_HEADERS.contains(&header) {
            headers.insert(header, secret_header(value).ok_or_else(bad)?);
        }
    }
    Ok(headers)
}
