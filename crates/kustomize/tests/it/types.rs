//! Numbers, dates and booleans that the reference reads where it wants text: each of its files is read in its own
//! way.

use rstest::rstest;

use crate::reference::{built, built_from};

const FOO: &str = "apiVersion: v1\nkind: Foo\nmetadata:\n  name: a\n";

/// Builds a resource with a kustomization that names one more file.
fn built_with(kustomization: &str, file: &str) -> Result<String, String> {
    let kustomization = format!("resources: [r.yaml]\n{kustomization}\n");
    built(&[("kustomization.yaml", &kustomization), ("r.yaml", FOO), ("f.yaml", file)])
}

fn plugin(kind: &str, fields: &str) -> Result<String, String> {
    let file = format!("apiVersion: builtin\nkind: {kind}\nmetadata: {{name: x}}\n{fields}\n");
    built_with("transformers: [f.yaml]", &file)
}

#[test]
fn regression_4_dates_in_kustomizations_are_text() {
    let text = built_from("commonAnnotations: {at: 2020-01-01}\n", FOO).unwrap();
    assert!(text.contains("    at: \"2020-01-01\"\n"), "{text}");
    assert!(built_from("nameSuffix: 2020-01-01\n", FOO).unwrap().contains("name: a2020-01-01\n"));
}

#[rstest]
#[case("1.50", "1.5")]
#[case("0x10", "16")]
#[case("1e3", "1000")]
#[case("yes", "true")]
#[case("123456789.125", "1.2345679e+08")]
fn regression_4_files_say_the_value(#[case] value: &str, #[case] wanted: &str) {
    let file = format!("- path: {value}\n  create: true\n");
    let text = built_with("namePrefix: p-\nconfigurations: [f.yaml]", &format!("namePrefix:\n{file}"));
    // Numbers mean places in lists, so that all but the last are errors there.
    match (wanted.parse::<i64>(), text) {
        (Ok(_), text) => assert!(text.is_err()),
        (Err(_), text) => assert!(text.unwrap().contains(&format!("\"{wanted}\": p-\n"))),
    }
    let labels = format!("labels: {{k: {value}}}\nfieldSpecs: [{{path: metadata/labels, create: true}}]");
    // YAML 1.2 reads plugin configurations first.
    let wanted = if value == "yes" { value } else { wanted };
    assert!(plugin("LabelTransformer", &labels).unwrap().contains(&format!("    k: \"{wanted}\"\n")));
}

#[test]
fn regression_4_prefixes_have_the_text_of_a_number() {
    let text =
        plugin("PrefixTransformer", "prefix: 123456789.125\nfieldSpecs: [{path: metadata/name, kind: 5}]");
    assert!(text.unwrap().contains("name: a\n"));
    let text = plugin("PrefixTransformer", "prefix: 123456789.125\nfieldSpecs: [{path: metadata/name}]");
    assert!(text.unwrap().contains("name: 1.23456789125e+08a\n"));
}

#[rstest]
#[case("LabelTransformer", "labels: {a: b}\nfieldSpecs: [{path: metadata/labels, kind: 5}]")]
#[case("PatchTransformer", "target: {name: 5}\npatch: '[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]'")]
#[case(
    "ReplacementTransformer",
    "replacements: [{sourceValue: 5, targets: [{select: {name: a}, fieldPaths: [kind]}]}]"
)]
fn regression_4_fields_from_embedded_structs_must_be_text(#[case] kind: &str, #[case] fields: &str) {
    let error = plugin(kind, fields).unwrap_err();
    assert!(error.contains("cannot unmarshal number"), "{error}");
    assert!(plugin(kind, &fields.replace('5', "'5'")).is_ok());
}

#[rstest]
#[case("helmGlobals: {chartHome: c}", true)]
#[case("helmGlobals: {home: c}", false)]
#[case("helmGlobals: c", false)]
#[case("openapi: {version: ''}", true)]
fn regression_4_fields_without_effect_are_read(#[case] field: &str, #[case] wanted: bool) {
    assert_eq!(built_from(&format!("{field}\n"), FOO).is_ok(), wanted);
}

#[rstest]
#[case("spec/l/0/k", "  l:\n  - k: NEW\n  - k: w\n")]
#[case("spec/l/-/k", "  l:\n  - k: v\n  - k: NEW\n")]
#[case("spec/l/[k=w]/j", "  l:\n  - k: v\n  - j: NEW\n    k: w\n")]
#[case("spec/l/[k=x]/j", "  l:\n  - k: v\n  - k: w\n  - j: NEW\n    k: x\n")]
#[case("spec/l/7/k", "  l:\n  - k: v\n  - k: w\n")]
#[case("spec//n", "  l:\n  - k: v\n  - k: w\n  \"n\": NEW\n")]
fn regression_4_values_are_added_to_elements_of_lists(#[case] path: &str, #[case] wanted: &str) {
    let transformer = format!(
        "transformers:\n- |-\n  {{apiVersion: builtin, kind: ValueAddTransformer, metadata: {{name: x}}, value: NEW, targets: [{{fieldPath: '{path}'}}]}}\n"
    );
    let text = built_from(&transformer, &format!("{FOO}spec:\n  l: [{{k: v}}, {{k: w}}]\n")).unwrap();
    assert!(text.ends_with(&format!("spec:\n{wanted}")), "{text}");
}

#[test]
fn regression_4_blanks_in_the_path_of_a_var_do_not_count() {
    let vars = "vars: [{name: V, objref: {apiVersion: v1, kind: Foo, name: a}, fieldref: {fieldpath: ' spec..a. '}}]\n";
    let foo = "apiVersion: v1\nkind: Foo\nmetadata: {name: a, annotations: {v: $(V)}}\nspec: {a: x}\n";
    assert!(built_from(vars, foo).unwrap().contains("    v: x\n"));
}

#[rstest]
#[case("' spec/ s'", "spec:\n  s: p-x\n  u: null\n")]
#[case("spec/u", "spec:\n  s: x\n  u: p-null\n")]
fn regression_4_fields_with_blanks_and_nulls_are_found(#[case] path: &str, #[case] wanted: &str) {
    let transformer = format!(
        "transformers:\n- |-\n  {{apiVersion: builtin, kind: PrefixTransformer, metadata: {{name: x}}, prefix: p-, fieldSpecs: [{{path: {path}, create: true}}]}}\n"
    );
    let text = built_from(&transformer, &format!("{FOO}spec: {{s: x, u: null}}\n")).unwrap();
    assert!(text.ends_with(wanted), "{text}");
}

/// Reads a kustomization file as Flux reads the one that it rewrites.
fn read(text: &str) -> Result<weir_kustomize::Kustomization, String> {
    let read = weir_kustomize::Kustomization::parse(text.as_bytes(), weir_kustomize::UnknownFields::Drop);
    read.map_err(|error| error.to_string())
}

#[test]
fn numbers_and_booleans_are_text_in_the_file_that_flux_rewrites() {
    let text = "images: [{name: nginx, newTag: 1.27}, {name: b, newTag: 1.10}]\ncommonLabels: {version: 1, at: 0x10}\n\
                commonAnnotations: {x: true, z: 123456789.125}\nnamePrefix: 5\nlabels: [{pairs: {a: 1e3}}]\n\
                patches: [{path: 7, target: {labelSelector: 8}}]\nvars: [{name: 1, objref: {apiVersion: 2, name: 3}}]\n";
    let file = read(text).unwrap();
    assert_eq!(file.images[0].new_tag, "1.27");
    assert_eq!(file.images[1].new_tag, "1.1");
    assert_eq!((file.common_labels["version"].as_str(), file.common_labels["at"].as_str()), ("1", "16"));
    assert_eq!(file.common_annotations["x"], "true");
    assert_eq!(file.common_annotations["z"], "1.2345679e+08");
    assert_eq!((file.name_prefix.as_str(), file.labels[0].pairs["a"].as_str()), ("5", "1000"));
    let patch = &file.patches[0];
    assert_eq!((patch.path.as_str(), patch.target.as_ref().unwrap().label_selector.as_str()), ("7", "8"));
    assert_eq!((file.vars[0].name.as_str(), file.vars[0].object.name.as_str()), ("1", "3"));
}

#[rstest]
#[case("kind: 1")]
#[case("patches: [{path: a, target: {name: 5}}]")]
#[case("vars: [{name: a, objref: {kind: 5, name: b}}]")]
#[case("configMapGenerator: [{name: 5}]")]
#[case("replacements: [{sourceValue: 5, targets: [{select: {kind: A}}]}]")]
#[case("replacements: [{source: {kind: A, fieldPath: 5}, targets: [{select: {kind: A}}]}]")]
#[case("replacements: [{source: {kind: A}, targets: [{select: {kind: A}, fieldPaths: [5]}]}]")]
#[case("resources: [{a: 1}]")]
fn fields_of_embedded_structs_stay_strict(#[case] text: &str) {
    let error = read(text).unwrap_err();
    assert!(error.starts_with("invalid Kustomization: json: cannot unmarshal "), "{error}");
}

#[test]
fn bases_stay_strict() {
    let base = "resources: [r.yaml]\ncommonLabels: {version: 1}\n";
    let files = [
        ("kustomization.yaml", "resources: [base]\n"),
        ("base/kustomization.yaml", base),
        ("base/r.yaml", FOO),
    ];
    assert!(built(&files).unwrap_err().contains("cannot unmarshal number"));
}

#[test]
fn replacements_in_files_of_their_own_have_no_embedded_fields() {
    let file =
        "sourceValue: 5\ntargets: [{select: {kind: Foo}, fieldPaths: [spec], options: {create: true}}]\n";
    assert!(built_with("replacements: [{path: f.yaml}]", file).unwrap().contains("spec: 5\n"));
}

#[rstest]
#[case("0644", "644", "x-644")]
#[case("+5", "5", "x-5")]
#[case("1e3", "1000", "x-1000")]
#[case("1e6", "1000000", "x-1e+06")]
#[case("99999999999999999999", "1e+20", "x-1e+20")]
#[case("TRUE", "true", "x-true")]
#[case("0x10", "", "")]
#[case("1_0", "", "")]
#[case("0o17", "", "")]
#[case("0b11", "", "")]
#[case(".inf", "", "")]
fn vars_read_numbers_as_go_does(#[case] value: &str, #[case] alone: &str, #[case] inside: &str) {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{v: {value}, containers: [{{name: c, args: [$(X), \
         x-$(X)]}}]}}\n"
    );
    let var =
        "vars: [{name: X, objref: {apiVersion: v1, kind: Pod, name: a}, fieldref: {fieldPath: spec.v}}]\n";
    let built = built_from(var, &pod);
    if alone.is_empty() {
        let wanted =
            "field specified in var '{X Pod.v1.[noGrp] {spec.v}}' not found in corresponding resource";
        assert_eq!(built.unwrap_err(), wanted);
    } else {
        let wanted = format!("  - args:\n    - {alone}\n    - {inside}\n");
        assert!(built.as_ref().unwrap().contains(&wanted), "{built:?}");
    }
}
