//! Event model: decoding, byte-exact encoding, metadata rules, words.

use std::collections::BTreeMap;

use rstest::rstest;

use super::*;

fn event(metadata: &[(&str, &str)]) -> Event {
    Event {
        involved_object: ObjectReference {
            kind: "Kustomization".into(),
            namespace: "apps".into(),
            name: "web".into(),
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            ..Default::default()
        },
        metadata: metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..Default::default()
    }
}

#[test]
fn encoding_keeps_the_order_of_keys_and_escapes_as_go_does() {
    let mut event = event(&[("b", "2"), ("a", "<1>")]);
    event.severity = "info".into();
    event.message = "a & b\u{2028}\"q\"\u{1}".into();
    event.timestamp = Some("2022-09-30T08:40:29.987+02:00".parse().unwrap());
    insta::assert_snapshot!(String::from_utf8(event.to_bytes()).unwrap(), @r#"{"involvedObject":{"kind":"Kustomization","namespace":"apps","name":"web","apiVersion":"kustomize.toolkit.fluxcd.io/v1"},"severity":"info","timestamp":"2022-09-30T06:40:29Z","message":"a \u0026 b\u2028\"q\"\u0001","reason":"","metadata":{"a":"\u003c1\u003e","b":"2"},"reportingController":""}"#);
}

#[rstest]
#[case::empty_object("{}", true)]
#[case::nulls(r#"{"timestamp":null,"metadata":null,"message":null,"involvedObject":null}"#, true)]
#[case::null_value(r#"{"metadata":{"a":null}}"#, true)]
#[case::unknown_key(r#"{"more":[1,{"x":2}]}"#, true)]
#[case::fraction(r#"{"timestamp":"2026-01-02T03:04:05.678+02:00"}"#, true)]
#[case::empty("", false)]
#[case::broken("{", false)]
#[case::array("[]", false)]
#[case::object_as_array(r#"{"involvedObject":[]}"#, false)]
#[case::wrong_type(r#"{"severity":1}"#, false)]
#[case::wrong_value_type(r#"{"metadata":{"a":1}}"#, false)]
#[case::no_time(r#"{"timestamp":"x"}"#, false)]
fn decoding_is_lenient_about_keys_and_strict_about_types(#[case] body: &str, #[case] good: bool) {
    assert_eq!(Event::from_slice(body.as_bytes()).is_ok(), good);
}

#[test]
fn security_nesting_deep_json_is_refused_without_a_crash() {
    let body = format!("{}{}", "{\"x\":".repeat(100_000), "}".repeat(100_000));
    assert!(Event::from_slice(body.as_bytes()).is_err());
}

#[test]
fn receipt_keeps_own_and_user_keys_without_digests() {
    let mut event = event(&[
        ("kustomize.toolkit.fluxcd.io/revision", "r"),
        ("kustomize.toolkit.fluxcd.io/aa/bb", "sub"),
        ("kustomize.toolkit.fluxcd.io/CheckSum", "x"),
        ("kustomize.toolkit.fluxcd.io/digest", "x"),
        ("event.toolkit.fluxcd.io/team", "a"),
        ("source.toolkit.fluxcd.io/revision", "other group"),
        ("plain", "no"),
    ]);
    metadata::clean(&mut event);
    let keys: Vec<&str> = event.metadata.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "event.toolkit.fluxcd.io/team",
            "kustomize.toolkit.fluxcd.io/aa/bb",
            "kustomize.toolkit.fluxcd.io/revision"
        ]
    );
}

#[test]
fn metadata_of_the_controller_wins_and_conflicts_are_named() {
    let event = event(&[
        ("kustomize.toolkit.fluxcd.io/revision", "controller"),
        ("event.toolkit.fluxcd.io/team", "object"),
        ("event.toolkit.fluxcd.io/summary", "object"),
    ]);
    let added = BTreeMap::from([("team", "alert"), ("revision", "alert"), ("env", "prod")])
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let combined = metadata::combine(&event, &added, "spec");
    insta::assert_debug_snapshot!(combined, @r#"
    Combined {
        metadata: {
            "env": "prod",
            "revision": "controller",
            "summary": "spec",
            "team": "alert",
        },
        conflicts: {
            "revision": "Alert object .spec.eventMetadata, involved object controller metadata",
            "summary": "involved object annotations, Alert object .spec.summary",
            "team": "involved object annotations, Alert object .spec.eventMetadata",
        },
    }
    "#);
}

#[rstest]
#[case("ReconciliationSucceeded", "reconciliation succeeded")]
#[case("HTTPError404", "http error 404")]
#[case("ABCThingDone", "abc thing done")]
#[case("lower", "lower")]
#[case("UPPER", "upper")]
#[case("A", "a")]
#[case("aB", "a b")]
#[case("Some_Reason", "some _ reason")]
#[case("", "")]
fn reason_is_split_at_camel_case_borders(#[case] reason: &str, #[case] words: &str) {
    assert_eq!(text::reason_in_words(reason), words);
}
