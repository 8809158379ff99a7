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
#[case("a: |-\n  x\nb: 1\n", "a: |-\n  x\nb: 1\n")]
#[case("a: >-\n  x\n  y\nb: 1\n", "a: >-\n  x y\nb: 1\n")]
// The reference doubles the breaks of folded text, the last one too.
#[case("a: >\n  x\n\n  y\nb: 1\n", "a: >\n  x\n\n  y\n\nb: 1\n")]
#[case("a: 'x\n\n  it''s'\n", "a: 'x\n\n  it''s'\n")]
#[case("a: | # right\n  x\nb: 1\n", "a: | # right\n  x\nb: 1\n")]
#[case("a:\nb: # right\nc:\n-\n", "a:\nb: # right\nc:\n-\n")]
#[case("a: '\u{1f600}'\n", "a: \"\\U0001F600\"\n")]
// An empty line stays below a comment that stands below something, above the document and between comments.
#[case("# c\n\na: 1\n# c\n\nb: 1\n# c\n\n# d\nc: 1\n", "# c\n\na: 1\n# c\n\nb: 1\n# c\n\n# d\nc: 1\n")]
#[case("a: 1\n\n# c\n\nb: 1\n\nc: 1\n", "a: 1\n# c\nb: 1\nc: 1\n")]
#[case("a: 1\n\n# end\n", "a: 1\n\n# end\n")]
#[case("a:\n    x: 1\n    # c\nb:\n  # d\n- x # e\n", "a:\n  x: 1\n  # c\nb:\n# d\n- x # e\n")]
#[case("a: # b\n  # c\n  d: e\nf: # g\n- h\n", "a: # b\n  # c\n  d: e\nf: # g\n- h\n")]
#[case("a:\n  - x\n  # c\nb: 1\n", "a:\n- x\n# c\n\nb: 1\n")]
// The text is mended as it is to be parsed.
#[case("a: \"x\"# right\nb:\n  c: 'it\n  is' # behind\n", "a: \"x\" # right\nb:\n  c: 'it is' # behind\n")]
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

#[test]
fn regression_4_replaced_values_keep_their_style_and_say_their_type() {
    let source = Source::file("t.yaml", "a: |-\n  x\nb: 1\nc: 'x'\nd: {e: 2.5}\n".to_owned());
    let mut node = parse_first_document(&source, &Limits::default()).unwrap().unwrap();
    for path in [vec!["a"], vec!["b"], vec!["c"], vec!["d", "e"]] {
        let mut found = &mut node;
        for key in path {
            found = found.get_mut(key).unwrap();
        }
        if let Node::Scalar(scalar) = found {
            scalar.text = "new".into();
        }
    }
    node.as_map_mut().unwrap().set("f", Node::plain(""));
    let wanted = "a: |-\n  new\nb: !!int new\nc: 'new'\nd: {e: !!float new}\nf:\n";
    assert_eq!(reprint(&source, &node).unwrap(), wanted);
}

#[test]
fn regression_4_what_is_added_goes_below_the_comments_there() {
    let source = Source::file("t.yaml", "a:\n  b: 1\n  # c\n# d\n\n# e\n".to_owned());
    let mut node = parse_first_document(&source, &Limits::default()).unwrap().unwrap();
    node.get_mut("a").unwrap().as_map_mut().unwrap().set("x", Node::plain("2"));
    node.as_map_mut().unwrap().set("y", Node::plain("3"));
    let wanted = "a:\n  b: 1\n  # c\n\n  x: 2\n# d\n\ny: 3\n\n# e\n";
    assert_eq!(reprint(&source, &node).unwrap(), wanted);
}
