use rstest::rstest;

use super::reprint;
use crate::{Limits, Node, Source, parse_first_document};

fn reprinted(text: &str) -> String {
    let source = Source::file("t.yaml", text.to_owned());
    let node = parse_first_document(&source, &Limits::default()).unwrap().unwrap();
    reprint(&source, &node).unwrap()
}

#[rstest]
#[case("b: 1\na: 'x'\nc: \"y\"\n", "b: 1\na: 'x'\nc: \"y\"\n")]
#[case("a:\n    - b:\n        - c\n", "a:\n- b:\n  - c\n")]
#[case("a: {x: 1, y: [b, \"c\"]}\n", "a: {x: 1, y: [b, \"c\"]}\n")]
#[case("a: |\n  one\n  two\nb: []\n", "a: |\n  one\n  two\nb: []\n")]
#[case(
    "# top\na: 1 # right\n# above\nb:\n  # inner\n  c: 2\n",
    "# top\na: 1 # right\n# above\nb:\n  # inner\n  c: 2\n"
)]
#[case("a: yes\nb: on\nc: 0644\nd: ~\n", "a: yes\nb: on\nc: 0644\nd: ~\n")]
#[case("a: 1\n# end\n", "a: 1\n# end\n")]
fn layout_survives(#[case] text: &str, #[case] wanted: &str) {
    assert_eq!(reprinted(text), wanted);
}

#[test]
fn changed_and_added_values_find_their_place() {
    let source = Source::file("t.yaml", "a: 'x' # keep\nb: {c: 1}\n".to_owned());
    let mut node = parse_first_document(&source, &Limits::default()).unwrap().unwrap();
    if let Node::Scalar(scalar) = node.get_mut("a").unwrap() {
        scalar.text = "it's".into();
    }
    node.get_mut("b").unwrap().as_map_mut().unwrap().set("d", Node::plain("2"));
    node.as_map_mut().unwrap().set("e", Node::plain("new"));
    assert_eq!(reprint(&source, &node).unwrap(), "a: 'it''s' # keep\nb: {c: 1, d: 2}\ne: new\n");
}
