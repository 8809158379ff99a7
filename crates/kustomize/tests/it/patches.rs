//! Strategic merge patches, and the notes that the reference keeps in the resources that they change.

use rstest::rstest;

use crate::config_map;
use crate::reference::{built, built_from};

/// A copy of a patch gets the version of its target. Made anew, an empty one is a null.
#[test]
fn a_resource_without_a_version_gets_a_null_from_a_patch_without_one() {
    let patch = "patches:\n- target: {name: a}\n  patch: |\n    kind: Foo\n    metadata: {name: any}\n";
    let text = built_from(patch, "kind: Foo\nmetadata:\n  name: a\n").unwrap();
    assert_eq!(text, "apiVersion: null\nkind: Foo\nmetadata:\n  name: a\n");
}

/// KZ-507: one of these notes asks for the hash of a name, another one says where a resource comes from.
#[rstest]
#[case("null", "", "a")]
#[case("{$patch: delete}", "", "a")]
#[case("{$patch: replace, x: y}", "", "a")]
#[case("{$patch: delete}", "  target: {name: a}\n", "a")]
#[case("null", "  target: {name: a}\n", "a-6ct58987ht")]
#[case("{x: null}", "", "a-6ct58987ht")]
fn a_patch_that_takes_all_annotations_takes_the_notes(
    #[case] annotations: &str,
    #[case] target: &str,
    #[case] name: &str,
) {
    let patch =
        format!("apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: a, annotations: {annotations}}}");
    let base = format!("configMapGenerator: [{{name: a}}]\npatches:\n- patch: |\n    {patch}\n{target}");
    let overlay = "resources: [base]\nbuildMetadata: [originAnnotations]\n";
    let text = built(&[("kustomization.yaml", overlay), ("base/kustomization.yaml", &base)]).unwrap();
    assert!(text.contains(&format!("  name: {name}\n")), "{text}");
    let by = if name == "a" { "PatchTransformer" } else { "ConfigMapGenerator" };
    assert!(text.contains(&format!("        kind: {by}\n")), "{text}");
}

/// KZ-814.
#[test]
fn a_patch_that_may_rename_deletes_several_resources() {
    let maps = format!("{}---\n{}---\n{}", config_map("a"), config_map("b"), config_map("c"));
    let patch = "patches:\n- target: {name: a|b}\n  options: {allowNameChange: true}\n  patch: |\n    \
                 kind: ConfigMap\n    metadata: {name: x}\n    $patch: delete\n";
    assert_eq!(built_from(patch, &maps).unwrap(), config_map("c"));
}
