use rstest::rstest;

use crate::{Limits, Node, Source, Style, YamlError, parse_documents};

fn parse(text: &str) -> Result<Vec<Node>, YamlError> {
    parse_documents(&Source::file("f.yaml", text.to_owned()), &Limits::default())
}

fn json(text: &str) -> String {
    let nodes = parse(text).unwrap();
    nodes.iter().map(|node| node.to_json().unwrap().to_string()).collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case("a: yes\nb: on\nc: y", r#"{"a":"yes","b":"on","c":"y"}"#)]
#[case("a: 0x10\nb: 0o17\nc: 0b11\nd: 0644\ne: 1_0", r#"{"a":16,"b":15,"c":3,"d":420,"e":10}"#)]
#[case(
    "a: 2020-01-01\nb: 2001-12-14t21:59:43.10-05:00",
    r#"{"a":"2020-01-01T00:00:00Z","b":"2001-12-14T21:59:43.1-05:00"}"#
)]
#[case("a: !!str 1\nb: '2'\nc: |\n  3\nd: ~\ne:", r#"{"a":"1","b":"2","c":"3\n","d":null,"e":null}"#)]
#[case("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#)]
#[case("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", r#"{"a":{"b":1,"c":2},"d":{"c":3,"b":1}}"#)]
#[case("<<: [{a: 1}, {a: 2, b: 3}]", r#"{"a":1,"b":3}"#)]
#[case("a: &x {b: 1}\nc:\n  !!merge <<: *x\nd: !!merge <<", r#"{"a":{"b":1},"c":{"b":1},"d":"<<"}"#)]
#[case("# only\n---\n---\na: 1\n---\nnull\n", r#"{"a":1}"#)]
#[case("a: |\n  x\n  y", r#"{"a":"x\ny"}"#)]
#[case("a: >-\n  x\n  y", r#"{"a":"x y"}"#)]
#[case("a: |\n  x\n---\nb: |\n  y\n", r#"{"a":"x\n"} {"b":"y\n"}"#)]
#[case("a: |+\n  x\n\n", r#"{"a":"x\n\n"}"#)]
#[case(
    "a: [b:, c, d::]\ne: {f:, g: h}\ni: [j: , \"k\":, l:m]",
    r#"{"a":["b:","c","d::"],"e":{"f:":"","g":"h"},"i":[{"j":""},{"k":""},"l:m"]}"#
)]
#[case("a: !!binary aGVs\n  bG8=\nb: !!binary L/8u/w==", "")]
#[case(
    "a: !!binary |\n  aGVs\n  bG8=\nb: !!binary L/8u/w==",
    "{\"a\":\"hello\",\"b\":\"/\u{fffd}.\u{fffd}\"}"
)]
#[case("{{ .Values.x }}: 1", "")]
#[case("a: 1\n: 2\n", "")]
#[case("a:\n- : 2\n", "")]
#[case("a: {b: 1, : 2}\n", "")]
#[case("a:\n  ?\n  : 1\nb: {'': 2}\n", r#"{"a":{"":1},"b":{"":2}}"#)]
fn documents_read_as_go_yaml_does(#[case] text: &str, #[case] wanted: &str) {
    if wanted.is_empty() {
        assert!(parse(text).is_err());
    } else {
        assert_eq!(json(text), wanted);
    }
}

#[rstest]
#[case("a: b: c\n", "line 1")]
#[case("a:\n\t- b\n", "line 2")]
#[case("x: 1\n---\ny: 1\nd: @x\n", "line 4")]
#[case("<<: 1\n", "map merge requires map or sequence of maps as the value")]
#[case("<<: {a: 1}\n<<: {b: 1}\n", "duplicate merge key")]
#[case("<<: [[a]]\n", "invalid map merge: received a nested sequence")]
#[case("{a: 1}: 2\n", "keys must be scalars")]
#[case("a: 1\nb: !!binary x%\n", "line 2: !!binary value contains invalid base64 data")]
fn mistakes_name_their_line(#[case] text: &str, #[case] wanted: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn texts_know_where_they_were_read() {
    let nodes = parse("a: 1\n---\nb: \"x\\ty\"\nc:\n- |\n  block\n").unwrap();
    let position = |path: &[&str]| nodes[1].at(path).unwrap().position().unwrap().to_string();
    assert_eq!(position(&["b"]), "f.yaml:3");
    assert_eq!(nodes[1].at(&["b"]).unwrap().as_scalar().unwrap().style, Style::Double);
    assert_eq!(nodes[1].text_at(&["b"]), Some("x\ty"));
}

#[test]
fn alias_bombs_and_deep_nesting_stop_at_the_caps() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let previous = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", previous.trim_end_matches(", ")));
    }
    assert!(matches!(parse(&bomb).unwrap_err(), YamlError::ExcessiveAliasing { .. }));
    let anchors: String = (0..200).map(|level| format!("&a{level} [")).collect();
    let nested = format!("a: {anchors}{}{}", "x,".repeat(10_000), "]".repeat(200));
    assert!(matches!(parse(&nested).unwrap_err(), YamlError::ExcessiveAliasing { unit: "nodes", .. }));
    let nested = format!("a: {anchors}{}{}", "x".repeat(1 << 20), "]".repeat(200));
    assert!(matches!(parse(&nested).unwrap_err(), YamlError::ExcessiveAliasing { unit: "bytes", .. }));
    let deep = format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(matches!(parse(&deep).unwrap_err(), YamlError::TooDeep { .. }));
    let deep: String = (0..5_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert!(matches!(parse(&deep).unwrap_err(), YamlError::TooDeep { .. }));
}

#[test]
fn bytes_are_checked_before_they_are_parsed() {
    let read = |bytes: &[u8]| Source::read("f", bytes.to_vec(), &Limits { bytes: 20, ..Limits::default() });
    assert!(matches!(read(b"a: \xff\n").unwrap_err(), YamlError::Encoding { line: 1, offset: 3 }));
    assert!(matches!(read(b"a: 1\nb: \0").unwrap_err(), YamlError::ControlCharacter { line: 2 }));
    assert!(matches!(read(&[b'a'; 30]).unwrap_err(), YamlError::TooLarge { size: 30, limit: 20 }));
    assert_eq!(read(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n").unwrap().as_str(), "a: 1\nb: 2\n");
}

/// The words of go-yaml about the mistakes that are made most often.
#[rstest]
#[case("a:\n\tb: 1\n", "found character that cannot start any token")]
#[case("a: @x\n", "found character that cannot start any token")]
#[case("a: `x`\n", "found character that cannot start any token")]
#[case("a: %x\n", "found character that cannot start any token")]
#[case("a:\n  b: 1\n c: 2\n", "did not find expected key")]
#[case("a: 1\n- b\n", "did not find expected key")]
#[case("- a\nb: c\n", "did not find expected '-' indicator")]
#[case("a:\n  - b: 1\n   c: 2\n", "did not find expected '-' indicator")]
#[case("a: b: c\n", "mapping values are not allowed in this context")]
#[case("a:\n- b\n c: d\n", "mapping values are not allowed in this context")]
#[case("key: value\n  other: x\n", "mapping values are not allowed in this context")]
#[case("a: \"x\n", "found unexpected end of stream")]
#[case("a: [1, 2\nb: 3\n", "did not find expected ',' or ']'")]
#[case("a: {b: 1\nc: 2\n", "did not find expected ',' or '}'")]
#[case("a: [", "did not find expected node content")]
#[case("a: [1,\n# c\n\n", "did not find expected node content")]
#[case("a: {\n", "did not find expected node content")]
#[case("a: {b:\n", "did not find expected node content")]
#[case("a: {b: 1\n", "did not find expected ',' or '}'")]
#[case("a: 1\nb\nc: 2\n", "could not find expected ':'")]
#[case("a: |\n x\n  y\nz\n", "could not find expected ':'")]
#[case("a: \"\\q\"\n", "found unknown escape character")]
fn mistakes_in_the_words_of_go_yaml(#[case] text: &str, #[case] wanted: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.ends_with(&format!(": {wanted}")), "{error}");
}

#[test]
fn utf16_with_its_mark_is_read() {
    let read = |bytes: Vec<u8>| Source::read("f", bytes, &Limits::default());
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = "\u{feff}a: \u{1f600}\r\nb: 1".encode_utf16().flat_map(unit).collect();
        assert_eq!(read(bytes.clone()).unwrap().as_str(), "a: \u{1f600}\nb: 1");
        assert!(read(bytes[..bytes.len() - 1].to_vec()).is_err());
    }
}
