use rstest::rstest;

use crate::parse::{File, parse_all};
use crate::{Limits, Source, YamlError, parse_documents};

fn parse(text: &str) -> Result<(String, usize), YamlError> {
    let mut file = File::default();
    let nodes = parse_all(&Source::file("f.yaml", text.to_owned()), &Limits::default(), &mut file)?;
    let values: Vec<String> = nodes.iter().map(|node| node.to_json().unwrap().to_string()).collect();
    Ok((values.join(" "), file.mender.mends))
}

#[rstest]
#[case("data:\n  k: \"first\n  second\"\n", r#"{"data":{"k":"first second"}}"#, 1)]
#[case("k: \"first\n\n  \n\tsecond\nthird # no\"\nl: 1\n", r#"{"k":"first\n\nsecond third # no","l":1}"#, 1)]
#[case("a:\n- 'it''s\n\nlong'\n- x\n", r#"{"a":["it's\nlong","x"]}"#, 1)]
#[case("a:\n  b: \"x\\\n  y\\\"\\\\\n\n z\"\n", r#"{"a":{"b":"xy\"\\\nz"}}"#, 1)]
#[case("a: \"it\\'s \\\\' \\t\"\nb: '\\'''\n", r#"{"a":"it's \\' \t","b":"\\'"}"#, 1)]
#[case("a: [\"it\\'s\", \"é\\'\"]\n", r#"{"a":["it's","é'"]}"#, 2)]
#[case(
    "image: \"nginx:1\"# pinned\nargs: [a, b]#c\nb: {a: 'c'}#\n",
    r#"{"image":"nginx:1","args":["a","b"],"b":{"a":"c"}}"#,
    3
)]
#[case("a: [#x\n  b,#y\n  c]\n", r#"{"a":["b","c"]}"#, 2)]
#[case(
    "spec:\n  cfg: {\n\t\"a\": 1,\n\n\t\t\"b\": [\n\t\t2]\n  }\n",
    r#"{"spec":{"cfg":{"a":1,"b":[2]}}}"#,
    2
)]
#[case(
    "spec:\n  cfg: {\n\t\"a\": \"x\n\ty\"\n  }\n  b: |\n    \tz\n",
    r#"{"spec":{"cfg":{"a":"x y"},"b":"\tz\n"}}"#,
    2
)]
#[case("a: 1\n---\nk: \"x\ny\"\n---\nk: \"x\nz\"\n", r#"{"a":1} {"k":"x y"} {"k":"x z"}"#, 2)]
#[case("a: &x {b: 1}\nc: *x\nd: \"\\'\"\n", r#"{"a":{"b":1},"c":{"b":1},"d":"'"}"#, 1)]
#[case("a: |#c\n  x\nb: >-#c\n  y\nc: |2#c\n   z\n", r#"{"a":"x\n","b":"y","c":" z\n"}"#, 3)]
#[case("{\"a\": [1]}}\n", r#"{"a":[1]}"#, 1)]
#[case("# c\n--- # d\n{a: 1}\n]\n}\n---\n[b]]", r#"null {"a":1} ["b"]"#, 2)]
#[case("a: \"x\n  y\"\nb: [c] # d\n", r#"{"a":"x y","b":["c"]}"#, 0)]
#[case("a: &x-1 b\n*x-1: {c: *x-1}\nd:\n  *x-1:\n    - 1\n", r#"{"a":"b","b":{"c":"b"},"d":{"b":[1]}}"#, 2)]
fn texts_are_mended_to_what_go_yaml_reads(#[case] text: &str, #[case] wanted: &str, #[case] mends: usize) {
    assert_eq!(parse(text).unwrap(), (wanted.to_owned(), mends));
}

#[rstest]
#[case("a:\n\t- b\n", "line 2")]
#[case("a: {\n\t\"x\": 1\n\t}\n", "line 2")]
#[case("x:\n  a: {\n\t\"x\": \"1\"\n\t}\n\tb: 2\n", "line 5")]
#[case("a:\n  - {\n\t}\n\tfoo\n", "line 4")]
#[case("a:\n- {\n\t}\n\t- b\n", "line 4")]
#[case("x:\n  a: {\n\tb: c\n\td}\n", "line 3")]
#[case("spec:\n  a: foo\n\tbar\n", "line 2")]
#[case("a: \"x\ny\n", "line 2")]
#[case("a: \"x\n... \ny\"\n", "line 2")]
#[case("a: \"\\q\"\n", "line 1")]
#[case("a: {b: 1}}\n", "line 1")]
#[case("- [a]]\n", "line 1")]
#[case("{a: 1}\n@\n}\n", "line 2")]
#[case("a: \"\\'\\q\"\n", "line 1")]
#[case("a: \"x\ny\"\nb: 1\n---\nk: \"x\ny\"\nl: @\n", "line 7")]
#[case("a: \"x\ny\"\n<<: 1\nb: *c\n", "line 4")]
fn mistakes_stay_mistakes(#[case] text: &str, #[case] wanted: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn mended_texts_know_where_they_were_read() {
    let source = Source::file("f.yaml", "a: 1\n---\nb: \"x\ny\"\nc: z\nd: \"\\'\"\n".to_owned());
    let nodes = parse_documents(&source, &Limits::default()).unwrap();
    let position = |key: &str| nodes[1].at(&[key]).unwrap().position().unwrap().to_string();
    assert_eq!(["b", "c", "d"].map(position), ["f.yaml:3", "f.yaml:5", "f.yaml:6"]);
}

#[test]
fn mending_ends_at_its_caps() {
    let many = "a: [\"\\'\", \"\\'\"]\n".to_owned() + &"- \"\\'\"\n".repeat(10);
    assert!(parse(&many).is_err());
    let costly = "- \"\\'\"\n".repeat(20_000);
    assert!(parse(&costly).unwrap_err().to_string().contains("line "));
    let limits = Limits { bytes: 1_000, ..Limits::default() };
    let deep = format!("{}: \"{}\"\n", "k".repeat(500), "x\n".repeat(100));
    assert!(parse_documents(&Source::file("f", deep), &limits).is_err());
}
