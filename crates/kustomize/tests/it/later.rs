//! Cases in which this engine follows releases after v5.8.1 (§20, line 25), or Flux's builds differ from `kustomize build`.

use weir_kustomize::{FsPath, MemoryFs, Options, build};

fn built_with(options: &Options, files: &[(&str, &str)]) -> String {
    let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    build(&fs, &FsPath::root(), options).unwrap().to_yaml().unwrap()
}

fn built_from(kustomization: &str, resource: &str) -> String {
    let kustomization = format!("resources: [r.yaml]\n{kustomization}");
    built_with(&Options::cli(), &[("kustomization.yaml", &kustomization), ("r.yaml", resource)])
}

/// QK-16: unless somebody speaks of claims, templates include them as in v5.8.1.
#[rstest::rstest]
#[case("includeTemplates: true", true, true)]
#[case("includeTemplates: true, includeVolumeClaimTemplates: false", true, false)]
#[case("includeVolumeClaimTemplates: true", false, true)]
#[case("includeSelectors: false", false, false)]
fn claims_can_be_told_from_templates(#[case] option: &str, #[case] pods: bool, #[case] claims: bool) {
    let set = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  template: {}
  volumeClaimTemplates:
  - metadata: {name: c}
";
    let text = built_from(&format!("labels: [{{pairs: {{l: v}}, {option}}}]\n"), set);
    let (template, claim) = text.split_once("volumeClaimTemplates:").unwrap();
    assert_eq!(template.matches("l: v").count(), 1 + usize::from(pods), "{text}");
    assert_eq!(claim.contains("l: v"), claims, "{text}");
}

/// KZ-751.
#[rstest::rstest]
#[case("app@sha256:aa", "app:2")]
#[case("app@sha512:bb", "app:2")]
#[case("app:1@multihash+base58:cc", "app:2")]
#[case("app@bad algorithm:dd", "app@bad algorithm:dd")]
fn digests_of_all_algorithms_are_images(#[case] image: &str, #[case] wanted: &str) {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{image: '{image}'}}]}}\n"
    );
    let text = built_from("images: [{name: app, newTag: '2'}]\n", &pod);
    assert!(text.contains(&format!("- image: {wanted}\n")), "{text}");
}

/// KZ-1111.
#[test]
fn parts_of_texts_inside_texts_can_be_replaced() {
    let replacements = "replacements:
- sourceValue: new
  targets:
  - select: {kind: ConfigMap}
    fieldPaths: [data.json.url]
    options: {delimiter: /, index: 2}
";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {json: '{\"url\": \"https://old/path\"}'}\n";
    let text = built_from(replacements, map);
    assert!(text.contains("json: '{\"url\":\"https://new/path\"}'\n"), "{text}");
}

/// KZ-1212, KZ-1213: in `kustomize build` a schema of one's own takes the place of the built-in one, so that containers are
/// no longer merged by name; Flux adds it.
#[rstest::rstest]
#[case::kustomize_build(Options::cli(), false)]
#[case::flux(Options::gitops(), true)]
fn a_custom_schema_is_alone_or_added(#[case] options: Options, #[case] keeps_built_in: bool) {
    let kustomization = "resources: [pod.yaml]
openapi: {path: schema.json}
patches:
- patch: |
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec: {containers: [{name: one, image: new}]}
";
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: one}, {name: two}]}\n";
    let files =
        [("kustomization.yaml", kustomization), ("pod.yaml", pod), ("schema.json", "{\"definitions\": {}}")];
    let text = built_with(&options, &files);
    assert_eq!(text.contains("name: two"), keeps_built_in, "{text}");
    // Nothing of it stays for the next build.
    let (_, without) = kustomization.split_once("openapi: {path: schema.json}\n").unwrap();
    let next = format!("resources: [pod.yaml]\n{without}");
    let text = built_with(&options, &[("kustomization.yaml", &next), ("pod.yaml", pod)]);
    assert!(text.contains("name: two"), "{text}");
}
