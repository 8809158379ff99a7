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
#[case::null(" null ", true)]
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

/// NTF-3: times that Go takes, and the whole seconds that it makes of them.
#[rstest]
#[case("2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\"")]
#[case("2026-01-02T03:04:05.678+02:00", "\"2026-01-02T01:04:05Z\"")]
#[case("2026-01-02T03:04:05,5Z", "\"2026-01-02T03:04:05Z\"")]
#[case("2026-01-02T03:04:05.1234567890123Z", "\"2026-01-02T03:04:05Z\"")]
#[case("2026-01-02T3:04:05Z", "\"2026-01-02T03:04:05Z\"")]
#[case("2026-01-02T03:04:05-00:00", "\"2026-01-02T03:04:05Z\"")]
#[case("2026-01-02T03:04:05+24:00", "\"2026-01-01T03:04:05Z\"")]
#[case("2026-01-02T03:04:05+23:60", "\"2026-01-01T03:04:05Z\"")]
#[case("2024-02-29T00:00:00Z", "\"2024-02-29T00:00:00Z\"")]
#[case("1969-01-02T03:04:05Z", "\"1969-01-02T03:04:05Z\"")]
#[case("0000-01-01T00:00:00Z", "\"0000-01-01T00:00:00Z\"")]
#[case("0001-01-01T00:00:00Z", "null")]
#[case("9999-01-02T03:04:05Z", "\"9999-01-02T03:04:05Z\"")]
// Beyond the library's range.
#[case("9999-12-31T23:59:59Z", "\"9999-12-30T22:00:00Z\"")]
#[case("9999-12-31T23:59:59-01:00", "\"9999-12-30T22:00:00Z\"")]
fn times_are_those_of_go(#[case] text: &str, #[case] encoded: &str) {
    let event = Event::from_slice(format!(r#"{{"timestamp":"{text}"}}"#).as_bytes()).unwrap();
    let bytes = String::from_utf8(event.to_bytes()).unwrap();
    assert!(bytes.contains(&format!(r#""timestamp":{encoded},"#)), "{bytes}");
}

/// NTF-3: times that Go refuses.
#[rstest]
#[case::leap_second("2026-12-31T23:59:60Z")]
#[case::lower_case("2026-01-02t03:04:05Z")]
#[case::lower_case_zone("2026-01-02T03:04:05z")]
#[case::blank("2026-01-02 03:04:05Z")]
#[case::one_digit_minute("2026-01-02T03:4:05Z")]
#[case::one_digit_month("2026-1-02T03:04:05Z")]
#[case::fraction_without_digits("2026-01-02T03:04:05.Z")]
#[case::offset_without_colon("2026-01-02T03:04:05+0100")]
#[case::offset_of_hours("2026-01-02T03:04:05+01")]
#[case::offset_with_seconds("2026-01-02T03:04:05+01:00:30")]
#[case::large_offset("2026-01-02T03:04:05+25:00")]
#[case::no_zone("2026-01-02T03:04:05")]
#[case::date("2026-01-02")]
#[case::empty("")]
#[case::no_such_day("2026-02-29T00:00:00Z")]
#[case::no_such_hour("2026-01-02T24:00:00Z")]
#[case::no_such_month("2026-13-02T00:00:00Z")]
#[case::zone_name("2026-01-02T03:04:05Z[UTC]")]
#[case::signed_year("+002026-01-02T03:04:05Z")]
#[case::long_year("10000-01-01T00:00:00Z")]
#[case::no_marks("20260102T030405Z")]
#[case::no_seconds("2026-01-02T03:04Z")]
#[case::white_space(" 2026-01-02T03:04:05Z")]
fn times_that_go_refuses(#[case] text: &str) {
    assert!(Event::from_slice(format!(r#"{{"timestamp":"{text}"}}"#).as_bytes()).is_err());
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
