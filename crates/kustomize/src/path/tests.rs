use rstest::rstest;

use super::{Creating, Part, get, split, split_with_indexes, visit};
use crate::input::parse_one;

fn described(parts: &[Part]) -> String {
    let one = |part: &Part| match part {
        Part::Key(key) => key.clone(),
        Part::Index(index) => format!("#{index}"),
        Part::Match { field, value, .. } => format!("{field}~{value}"),
        Part::Every => "*".to_owned(),
    };
    parts.iter().map(one).collect::<Vec<_>>().join(" | ")
}

#[rstest]
#[case("spec.template", "spec | template")]
#[case("data.config\\.yaml.a", "data | config.yaml | a")]
#[case("metadata.annotations.[config.kubernetes.io/x]", "metadata | annotations | config.kubernetes.io/x")]
#[case("a.[name=b.c].d", "a | name~b.c | d")]
#[case("a.[=x].0.*", "a | ~x | #0 | *")]
#[case(".a.b", "a | b")]
fn paths_are_split_at_dots(#[case] path: &str, #[case] wanted: &str) {
    assert_eq!(described(&split(path)), wanted);
}

#[test]
fn vars_write_positions_in_brackets() {
    assert_eq!(described(&split_with_indexes("a[0].b[1]")), "a | #0 | b | #1");
}

#[rstest]
#[case("a.b", Some("1"))]
#[case("l.1", Some("y"))]
#[case("l.-", Some("z"))]
#[case("m.[n=2].v", Some("two"))]
#[case("l.[=y]", Some("y"))]
#[case("a.missing.deep", None)]
#[case("nothing.deep", None)]
#[case("l.9", None)]
fn values_are_found(#[case] path: &str, #[case] wanted: Option<&str>) {
    let node = parse_one("{a: {b: 1}, l: [x, y, z], m: [{n: 1}, {n: 2, v: two}], nothing: }");
    assert_eq!(get(&node, &split(path)).unwrap().and_then(|node| node.text()), wanted);
}

#[rstest]
#[case("a.*", "wildcard is not supported in PathGetter")]
#[case("l.-1", "array index -1 cannot be negative")]
#[case("a.b.c", "wrong node kind: expected MappingNode but got ScalarNode")]
fn paths_that_do_not_fit_are_errors(#[case] path: &str, #[case] wanted: &str) {
    let node = parse_one("{a: {b: 1}, l: [x]}");
    assert_eq!(get(&node, &split(path)).unwrap_err().to_string(), wanted);
}

#[rstest]
#[case("c.[name=app].i", Creating::No, 2, r#"{"c":[{"name":"app","i":"X"},{"name":"myapp","i":"X"}]}"#)]
#[case("c.*.i", Creating::No, 2, r#"{"c":[{"name":"app","i":"X"},{"name":"myapp","i":"X"}]}"#)]
#[case("c.0.j", Creating::Scalar, 1, r#"{"c":[{"name":"app","i":1,"j":"X"},{"name":"myapp","i":2}]}"#)]
#[case("c.2.i", Creating::Scalar, 1, r#"{"c":[{"name":"app","i":1},{"name":"myapp","i":2},{"i":"X"}]}"#)]
#[case(
    "c.[name=new].i",
    Creating::Scalar,
    1,
    r#"{"c":[{"name":"app","i":1},{"name":"myapp","i":2},{"name":"new","i":"X"}]}"#
)]
#[case(
    "d.e.[n=1].f",
    Creating::Scalar,
    1,
    r#"{"c":[{"name":"app","i":1},{"name":"myapp","i":2}],"d":{"e":[{"n":1,"f":"X"}]}}"#
)]
#[case("c.[name=zzz].i", Creating::No, 0, r#"{"c":[{"name":"app","i":1},{"name":"myapp","i":2}]}"#)]
fn targets_are_found_and_made(
    #[case] path: &str,
    #[case] creating: Creating,
    #[case] count: usize,
    #[case] wanted: &str,
) {
    let mut node = parse_one("{c: [{name: app, i: 1}, {name: myapp, i: 2}]}");
    let found = visit(&mut node, &split(path), creating, &mut |node| {
        *node = weir_yaml::Node::plain("X");
        Ok(())
    });
    assert_eq!(found.unwrap(), count);
    assert_eq!(node.to_json().unwrap().to_string(), wanted);
}
