//! Indexes as repositories serve them, and what is stored of them.

use std::io::{Cursor, Read, Seek};

use rstest::rstest;
use serde_json::{Value, json};
use weir_helm::index::{Converted, IndexError, convert, releases};

fn converted(raw: &str) -> Result<(Converted, String), IndexError> {
    let mut out = tempfile::tempfile().unwrap();
    let converted = convert(Cursor::new(raw), &mut out)?;
    out.rewind().unwrap();
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    Ok((converted, text))
}

const YAML: &str = r#"
# Made by hand.
apiVersion: v1
entries:
  app:
  - name: app
    version: 1.0.0
    appVersion: 1.10
    description: |
      Two
      lines: of text
    annotations: {a: "1"}
    unknown: {x: [1, 2]}
    urls: [app-1.0.0.tgz]
  - {name: app, version: 1.10.0, apiVersion: v2, created: 2026-01-01T00:00:00.5Z, digest: abc, urls: ["https://h/a 😀.tgz"], dependencies: [{name: b}, {name: b}]}
  - {name: app, version: not-semver}
  - {name: app}
  - null
  none: null
  empty: []
generated: "2026-01-01T00:00:00Z"
"#;

#[test]
fn yaml_becomes_sorted_json() {
    let (converted, text) = converted(YAML).unwrap();
    assert_eq!(converted, Converted { charts: 3, releases: 2, dropped: 2 });
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["apiVersion"], "v1");
    assert_eq!(json["entries"]["none"], Value::Null);
    assert_eq!(json["entries"]["empty"], json!([]));
    let app = &json["entries"]["app"];
    assert_eq!(app[0]["version"], "1.10.0");
    assert_eq!(app[1]["apiVersion"], "v1");
    assert_eq!(app[1]["appVersion"], "1.10");
    assert_eq!(app[1]["created"], "0001-01-01T00:00:00Z");
    assert_eq!(app[1]["description"], "Two lines: of text ");
    assert!(app[1].get("unknown").is_none());
    assert!(
        text.starts_with("{\n  \"entries\": {\n    \"app\": [\n      {\n        \"name\": \"app\""),
        "{text}"
    );
}

/// HRP-6.
#[test]
fn what_stands_beside_the_charts_is_kept() {
    let raw = "apiVersion: v1\nserverInfo: {contextPath: /v1}\npublicKeys: [k1, k2]\nannotations: {a: \"1\", b: null}\n";
    let (_, text) = converted(raw).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["serverInfo"], json!({"contextPath": "/v1"}));
    assert_eq!(json["publicKeys"], json!(["k1", "k2"]));
    assert_eq!(json["annotations"], json!({"a": "1", "b": null}));
    assert!(text.ends_with("    \"b\": null\n  }\n}"), "{text}");
}

#[test]
fn json_gives_the_same_as_yaml() {
    let (_, from_yaml) = converted(YAML).unwrap();
    let (_, again) = converted(&from_yaml).unwrap();
    assert_eq!(again, from_yaml);
    let (_, surrogates) = converted(r#"{"apiVersion":"v1","entries":{"a":[{"name":"a","version":"1.0.0","description":"\ud83d\ude00"}]}}"#).unwrap();
    assert!(surrogates.contains('😀'));
}

#[test]
fn flow_yaml_is_no_json_and_is_read() {
    let (converted, _) = converted("{apiVersion: v1, entries: {a: [{name: a, version: 1.0.0}]}}").unwrap();
    assert_eq!(converted.releases, 1);
}

/// As Go's parser, which reads the first document and no further.
#[rstest]
#[case("---\napiVersion: v1\nentries: {a: [{name: a, version: 1.0.0}]}\n---\n")]
#[case("apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0}]}\n---\nx: [\n")]
#[case("apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0}]}\n...\n")]
fn the_first_document_counts(#[case] raw: &str) {
    assert_eq!(converted(raw).unwrap().0.releases, 1);
}

#[rstest]
#[case("", "empty index.yaml file")]
#[case("  \n", "empty index.yaml file")]
#[case("entries: {}\n", "no API version specified")]
#[case(
    "apiVersion: v1\nentries: {}\nentries: {}\n",
    "error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: key \"entries\" already set in map"
)]
#[case(
    "apiVersion: v1\nentries:\n  a: []\n  a: []\n",
    "error converting YAML to JSON: yaml: unmarshal errors:\n  line 4: key \"a\" already set in map"
)]
#[case(
    "<!DOCTYPE html>\n<html>\n<head>\n<style>\nbody { color: red }\n</style>\n",
    "error converting YAML to JSON: yaml: line 5: mapping values are not allowed in this context"
)]
#[case(
    "<html><body>404</body></html>",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type repo.IndexFile"
)]
#[case(
    "- a\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type repo.IndexFile"
)]
#[case("5\n", "json: cannot unmarshal number into Go value of type repo.IndexFile")]
#[case("[\"a\"]", "json: cannot unmarshal array into Go value of type repo.IndexFile")]
#[case(
    "{\"apiVersion\": \"v1\", \"entries\": []}",
    "json: cannot unmarshal array into Go struct field IndexFile.entries of type map[string]repo.ChartVersions"
)]
#[case(
    "apiVersion: v1\nentries: {a: b}\n",
    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field IndexFile.entries of \
     type repo.ChartVersions"
)]
#[case("# none\n", "no API version specified")]
#[case("404: Not Found\n", "error unmarshaling JSON: while decoding JSON: json: unknown field \"404\"")]
#[case("{\"error\": \"not found\"}", "no API version specified")]
fn refused(#[case] raw: &str, #[case] expected: &str) {
    assert_eq!(converted(raw).unwrap_err().to_string(), expected);
}

#[rstest]
#[case("entries: [\n")]
#[case("{\"apiVersion\": \"v1\", \"entries\": {")]
#[case("apiVersion: v1\nentries: {a: [{name: [x]}]}\n")]
fn not_an_index(#[case] raw: &str) {
    let message = converted(raw).unwrap_err().to_string();
    assert!(message.starts_with("error converting YAML to JSON: yaml: "), "{message}");
}

#[test]
fn one_chart_is_read_out_of_what_is_stored() {
    let (_, stored) = converted(YAML).unwrap();
    let app = releases(stored.as_bytes(), "app").unwrap().unwrap();
    assert_eq!(app.iter().map(|release| release.version.as_str()).collect::<Vec<_>>(), ["1.10.0", "1.0.0"]);
    assert_eq!(app[0].urls, ["https://h/a 😀.tgz"]);
    assert_eq!(releases(stored.as_bytes(), "empty").unwrap().unwrap(), []);
    assert_eq!(releases(stored.as_bytes(), "other").unwrap(), None);
    assert!(releases(&stored.as_bytes()[..stored.len() / 2], "other").is_err());
}

#[test]
fn aliases_may_not_multiply() {
    let mut raw = "apiVersion: v1\nx:\n- &a0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        raw += &format!("- &a{level} [{}]\n", vec![below; 10].join(", "));
    }
    assert!(converted(&raw).is_err());
}
