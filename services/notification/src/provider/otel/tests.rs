use rstest::rstest;

use super::otlp::{ERROR, OK};
use super::*;
use crate::provider::tests::event;

fn settings(address: &str) -> Settings {
    let alert = ObjectReference {
        namespace: "apps".into(),
        name: "all".into(),
        uid: "test-alert-uid".into(),
        ..ObjectReference::default()
    };
    let now = "2026-01-02T03:04:06Z".parse().unwrap();
    Settings { address: address.to_owned(), alert, now, ..Settings::default() }
}

fn sent(settings: &Settings, event: &Event) -> (Message, Export) {
    let Delivery::Messages(messages) = Otel::new(settings).unwrap().render(event).unwrap() else { panic!() };
    let [message] = messages.try_into().ok().unwrap();
    let export = Export::decode(message.body.as_slice()).unwrap();
    (message, export)
}

/// NTF-66, with the vector of the specification.
#[rstest]
#[case(&[], "3eaf3a945a299ef553aea7b5bdcec0d6")]
#[case(&[("revision", "unknown")], "3eaf3a945a299ef553aea7b5bdcec0d6")]
#[case(&[("app-version", "unknown"), ("revision", "unknown")], "3eaf3a945a299ef553aea7b5bdcec0d6")]
#[case(&[("app-version", "1.0"), ("oci-digest", "sha256:a"), ("revision", "unknown")], "3772e3212e1362d7530544ab12026b1e")]
fn all_events_of_one_revision_share_a_trace(#[case] facts: &[(&str, &str)], #[case] expected: &str) {
    let metadata = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let id = trace_id("test-alert-uid", &Event { metadata, ..event("info") });
    assert_eq!(hex::encode(id), expected);
}

#[rstest]
#[case("https://h", "https://h/v1/traces")]
#[case("http://h:4318/?x=1", "http://h:4318/v1/traces")]
#[case("https://h/otlp/x?y#z", "https://h/otlp/x")]
fn addresses(#[case] address: &str, #[case] url: &str) {
    assert_eq!(sent(&settings(address), &event("info")).0.url.as_str(), url);
}

/// NTF-68, without Flux's faults.
#[rstest]
#[case("", "", "t", None, "Bearer t")]
#[case("", "p", "", None, "Bearer p")]
#[case("u", "p", "", None, "Basic dTpw")]
#[case("u", "p", "t", None, "Basic dTp0")]
#[case("u", "p", "t", Some("Custom x"), "Custom x")]
#[case("u", "", "", None, "")]
fn credentials(
    #[case] username: &str,
    #[case] password: &str,
    #[case] token: &str,
    #[case] header: Option<&str>,
    #[case] expected: &str,
) {
    let header = header.map(|value| ("authorization".to_owned(), value.to_owned()));
    let settings = Settings {
        username: username.to_owned(),
        password: password.to_owned(),
        token: token.to_owned(),
        headers: header.into_iter().chain([("X-Scope".to_owned(), "1".to_owned())]).collect(),
        ..settings("https://h")
    };
    let (message, _) = sent(&settings, &event("info"));
    let value = message.headers.get(AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
    assert_eq!((value, message.headers["x-scope"].to_str().unwrap()), (expected, "1"));
}

#[rstest]
#[case("info", OK, "")]
#[case("error", ERROR, "it <b>failed</b>\nsecond \"line\"")]
fn spans(#[case] severity: &str, #[case] code: i32, #[case] message: &str) {
    let (request, export) = sent(&settings("https://h"), &event(severity));
    assert_eq!(request.headers[CONTENT_TYPE], "application/x-protobuf");
    let [of_resource] = export.resource_spans.try_into().unwrap();
    let of_alert = [
        ("service.instance.id", "test-alert-uid"),
        ("service.name", "apps/all"),
        ("service.namespace", "apps"),
    ];
    assert_eq!(texts(&of_resource.resource.unwrap().attributes), of_alert);
    let [of_scope] = of_resource.scope_spans.try_into().unwrap();
    assert_eq!(of_scope.scope.unwrap().name, "flux:notification-controller");
    let [span] = of_scope.spans.try_into().unwrap();
    assert_eq!((span.span_id.len(), span.kind, span.flags), (8, otlp::INTERNAL, 0x301));
    assert_eq!((span.start, span.end), (1_767_323_045_000_000_000, 1_767_323_046_000_000_000));
    assert_eq!(span.status, Some(Status { message: message.to_owned(), code }));
    assert_eq!(span.name, "Kustomization: flux-system/web");
    let of_event = [
        ("object.uid", "7d0cdc51-ddcf-4743-b223-83ca5c699632"),
        ("object.kind", "Kustomization"),
        ("object.name", "web"),
        ("object.namespace", "flux-system"),
        ("change_request", "12"),
        ("revision", "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e736"),
        ("summary", "short"),
    ];
    assert_eq!(texts(&span.attributes), of_event);
}

fn texts(attributes: &[Attribute]) -> Vec<(&str, &str)> {
    attributes.iter().map(|one| (one.key.as_str(), one.value.as_ref().unwrap().text.as_str())).collect()
}

#[test]
fn helm_repositories_are_left_out() {
    let mut event = event("info");
    event.involved_object.kind = "HelmRepository".to_owned();
    let delivery = Otel::new(&settings("https://h")).unwrap().render(&event).unwrap();
    assert!(matches!(delivery, Delivery::Nothing));
}
