//! Rules of the reference about replacements that lead into nulls and into text.

use rstest::rstest;

use crate::reference::built_from;

/// Replaces a field of a resource of kind Foo.
fn replaced(path: &str, value: &str, options: &str, fields: &str) -> Result<String, String> {
    let replacement = format!(
        "replacements:\n- sourceValue: '{value}'\n  targets:\n  - select: {{kind: Foo}}\n    fieldPaths: ['{path}']\n    options: {{{options}}}\n"
    );
    let resource = format!("apiVersion: v1\nkind: Foo\nmetadata: {{name: a}}\n{fields}\n");
    let text = built_from(&replacement, &resource)?;
    let start = "apiVersion: v1\nkind: Foo\nmetadata:\n  name: a\n";
    Ok(text.strip_prefix(start).map_or(text.clone(), str::to_owned))
}

#[rstest]
// A value made below a null is lost.
#[case("spec.x", "spec: null", "spec: null\n")]
#[case("spec.x.[y=z].q", "spec: null", "spec: null\n")]
#[case("spec.0.x", "spec: [null]", "spec:\n- null\n")]
#[case("spec.x.y", "spec: {x: null}", "spec:\n  x: null\n")]
#[case("spec.x", "spec: \"null\"", "spec: \"null\"\n")]
#[case("spec.x.y", "spec: '{\"x\": null}'", "spec: '{\"x\":null}'\n")]
#[case("spec.x.y", "spec: 'x: null'", "spec: 'x: null'\n")]
// Text where JSON has another type cannot be written again, and is lost too.
#[case("spec.x", "spec: '{\"x\": 1}'", "spec: '{\"x\": 1}'\n")]
#[case("spec.*.x", "spec: '[{\"x\": true}]'", "spec: '[{\"x\": true}]'\n")]
// YAML decides the type.
#[case("spec.x", "spec: 'x: 1'", "spec: 'x: !!int new'\n")]
#[case("spec.x", "spec: 'x: null'", "spec: 'x: !!null new'\n")]
#[case("spec.x", "spec: 'x: old'", "spec: 'x: new'\n")]
fn regression_4_values_that_do_not_fit_are_lost_in_nulls_and_texts(
    #[case] path: &str,
    #[case] fields: &str,
    #[case] wanted: &str,
) {
    assert_eq!(replaced(path, "new", "create: true", fields).unwrap(), wanted);
}

/// KZ-1111: text is looked up as a source is, so that only the first element counts.
#[rstest]
#[case::first(
    "spec.[k=a].t.x",
    "spec: [{k: a, t: 'x: 1'}, {k: a, t: 'x: 2, y: 3'}]",
    "spec:\n- k: a\n  t: 'x: !!int new'\n- k: a\n  t: 'x: 2, y: 3'\n"
)]
#[case::json(
    "spec.[k=a].t.x",
    "spec: [{k: b, t: ''}, {k: a, t: '{\"x\":\"1\"}'}, {k: a, t: '{\"x\":\"2\"}'}]",
    "spec:\n- k: b\n  t: \"\"\n- k: a\n  t: '{\"x\":\"new\"}'\n- k: a\n  t: '{\"x\":\"2\"}'\n"
)]
#[case::last("spec.-.x", "spec: ['x: a', 'x: b']", "spec:\n- 'x: a'\n- 'x: new'\n")]
#[case::last_of_maps("spec.-.t.x", "spec: [{t: 'x: a'}, {t: 'x: b'}]", "spec:\n- t: 'x: a'\n- t: 'x: new'\n")]
fn text_is_changed_in_the_element_that_it_was_read_from(
    #[case] path: &str,
    #[case] fields: &str,
    #[case] wanted: &str,
) {
    assert_eq!(replaced(path, "new", "", fields).unwrap(), wanted);
}

#[rstest]
#[case("spec.x", "spec:")]
#[case("spec.x", "spec: \"\"")]
#[case("spec.x", "spec: 5")]
#[case("spec.x", "spec: '# only'")]
#[case("spec.0.x", "spec: [text]")]
#[case("spec.*", "spec: null")]
fn regression_4_texts_without_a_document_are_errors(#[case] path: &str, #[case] fields: &str) {
    let error = replaced(path, "new", "create: true", fields).unwrap_err();
    assert!(error.contains("unable to find or create field"), "{error}");
}

#[rstest]
#[case("", "a: b")]
#[case("spec.", "spec: {a: b}")]
#[case("spec.[]", "spec: {a: b}")]
#[case("spec.[key]", "spec: {a: b}")]
fn regression_4_parts_that_name_nothing_are_errors(#[case] path: &str, #[case] fields: &str) {
    assert!(replaced(path, "new", "create: true", fields).is_err());
}

#[test]
fn regression_4_blanks_in_the_path_of_a_source_do_not_count() {
    let replacement = "replacements:\n- source: {kind: Foo, fieldPath: ' spec..a. '}\n  targets:\n  - select: {kind: Foo}\n    fieldPaths: [spec.b]\n    options: {create: true}\n";
    let resource = "apiVersion: v1\nkind: Foo\nmetadata: {name: a}\nspec: {a: x}\n";
    assert!(built_from(replacement, resource).unwrap().ends_with("  a: x\n  b: x\n"));
}

#[test]
fn regression_4_nothing_is_an_empty_string_in_json() {
    let text = replaced("spec.x", "", "create: true", "spec: '{\"y\": null}'").unwrap();
    assert_eq!(text, "spec: '{\"x\":\"\",\"y\":null}'\n");
    assert_eq!(
        replaced("spec.x", "", "create: true", "spec: 'y: null'").unwrap(),
        "spec: |-\n  y: null\n  x:\n"
    );
}
