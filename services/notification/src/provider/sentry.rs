//! `sentry`: a failure is sent as an event of Sentry, news as a transaction, each in an envelope of its own (spec 5.8).

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use rand::random;
use serde_json::{Map, Value, json};
use url::Url;

use super::{Delivery, InitError, Message, Notifier, RenderError, Settings, message::secret_header};
use crate::event::{Event, SEVERITY_ERROR, SEVERITY_INFO, json};

const AUTHORIZATION: HeaderName = HeaderName::from_static("x-sentry-auth");
const ENVELOPE: HeaderValue = HeaderValue::from_static("application/x-sentry-envelope");
const CLIENT: &str = "weir";

pub(super) struct Sentry {
    url: Url,
    authorization: HeaderValue,
    environment: String,
    host: String,
}

impl Sentry {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.address.is_empty() {
            return Err(InitError::Address("DSN cannot be empty".to_owned()));
        }
        let (url, key) = endpoint(&settings.address)
            .map_err(|reason| InitError::Address(format!("[Sentry] DsnParseError: {reason}")))?;
        let authorization =
            format!("Sentry sentry_version=7, sentry_client={CLIENT}/{}, {key}", env!("CARGO_PKG_VERSION"));
        let authorization =
            secret_header(&authorization).ok_or_else(|| InitError::Header(AUTHORIZATION.to_string()))?;
        Ok(Self { url, authorization, environment: settings.channel.clone(), host: settings.host.clone() })
    }
}

/// Returns the URL that takes envelopes, and the keys in the form of the header, of a DSN:
/// `https://<public>[:<secret>]@<host>/[<path>/]<project>`.
fn endpoint(dsn: &str) -> Result<(Url, String), &'static str> {
    let mut url = Url::parse(dsn).map_err(|_| "invalid scheme")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("invalid scheme");
    }
    if url.username().is_empty() {
        return Err("empty username");
    }
    let mut key = format!("sentry_key={}", url.username());
    if let Some(secret) = url.password().filter(|secret| !secret.is_empty()) {
        key = format!("{key}, sentry_secret={secret}");
    }
    let (path, project) = url.path().rsplit_once('/').unwrap_or_default();
    if project.is_empty() {
        return Err("empty project id");
    }
    let path = format!("{path}/api/{project}/envelope/");
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for a URL without a host, and http has one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok((url, key))
}

impl Notifier for Sentry {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let (kind, payload) = match event.severity.as_str() {
            SEVERITY_ERROR => ("event", failure(event)),
            SEVERITY_INFO => ("transaction", transaction(event, &self.host, random(), random())),
            _ => return Ok(Delivery::Nothing),
        };
        let id = hex::encode(random::<[u8; 16]>());
        let payload = json::with(payload, "event_id", Some(id.clone()));
        let environment = Some(self.environment.clone()).filter(|name| !name.is_empty());
        let payload = json::to_bytes(&json::with(payload, "environment", environment));
        let head = json::to_bytes(&json!({"event_id": id, "sdk": {"name": CLIENT}}));
        let item = json::to_bytes(&json!({"type": kind, "length": payload.len()}));
        let message = Message::post_bytes(&self.url, [head, item, payload].join(&b'\n'))
            .with(CONTENT_TYPE, ENVELOPE)
            .with(AUTHORIZATION, self.authorization.clone());
        Ok(message.failing_with("failed to send event to Sentry: ").into())
    }
}

fn name(event: &Event) -> String {
    let object = &event.involved_object;
    format!("{}: {}/{}", object.kind, object.namespace, object.name)
}

fn failure(event: &Event) -> Value {
    json!({
        "level": SEVERITY_ERROR,
        "timestamp": event.timestamp_text(),
        "platform": "other",
        "server_name": event.reporting_controller,
        "transaction": name(event),
        "contexts": {"metadata": event.metadata},
        "message": event.message,
    })
}

fn transaction(event: &Event, host: &str, trace: [u8; 16], span: [u8; 8]) -> Value {
    let object = &event.involved_object;
    let own = [
        ("flux_involved_object_kind", &object.kind),
        ("flux_involved_object_namespace", &object.namespace),
        ("flux_involved_object_name", &object.name),
        ("flux_reporting_controller", &event.reporting_controller),
        ("flux_reporting_instance", &event.reporting_instance),
        ("flux_reason", &event.reason),
    ];
    let own = own.map(|(key, value)| (key.to_owned(), Value::from(value.clone())));
    let more = event.metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.clone())));
    let tags: Map<String, Value> = own.into_iter().chain(more).collect();
    let time = event.timestamp_text();
    let context = json!({"trace_id": hex::encode(trace), "span_id": hex::encode(span), "op": "event"});
    let mut span = context.clone();
    for (key, value) in [("tags", json!(tags)), ("start_timestamp", json!(time)), ("timestamp", json!(time))]
    {
        span = json::with(span, key, Some(value));
    }
    json!({
        "type": "transaction",
        "transaction": name(event),
        "message": event.message,
        "level": SEVERITY_INFO,
        "platform": "other",
        "server_name": host,
        "contexts": {"trace": context},
        "tags": tags,
        "timestamp": time,
        "start_timestamp": time,
        "spans": [span],
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "https://key@o1.ingest.example/42",
        "https://o1.ingest.example/api/42/envelope/",
        "sentry_key=key"
    )]
    #[case(
        "http://key:secret@h:9000/a/b/42?x=1",
        "http://h:9000/a/b/api/42/envelope/",
        "sentry_key=key, sentry_secret=secret"
    )]
    fn endpoints(#[case] dsn: &str, #[case] url: &str, #[case] key: &str) {
        assert_eq!(endpoint(dsn), Ok((url.parse().unwrap(), key.to_owned())));
    }

    #[rstest]
    #[case("hello", "invalid scheme")]
    #[case("ftp://key@h/1", "invalid scheme")]
    #[case("https://h/1", "empty username")]
    #[case("https://key@h", "empty project id")]
    #[case("https://key@h/a/", "empty project id")]
    fn refused(#[case] dsn: &str, #[case] reason: &str) {
        assert_eq!(endpoint(dsn).err(), Some(reason));
    }
}
