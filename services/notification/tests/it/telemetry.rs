//! Sentry and OTLP: the requests as a server gets them, and failures that are reported, not swallowed as in Flux (NTF-68).

use std::time::Duration;

use http::StatusCode;
use rstest::rstest;
use weir_http::Profile;
use weir_notification_controller::delivery::{Retry, Sender};
use weir_notification_controller::event::Event;
use weir_notification_controller::provider::{Settings, build};
use weir_testkit::WebhookSink;

const QUICK: Retry = Retry { first: Duration::from_millis(10) };

async fn deliver(kind: &str, address: &str) -> Result<(), String> {
    weir_runtime::service::install_crypto();
    let settings = Settings {
        provider_type: kind.to_owned(),
        address: address.to_owned(),
        username: "user".to_owned(),
        password: "sesame9".to_owned(),
        ..Settings::default()
    };
    let event = Event { severity: "error".to_owned(), message: "it failed".to_owned(), ..Event::default() };
    let delivery = build(&settings).unwrap().render(&event).unwrap();
    let sent = Sender::new(QUICK).deliver(delivery, &Profile::default(), Duration::from_secs(10)).await;
    sent.map_err(|error| error.to_string())
}

fn dsn(sink: &WebhookSink) -> String {
    sink.url("/42").replace("http://", "http://key@")
}

#[tokio::test]
async fn sentry_gets_an_envelope_of_three_lines() {
    let sink = WebhookSink::start().await.unwrap();
    deliver("sentry", &dsn(&sink)).await.unwrap();
    let [request] = sink.requests().try_into().unwrap();
    assert_eq!(request.path, "/api/42/envelope/");
    assert!(request.header("x-sentry-auth").ends_with(", sentry_key=key"));
    let text = request.text();
    let lines: Vec<&str> = text.split('\n').collect();
    let [_, item, payload] = lines.as_slice() else { panic!("{text}") };
    let item: serde_json::Value = serde_json::from_str(item).unwrap();
    assert_eq!((item["type"].as_str(), item["length"].as_u64()), (Some("event"), Some(payload.len() as u64)));
}

#[tokio::test]
async fn a_collector_gets_a_span() {
    let sink = WebhookSink::start().await.unwrap();
    deliver("otel", &sink.url("")).await.unwrap();
    let [request] = sink.requests().try_into().unwrap();
    assert_eq!((request.path.as_str(), request.method.as_str()), ("/v1/traces", "POST"));
    assert_eq!(request.header("content-type"), "application/x-protobuf");
    assert_eq!(request.header("authorization"), "Basic dXNlcjpzZXNhbWU5");
    assert!(request.body.windows(9).any(|part| part == b"it failed"));
}

#[rstest]
#[case("sentry", "failed to send event to Sentry: ")]
#[case("otel", "failed to upload traces: ")]
#[tokio::test]
async fn failures_are_reported(#[case] kind: &str, #[case] prefix: &str) {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer(StatusCode::FORBIDDEN);
    let address = if kind == "sentry" { dsn(&sink) } else { sink.url("") };
    let expected = format!("{prefix}request failed: request failed with status code 403: ");
    assert_eq!(deliver(kind, &address).await, Err(expected));
}
