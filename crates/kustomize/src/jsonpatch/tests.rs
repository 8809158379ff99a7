use rstest::rstest;

use super::{apply, parse};
use crate::input::parse_one;

fn patched(target: &str, patch: &str) -> Result<String, String> {
    let operations = parse("patch", patch.as_bytes()).map_err(|error| error.to_string())?;
    let node = apply(&parse_one(target), &operations).map_err(|error| error.to_string())?;
    Ok(node.to_json().unwrap().to_string())
}

#[rstest]
#[case("{a: 1}", "[{op: add, path: /b, value: [x]}]", r#"{"a":1,"b":["x"]}"#)]
#[case(
    "{a: [1, 2]}",
    "[{op: add, path: /a/-, value: 3}, {op: add, path: /a/0, value: 0}]",
    r#"{"a":[0,1,2,3]}"#
)]
#[case("{a: [1, 2]}", "[{op: add, path: /a/-1, value: 3}, {op: remove, path: /a/-3}]", r#"{"a":[2,3]}"#)]
#[case("{a: {b/c: 1}}", "[{op: replace, path: /a/b~1c, value: yes}]", r#"{"a":{"b/c":true}}"#)]
#[case("{a: 1}", "[{op: replace, path: /b, value: 2}]", r#"{"a":1,"b":2}"#)]
#[case("{a: 1}", "[{op: add, path: /b}]", r#"{"a":1,"b":null}"#)]
#[case("{a: {x: 1}}", "[{op: move, from: /a/x, path: /b}]", r#"{"a":{},"b":1}"#)]
#[case("{a: {x: 1}}", "[{op: copy, from: /a, path: /b}]", r#"{"a":{"x":1},"b":{"x":1}}"#)]
#[case(
    "{a: \"1\", b: 12345678901234567890}",
    "[{op: test, path: /a, value: \"1\"}]",
    r#"{"a":"1","b":12345678901234567000}"#
)]
#[case("{a: 1}", "[{op: test, path: /zz, value: null}]", r#"{"a":1}"#)]
#[case("{a: 1}", "[{op: replace, path: \"\", value: {z: 1}}]", r#"{"z":1}"#)]
#[case("{a: 1}", "[{\"op\": \"add\", \"path\": \"/b\", \"value\": \"no\"}]", r#"{"a":1,"b":"no"}"#)]
fn operations_change_the_document(#[case] target: &str, #[case] patch: &str, #[case] wanted: &str) {
    // Flow lists of YAML start with `[` too, which would be read as JSON.
    let patch = if patch.contains('"') && patch.starts_with("[{\"") {
        patch.to_owned()
    } else {
        format!("# yaml\n{patch}")
    };
    assert_eq!(patched(target, &patch).unwrap(), wanted);
}

#[rstest]
#[case(
    "{op: add, path: /x/y, value: 1}",
    "add operation does not apply: doc is missing path: \"/x/y\": missing value"
)]
#[case(
    "{op: replace, path: /x/y, value: 1}",
    "replace operation does not apply: doc is missing path: /x/y: missing value"
)]
#[case(
    "{op: remove, path: /x}",
    "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"
)]
#[case(
    "{op: remove, path: /a/7}",
    "error in remove for path: '/a/7': Unable to access invalid index: 7: invalid index referenced"
)]
#[case(
    "{op: replace, path: /a/7, value: 1}",
    "replace operation does not apply: doc is missing key: /a/7: missing value"
)]
#[case(
    "{op: add, path: /a/x, value: 1}",
    "error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax"
)]
#[case(
    "{op: remove, path: /a/x}",
    "error in remove for path: '/a/x': strconv.Atoi: parsing \"x\": invalid syntax"
)]
#[case(
    "{op: test, path: /x/y, value: 1}",
    "test operation does not apply: is missing path: /x/y: missing value"
)]
#[case(
    "{op: copy, from: /a/7, path: /z}",
    "error in copy for from: '/a/7': Unable to access invalid index: 7: invalid index referenced"
)]
#[case(
    "{op: copy, from: /a, path: /a/9}",
    "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced"
)]
#[case("{op: test, path: /a, value: 1}", "testing value /a failed: test failed")]
#[case(
    "{op: move, from: /x/y, path: /z}",
    "move operation does not apply: doc is missing from path: /x/y: missing value"
)]
#[case(
    "{op: add, path: x, value: 1}",
    "add operation does not apply: doc is missing path: \"x\": missing value"
)]
#[case("{op: frob, path: /a}", "Unexpected kind: frob")]
fn operations_that_do_not_apply_say_why(#[case] operation: &str, #[case] wanted: &str) {
    let error = patched("{a: [1]}", &format!("- {operation}\n")).unwrap_err();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn copies_cannot_grow_without_end() {
    let doubling = "- {op: copy, from: /a, path: /a/x}\n- {op: copy, from: /a, path: /a/y}\n".repeat(40);
    let error = patched("{a: {b: 1}}", &doubling).unwrap_err();
    assert!(error.contains("copied"), "{error}");
}
