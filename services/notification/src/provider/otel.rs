//! `otel`: one span for each event, sent as OTLP over HTTP. All events of one revision form one trace (NTF-66 … NTF-68).

mod otlp;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use jiff::Timestamp;
use prost::Message as _;
use rand::random;
use sha2::{Digest, Sha256};
use url::Url;

use self::otlp::{Attribute, Export, Resource, ResourceSpans, Scope, ScopeSpans, Span, Status};
use super::generic::user_headers;
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::{Event, ObjectReference};

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
/// Path that an address without one gets.
const TRACES: &str = "/v1/traces";
const SCOPE: &str = "flux:notification-controller";
/// Schema whose names the attributes of the resource have.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.34.0";
/// Kind without spans: an index of charts is no part of a deployment.
const LEFT_OUT: &str = "HelmRepository";

pub(super) struct Otel {
    url: Url,
    headers: HeaderMap,
    alert: ObjectReference,
    now: Timestamp,
}

impl Otel {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let url = address::hook("OTLP", &settings.address)?;
        let path = if url.path() == "/" { TRACES } else { url.path() };
        let url = address::with_path(&url, path);
        let mut headers = user_headers(settings)?;
        if let (None, Some(value)) = (headers.get(AUTHORIZATION), authorization(settings)?) {
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { url, headers, alert: settings.alert.clone(), now: settings.now })
    }

    fn export(&self, event: &Event) -> Export {
        let ObjectReference { namespace, name, uid, .. } = &self.alert;
        let resource = Resource {
            attributes: vec![
                Attribute::text("service.instance.id", uid),
                Attribute::text("service.name", &format!("{namespace}/{name}")),
                Attribute::text("service.namespace", namespace),
            ],
        };
        let scope = Some(Scope { name: SCOPE.to_owned() });
        let spans = vec![span(event, trace_id(uid, event), random(), self.now)];
        let scope_spans = vec![ScopeSpans { scope, spans }];
        let schema_url = SCHEMA.to_owned();
        Export { resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans, schema_url }] }
    }
}

impl Notifier for Otel {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.involved_object.kind == LEFT_OUT {
            return Ok(Delivery::Nothing);
        }
        let mut message = Message::post_bytes(&self.url, self.export(event).encode_to_vec());
        for (name, value) in &self.headers {
            message = message.with(name.clone(), value.clone());
        }
        Ok(message.with(CONTENT_TYPE, PROTOBUF).failing_with("failed to upload traces: ").into())
    }
}

/// Returns the header for the token, or for user and token, or for user and password (NTF-68).
fn authorization(settings: &Settings) -> Result<Option<HeaderValue>, InitError> {
    let token = settings.token_or_password();
    if settings.username.is_empty() || token.is_empty() {
        return settings.authorization("Bearer ", token);
    }
    let pair = BASE64_STANDARD.encode(format!("{}:{token}", settings.username));
    settings.authorization("Basic ", &pair)
}

/// Returns the id of the trace that holds all events of one revision and one Alert (NTF-66).
fn trace_id(alert_uid: &str, event: &Event) -> Vec<u8> {
    let fact = |key: &str| event.metadata.get(key).map(String::as_str);
    let revision = match (fact("app-version"), fact("oci-digest")) {
        (Some(version), Some(digest)) => format!("{version}@{digest}"),
        _ => fact("revision").unwrap_or("unknown").to_owned(),
    };
    let mut id = Sha256::digest(format!("{alert_uid}:{revision}")).to_vec();
    id.truncate(16);
    id
}

fn span(event: &Event, trace_id: Vec<u8>, id: [u8; 8], now: Timestamp) -> Span {
    let object = &event.involved_object;
    let own = [
        ("object.uid", &object.uid),
        ("object.kind", &object.kind),
        ("object.name", &object.name),
        ("object.namespace", &object.namespace),
    ];
    let own = own.map(|(name, value)| Attribute::text(name, value));
    let more = event.metadata.iter().map(|(name, value)| Attribute::text(name, value));
    Span {
        trace_id,
        span_id: id.to_vec(),
        name: format!("{}: {}/{}", object.kind, object.namespace, object.name),
        kind: otlp::INTERNAL,
        start: nanoseconds(event.timestamp.unwrap_or(now)),
        end: nanoseconds(now),
        attributes: own.into_iter().chain(more).collect(),
        status: Some(if event.is_error() {
            Status { message: event.message.clone(), code: otlp::ERROR }
        } else {
            Status { message: String::new(), code: otlp::OK }
        }),
        flags: otlp::SAMPLED_BELOW_REMOTE,
    }
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
