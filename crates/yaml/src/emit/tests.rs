use super::emit;
use crate::{Limits, Map, Node, Source, parse_documents};

fn printed(value: &str) -> String {
    let mut map = Map::new();
    map.set("k", Node::string(value));
    let mut out = String::new();
    emit(&Node::Map(map), &mut out).unwrap();
    out
}

fn reprinted(text: &str) -> String {
    let source = Source::file("test.yaml", text.to_owned());
    let mut out = String::new();
    for node in parse_documents(&source, &Limits::default()).unwrap() {
        emit(&node, &mut out).unwrap();
    }
    out
}

#[test]
fn strings_that_look_like_other_types_are_quoted() {
    for text in [
        "",
        "yes",
        "y",
        "on",
        "null",
        "~",
        "1",
        "0x1F",
        "1_000",
        "1e3",
        ".5",
        "2020-01-01",
        "12:30:45",
        ".inf",
    ] {
        assert_eq!(printed(text), format!("k: \"{text}\"\n"));
    }
    for text in ["yEs", "0b12", "0o8", "1.2.3", "1e", "=", "<<", "a:b", "/x", "-a", "?a", "a#b", "a{b}"] {
        assert_eq!(printed(text), format!("k: {text}\n"));
    }
}

#[test]
fn indicators_and_blanks_force_single_quotes() {
    for text in ["-", "a: b", "a:", "# x", "a #b", "*x", "[a", " a", "a ", "---", "@a", "- a"] {
        assert_eq!(printed(text), format!("k: '{text}'\n"));
    }
    assert_eq!(printed("'a': 'b'"), "k: '''a'': ''b'''\n");
}

#[test]
fn special_characters_force_double_quotes() {
    assert_eq!(printed("a\tb"), "k: \"a\\tb\"\n");
    assert_eq!(printed("😀"), "k: \"\\U0001F600\"\n");
    assert_eq!(printed("a \nb\n"), "k: \"a \\nb\\n\"\n");
    assert_eq!(printed("é"), "k: é\n");
    assert_eq!(printed("a\u{2028}b"), "k: \"a\\Lb\"\n");
    assert_eq!(printed("a\u{2029}\nb\n"), "k: \"a\\P\\nb\\n\"\n");
}

#[test]
fn literal_blocks_carry_indent_and_chomping_hints() {
    assert_eq!(printed("a\nb\n"), "k: |\n  a\n  b\n");
    assert_eq!(printed("a\nb"), "k: |-\n  a\n  b\n");
    assert_eq!(printed("a\n\n\n"), "k: |+\n  a\n\n\n");
    assert_eq!(printed("  a\nb"), "k: |2-\n    a\n  b\n");
    assert_eq!(printed("\n"), "k: |2+\n\n");
    assert_eq!(printed("\na"), "k: |2-\n\n  a\n");
}

#[test]
fn long_text_folds_at_spaces_after_column_80() {
    let words = "word ".repeat(30);
    let out = printed(words.trim_end());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].len(), 82);
    assert!(lines[1].starts_with("  word"));
}

#[test]
fn collections_print_in_block_style_with_sorted_keys() {
    let out = reprinted("b: [1, {y: 1, x: [a, [b]]}, []]\na: {}\nc: ~\n\"1\": x\n");
    assert_eq!(out, "\"1\": x\na: {}\nb:\n- 1\n- x:\n  - a\n  - - b\n  \"y\": 1\n- []\nc: null\n");
}

#[test]
fn numbers_print_as_values() {
    let out =
        reprinted("[0x1F, 0644, 1_000, 1e3, 1.0, -0.0, 1234567.5, 0.00001, 1e20, 0.5, 123456.5, 089]\n");
    let wanted =
        ["31", "420", "1000", "1000", "1", "0", "1.2345675e+06", "1e-05", "1e+20", "0.5", "123456.5", "89"];
    assert_eq!(out, wanted.map(|number| format!("- {number}\n")).concat());
}

#[test]
fn a_key_given_twice_is_an_error_with_both_lines() {
    let source = Source::file("test.yaml", "a: 1\nb: 2\na: 3\n".to_owned());
    let nodes = parse_documents(&source, &Limits::default()).unwrap();
    let error = emit(&nodes[0], &mut String::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "yaml: unmarshal errors:\n  line 3: mapping key \"a\" already defined at line 1"
    );
}

#[test]
fn separators_in_fractions_count_only_between_digits() {
    assert_eq!(reprinted("[.730_1, ._5, .5_]\n"), "- 0.7301\n- ._5\n- .5_\n");
    assert_eq!(printed(".730_1"), "k: \".730_1\"\n");
}

#[test]
fn regression_fuzz_a_document_of_one_line_break_prints_one() {
    assert_eq!(reprinted("'\r\r'"), "|2+\n\n");
}

#[test]
fn regression_4_values_that_json_hands_on_raw_must_be_allowed_in_yaml() {
    for text in ["\u{7f}", "a\u{80}b", "\u{9f}", "\u{fffe}", "a\u{ffff}"] {
        let mut map = Map::new();
        map.set("k", Node::string(text));
        assert!(emit(&Node::Map(map), &mut String::new()).is_err(), "{text:?}");
        let mut map = Map::new();
        map.set(text, Node::string("v"));
        assert!(emit(&Node::Map(map), &mut String::new()).is_err(), "{text:?}");
    }
    assert_eq!(printed("\u{7}\u{fffd}"), "k: \"\\a\u{fffd}\"\n");
}

#[test]
fn regression_4_keys_with_a_carriage_return_are_not_simple() {
    let mut map = Map::new();
    map.set("a\r", Node::string("v"));
    let mut out = String::new();
    emit(&Node::Map(map), &mut out).unwrap();
    assert_eq!(out, "? \"a\\r\"\n: v\n");
}
