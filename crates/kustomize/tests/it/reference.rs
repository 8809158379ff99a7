//! Rules of the reference, found where random trees were built by both: each test is one rule, in the smallest tree
//! that shows it.

use weir_kustomize::{FsPath, MemoryFs, Options, build};

/// Builds the root of a tree as `kustomize build` does.
pub(crate) fn built(files: &[(&str, &str)]) -> Result<String, String> {
    let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    let output = build(&fs, &FsPath::root(), &Options::cli()).map_err(|error| error.to_string())?;
    output.to_yaml().map_err(|error| error.to_string())
}

/// Builds one resource with one kustomization.
pub(crate) fn built_from(kustomization: &str, resource: &str) -> Result<String, String> {
    let kustomization = format!("resources: [r.yaml]\n{kustomization}");
    built(&[("kustomization.yaml", &kustomization), ("r.yaml", resource)])
}

/// A ConfigMap of the name `a` with these lines of metadata and below.
fn map(rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{rest}")
}

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec: {}\n";

/// Counts a line in a text.
fn count(text: &str, line: &str) -> usize {
    text.lines().filter(|found| found.trim() == line).count()
}

#[test]
fn regression_4_a_label_that_was_added_to_several_fields_changes_in_all() {
    let base = "resources: [r.yaml]\ncommonLabels: {v: one}\n";
    for overlay in [
        "resources: [base]\nlabels:\n- pairs: {v: two}\n",
        "resources: [base]\npatches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: a, labels: {v: two}}\n",
    ] {
        let files =
            [("kustomization.yaml", overlay), ("base/kustomization.yaml", base), ("base/r.yaml", DEPLOYMENT)];
        let text = built(&files).unwrap();
        assert_eq!((count(&text, "v: two"), count(&text, "v: one")), (3, 0), "{text}");
    }
}

#[test]
fn regression_4_a_label_of_claim_templates_follows_too() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: a\nspec:\n  volumeClaimTemplates:\n  - metadata: {name: d}\n";
    let labels = "labels:\n- pairs: {v: one}\n  includeTemplates: true\n- pairs: {v: two}\n";
    let text = built_from(labels, set).unwrap();
    assert_eq!((count(&text, "v: two"), count(&text, "v: one")), (3, 0), "{text}");
}

#[test]
fn regression_4_a_json_patch_ends_sharing() {
    let labels = "labels:\n- pairs: {v: one}\n  includeTemplates: true\n";
    let patch = "patchesJson6902:\n- target: {kind: Deployment, name: a}\n  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/v\", \"value\": \"two\"}]'\n";
    let text = built_from(&format!("{labels}{patch}"), DEPLOYMENT).unwrap();
    assert_eq!((count(&text, "v: two"), count(&text, "v: one")), (1, 1), "{text}");
}

#[test]
fn regression_4_null_is_the_text_of_a_label_in_targeted_patches() {
    let patch = "apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a, labels: {x: null, y: z}}\n";
    let with_label = map("  labels: {x: old}\n");
    let targeted = format!("patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    {patch}");
    assert!(built_from(&targeted, &with_label).unwrap().contains("    x: \"null\"\n"));
    let own = format!("patches:\n- patch: |\n    {patch}");
    assert!(!built_from(&own, &with_label).unwrap().contains("x:"));
}

#[test]
fn regression_4_replace_at_the_root_of_a_patch_has_no_effect() {
    let patch = "patches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    $patch: replace\n    data: {n: w}\n";
    let resource = map("data:\n  o: v\n");
    assert_eq!(
        built_from(patch, &resource).unwrap(),
        "apiVersion: v1\ndata:\n  o: v\nkind: ConfigMap\nmetadata:\n  name: a\n"
    );
}

#[test]
fn regression_4_json_patches_give_annotations_their_value_not_their_text() {
    let patch = "patches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {}}]'\n";
    let text = built_from(patch, &map("  annotations: {x: 1.50, h: 0x10}\n")).unwrap();
    assert!(text.contains("    h: \"16\"\n    x: \"1.5\"\n"), "{text}");
    let text = built_from("", &map("  annotations: {x: 1.50}\n")).unwrap();
    assert!(text.contains("x: \"1.50\""), "{text}");
}

#[test]
fn regression_4_a_name_keeps_its_quotes_through_patches() {
    let patch = "patches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: '1'}\n    data: {k: v}\n";
    let text = built_from(patch, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"1\"\n").unwrap();
    assert!(text.contains("  name: \"1\"\n"), "{text}");
}

#[test]
fn regression_4_a_null_in_a_list_and_a_null_where_labels_go_are_no_errors() {
    let labels = "labels:\n- pairs: {a: b}\n  fields:\n  - path: spec/x\n";
    let resource = "apiVersion: e/v1\nkind: Foo\nmetadata:\n  name: a\nspec:\n  l: [1, null]\n  x: null\n";
    let text = built_from(labels, resource).unwrap();
    assert!(text.ends_with("spec:\n  l:\n  - 1\n  - null\n  x: null\n"), "{text}");
}

#[test]
fn regression_4_a_resource_that_lost_its_name_is_an_error() {
    let patch = "patchesJson6902:\n- target: {kind: ConfigMap, name: a}\n  patch: '[{\"op\": \"remove\", \"path\": \"/metadata/name\"}]'\n";
    let error = built_from(patch, &map("")).unwrap_err();
    assert!(error.contains("missing metadata.name"), "{error}");
}

#[test]
fn regression_4_references_are_checked_when_no_name_has_changed() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  serviceAccountName: {a: b}\n";
    let error = built_from("", pod).unwrap_err();
    assert!(error.contains("no 'name' field in node"), "{error}");
}

#[test]
fn regression_4_the_config_of_a_component_hides_more_general_specs_of_its_parent() {
    let files = [
        ("kustomization.yaml", "resources: [r.yaml]\ncomponents: [c]\nnameSuffix: -s\n"),
        ("r.yaml", &map("")),
        (
            "c/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigurations: [c.yaml]\n",
        ),
        ("c/c.yaml", "nameSuffix:\n- path: metadata/name\n  kind: ConfigMap\n  group: example.com\n"),
    ];
    assert!(built(&files).unwrap().contains("  name: a\n"));
}

#[test]
fn regression_4_files_of_configurations_are_merged_before_they_meet_the_defaults() {
    let files = [
        ("kustomization.yaml", "resources: [r.yaml]\nconfigurations: [c.yaml]\n"),
        ("r.yaml", &map("")),
        ("c.yaml", "namespace:\n- path: metadata/name\n  group: example.com\n- path: metadata/name\n"),
    ];
    assert!(built(&files).is_ok());
}

#[test]
fn regression_4_a_source_of_replacements_may_name_the_default_namespace_of_any_kind() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: a\n";
    let replacement = "replacements:\n- source: {kind: ClusterRole, name: a, namespace: default}\n  targets:\n  - select: {kind: ClusterRole}\n    fieldPaths: [metadata.labels.x]\n    options: {create: true}\n";
    assert!(built_from(replacement, role).unwrap().contains("    x: a\n"));
}

#[test]
fn regression_4_a_var_with_a_namespace_means_nothing_cluster_scoped() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: a\n";
    let var = "vars:\n- name: V\n  objref: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: a, namespace: ns}\n";
    let error = built_from(var, role).unwrap_err();
    assert!(error.contains("cannot be mapped to a field"), "{error}");
}

#[test]
fn regression_4_env_counts_in_kustomization_files_only() {
    let generator = "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: g}\n  literals: [a=b]\n  env: e.env\n  options: {disableNameSuffixHash: true}\n";
    let text = built(&[("kustomization.yaml", generator), ("e.env", "C=d\n")]).unwrap();
    assert!(text.starts_with("apiVersion: v1\ndata:\n  a: b\nkind:"), "{text}");
}

#[test]
fn regression_4_what_stands_behind_a_long_key_starts_in_its_line() {
    let key = "k".repeat(129);
    let text = built_from("", &map(&format!("data:\n  {key}:\n    a: b\n    c: d\n"))).unwrap();
    assert!(text.contains(&format!("  ? {key}\n  : a: b\n    c: d\n")), "{text}");
}

#[test]
fn regression_4_a_time_in_brackets_is_text() {
    let text = built_from("", &map("data: {a: 2001-12-14t21:59:43.10-05:00, b: 2020-01-01}\n")).unwrap();
    assert!(
        text.contains("  a: \"2001-12-14t21:59:43.10-05:00\"\n  b: \"2020-01-01T00:00:00Z\"\n"),
        "{text}"
    );
}

#[test]
fn regression_4_text_that_starts_with_a_byte_order_mark_is_escaped_throughout() {
    let generator =
        "configMapGenerator:\n- name: g\n  files: [f]\n  options: {disableNameSuffixHash: true}\n";
    let text = built(&[("kustomization.yaml", generator), ("f", "\u{feff}a b\n")]).unwrap();
    assert!(text.contains("  f: \"\\uFEFF\\x61\\x20\\x62\\n\"\n"), "{text}");
}

#[test]
fn regression_4_annotations_that_are_no_text_become_empty() {
    let labels = "labels:\n- pairs: {v: w}\n  fields:\n  - path: metadata/annotations/x\n    create: true\n";
    assert!(built_from(labels, &map("")).unwrap().contains("  annotations:\n    x: \"\"\n"));
}

#[test]
fn regression_4_annotations_that_are_null_can_be_added_to() {
    let labels = "labels:\n- pairs: {v: w}\n  fields:\n  - path: metadata/annotations\n";
    assert!(
        built_from(labels, &map("  annotations: null\n")).unwrap().contains("  annotations:\n    v: w\n")
    );
}

#[test]
fn regression_4_a_namespace_does_not_go_where_a_mapping_is() {
    let transformer = "transformers:\n- |\n  apiVersion: builtin\n  kind: NamespaceTransformer\n  metadata: {name: t, namespace: ns}\n  unsetOnly: true\n  fieldSpecs: [{path: data}]\n";
    assert!(built_from(transformer, &map("data: {k: v}\n")).is_err());
}

#[test]
fn regression_4_containers_that_are_no_mappings_are_an_error_of_images() {
    let foo = "apiVersion: e/v1\nkind: Foo\nmetadata:\n  name: a\nspec:\n  containers: [b]\n";
    let error = built_from("images:\n- name: nginx\n  newTag: '1'\n", foo).unwrap_err();
    assert!(error.contains("wrong node kind: expected MappingNode but got ScalarNode"), "{error}");
}

/// A Service with these ports, and a patch for them.
fn built_ports(ports: &str, patch: &str) -> String {
    let service = |ports: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{ports: [{ports}]}}\n")
    };
    let patch = service(patch).replace('\n', "\n    ");
    let text = built_from(&format!("patches:\n- patch: |\n    {patch}\n"), &service(ports)).unwrap();
    text.split_once("ports:\n").unwrap().1.to_owned()
}

#[test]
fn regression_4_a_directive_in_a_list_works_once() {
    let text = built_ports(
        "{protocol: UDP, name: a}, {port: 80, protocol: UDP, name: b}",
        "{port: 80, protocol: UDP, name: d, $patch: delete}",
    );
    assert_eq!(
        text,
        "  - name: d\n    port: 80\n    protocol: UDP\n  - name: a\n    protocol: UDP\n  - name: a\n    protocol: UDP\n"
    );
}

/// A Deployment with `metadata` of its own, the fields of a first level, and a patch above them.
fn patched_above(metadata: &str, first: &str, patch: &str) -> String {
    let deployment = |metadata: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a{metadata}}}\nspec: {{template: {{}}}}\n"
        )
    };
    let patch = deployment(patch).replace("spec: {template: {}}\n", "").replace('\n', "\n    ");
    let base = format!("resources: [r.yaml]\n{first}");
    let files = [
        ("kustomization.yaml", &*format!("resources: [base]\npatches:\n- patch: |\n    {patch}\n")),
        ("base/kustomization.yaml", &base),
        ("base/r.yaml", &deployment(metadata)),
    ];
    built(&files).unwrap()
}

#[test]
fn regression_4_a_label_that_needs_quotes_changes_in_all_fields_too() {
    let text = patched_above("", "commonLabels: {v: \"1\"}\n", ", labels: {v: two}");
    assert_eq!((count(&text, "v: two"), count(&text, "v: \"1\"")), (3, 0), "{text}");
}

#[test]
fn regression_4_annotations_that_are_replaced_as_a_whole_no_longer_follow() {
    let text = patched_above("", "commonAnnotations: {v: one}\n", ", annotations: {$patch: replace, v: two}");
    assert_eq!((count(&text, "v: two"), count(&text, "v: one")), (1, 1), "{text}");
}

#[test]
fn regression_4_a_patch_can_take_all_annotations_away() {
    let text = patched_above(", annotations: {v: one}", "", ", annotations: null");
    assert!(!text.contains("annotations"), "{text}");
}

#[test]
fn regression_4_labels_that_a_replacement_writes_as_a_whole_no_longer_follow() {
    let files = [
        (
            "kustomization.yaml",
            "resources: [base, map.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: a, fieldPath: metadata.labels}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels]}]\n",
        ),
        ("base/kustomization.yaml", "resources: [r.yaml]\ncommonLabels: {v: one}\n"),
        ("base/r.yaml", DEPLOYMENT),
        ("map.yaml", &map("  labels: {v: two}\n")),
    ];
    let text = built(&files).unwrap();
    assert_eq!((count(&text, "v: two"), count(&text, "v: one")), (2, 2), "{text}");
}

#[test]
fn regression_4_a_source_that_is_its_own_target_changes_on_the_way() {
    let replacements = "replacements:\n- source: {kind: ConfigMap, name: a, fieldPath: data.x}\n  targets:\n  - {select: {kind: ConfigMap}, fieldPaths: [data.x], options: {delimiter: '-', index: 0}}\n  - {select: {kind: ConfigMap}, fieldPaths: [data.z]}\n";
    let text = built_from(replacements, &map("data: {x: a-b, z: q}\n")).unwrap();
    assert!(text.contains("  x: a-b-b\n  z: a-b-b\n"), "{text}");
}

#[test]
fn regression_4_the_tag_without_a_name_says_nothing() {
    let text = built_from("", &map("data: {a: ! 1, b: ! true, c: ! \"1\"}\n")).unwrap();
    assert!(text.contains("  a: 1\n  b: true\n  c: \"1\"\n"), "{text}");
}

#[test]
fn regression_4_validators_leave_no_trace_in_annotations() {
    let validator = "buildMetadata: [transformerAnnotations]\nvalidators:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: v}\n  prefix: p-\n  fieldSpecs: [{path: data/none}]\n";
    assert_eq!(built_from(validator, &map("")).unwrap(), map(""));
}

#[test]
fn regression_4_a_secret_that_is_merged_from_nothing_and_nothing_has_no_data() {
    let generator = "secretGenerator: [{name: a, behavior: merge}]\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: default\n";
    assert_eq!(built_from(generator, secret).unwrap(), format!("{secret}type: Opaque\n"));
}

#[test]
fn regression_4_items_of_lists_keep_the_types_they_have_in_brackets() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: , t: 2001-12-14t21:59:43.10-05:00}}";
    let text = built_from("", map).unwrap();
    assert!(text.contains("  \"n\": \"\"\n  t: \"2001-12-14t21:59:43.10-05:00\"\n"), "{text}");
    let text = built_from("", &format!("apiVersion: v1\nkind: ConfigMapList\nitems: [{map}]\n")).unwrap();
    assert!(text.contains("  \"n\": null\n  t: \"2001-12-14T21:59:43.1-05:00\"\n"), "{text}");
}

#[test]
fn regression_4_a_list_without_items_and_metadata_gets_metadata() {
    let list = "apiVersion: e/v1\nkind: FooList\n";
    assert_eq!(built_from("", list).unwrap(), format!("{list}metadata: {{}}\n"));
    let null = format!("{list}metadata: null\n");
    assert_eq!(built_from("", &null).unwrap(), null);
}

#[rstest::rstest]
#[case(
    "configurations: [c.yaml]\n",
    "namePrefix: [{path: data/x, path: data/y}]\n",
    "line 1: mapping key \"path\""
)]
#[case(
    "transformers: [c.yaml]\n",
    "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: t}\nprefix: p-\nprefix: q-\nfieldSpecs: [{path: metadata/name}]\n",
    "line 5: mapping key \"prefix\" already defined at line 4"
)]
#[case(
    "generators: [c.yaml]\n",
    "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nliterals: [a=b]\nliterals: [c=d]\n",
    "mapping key \"literals\""
)]
fn regression_4_configurations_with_a_key_twice_are_refused(
    #[case] kustomization: &str,
    #[case] config: &str,
    #[case] wanted: &str,
) {
    let kustomization = format!("resources: [r.yaml]\n{kustomization}");
    let error = built(&[("kustomization.yaml", &kustomization), ("r.yaml", &map("")), ("c.yaml", config)]);
    let error = error.unwrap_err();
    assert!(error.contains(wanted) && error.contains("c.yaml"), "{error}");
}

#[rstest::rstest]
#[case("data/0", "expected SequenceNode")]
#[case("data/-", "expected SequenceNode")]
#[case("data/-1", "negative")]
#[case("data/[a=b]", "expected SequenceNode")]
#[case("data/*", "wildcard is not supported")]
fn regression_4_places_in_lists_are_no_keys(#[case] path: &str, #[case] wanted: &str) {
    let prefix = "namePrefix: p-\nconfigurations: [c.yaml]\n";
    let kustomization = format!("resources: [r.yaml]\n{prefix}");
    let config = format!("namePrefix:\n- path: {path}\n");
    let built =
        |map: &str| built(&[("kustomization.yaml", &kustomization), ("r.yaml", map), ("c.yaml", &config)]);
    let error = built(&map("data: {\"0\": x}\n")).unwrap_err();
    assert!(error.contains(wanted) && error.contains(path), "{error}");
    assert!(built(&map("")).is_ok());
}

#[test]
fn regression_4_of_an_annotation_that_stands_twice_the_last_counts() {
    let text = built_from("", &map("  annotations: {x: one, z: y, x: two}\n")).unwrap();
    assert!(text.contains("  annotations:\n    x: two\n    z: \"y\"\n  name"), "{text}");
    assert!(built_from("", &map("  labels: {x: one, x: two}\n")).is_err());
}

/// A role binding with these subjects.
fn binding(kustomization: &str, subjects: &str) -> Result<String, String> {
    let binding = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: a}}\nsubjects: {subjects}\n"
    );
    built_from(kustomization, &binding)
}

#[test]
fn regression_4_subjects_must_be_mappings_with_names() {
    for subjects in ["[a]", "[null]", "[{namespace: n, kind: {a: b}}]", "[{namespace: n, kind: null}]"] {
        assert!(binding("", subjects).is_err(), "{subjects}");
    }
    for subjects in ["a", "{name: default}", "[a]", "[{name: {a: b}}]", "[{name: default, kind: null}]"] {
        assert!(binding("namespace: x\n", subjects).is_err(), "{subjects}");
    }
    for subjects in ["null", "[]", "[{name: null}]"] {
        assert!(binding("namespace: x\n", subjects).is_ok(), "{subjects}");
    }
}

#[test]
fn regression_4_an_api_version_that_is_null_sorts_by_its_text() {
    let one = |version: &str| format!("apiVersion: {version}\nkind: Foo\nmetadata:\n  name: a\n");
    let text = built_from("", &format!("{}---\n{}---\n{}", one("v1"), one("null"), one("m"))).unwrap();
    let order: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("apiVersion: ")).collect();
    assert_eq!(order, ["m", "null", "v1"]);
}

#[test]
fn regression_4_json_patches_want_each_key_of_their_resource_once() {
    let patch = |text: &str| format!("patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    {text}\n");
    let twice = map("  annotations: {x: y, x: z}\n");
    assert!(built_from("", &twice).is_ok());
    assert!(built_from(&patch("[{op: remove, path: /metadata/annotations}]"), &twice).is_err());
    // In the patch itself the last one counts.
    let text =
        built_from(&patch("- {op: test, op: add, path: /data, value: {a: b, a: c}}"), &map("")).unwrap();
    assert!(text.contains("data:\n  a: c\n"), "{text}");
}

#[test]
fn regression_4_breaks_of_folded_text_grow_in_resources_only() {
    let folded = |indent: &str| format!(">\n{indent}  a\n{indent}    b\n{indent}  c\n");
    let text = built_from("", &map(&format!("  annotations:\n    k: {}", folded("    ")))).unwrap();
    assert!(text.contains("    k: |\n      a\n        b\n      c\n"), "{text}");
    let value = folded("      ");
    let patch = format!(
        "patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    - op: add\n      path: /data\n      value: {value}"
    );
    assert!(built_from(&patch, &map("")).unwrap().starts_with("apiVersion: v1\ndata: |-\n  a\n    b\n  c\n"));
    let text = built_from("", &map(&format!("data:\n  k: {}", folded("  ")))).unwrap();
    assert!(text.contains("  k: |\n    a\n\n      b\n    c\n"), "{text}");
}

#[test]
fn regression_4_what_is_missing_in_a_json_patch_is_null() {
    let patch =
        "patches:\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data, value: {a: , b}}\n";
    assert!(built_from(patch, &map("")).unwrap().contains("data:\n  a: null\n  b: null\n"));
}

#[test]
fn paths_that_speak_of_data_and_secrets_are_read() {
    let patch = |key: &str| map(&format!("data: {{{key}: p}}\n"));
    let kustomization =
        "resources: [r.yaml]\npatchesStrategicMerge: [patch-data.yaml, data/p.yaml, ExternalSecret.yaml]\n";
    let (first, second, third) = (patch("x"), patch("y"), patch("z"));
    let files = [
        ("kustomization.yaml", kustomization),
        ("r.yaml", &map("data: {k: v}\n")),
        ("patch-data.yaml", &first),
        ("data/p.yaml", &second),
        ("ExternalSecret.yaml", &third),
    ];
    assert!(built(&files).unwrap().contains("data:\n  k: v\n  x: p\n  \"y\": p\n  z: p\n"));
}

#[test]
fn numbers_merged_onto_generated_lines_are_text() {
    let patch = |kind: &str, data: &str| {
        format!(
            "- patch: |\n    apiVersion: v1\n    kind: {kind}\n    metadata: {{name: a}}\n    data: {data}\n"
        )
    };
    let long = "a".repeat(60);
    let text = format!(
        "generatorOptions: {{disableNameSuffixHash: true}}\nconfigMapGenerator: [{{name: a, files: [f]}}]\n\
         secretGenerator: [{{name: a, files: [f], literals: [l={long}]}}]\npatches:\n{}{}",
        patch("ConfigMap", "{f: 7}"),
        patch("Secret", "{f: 7, l: 8}")
    );
    let output = built(&[("kustomization.yaml", &text), ("f", "1\n2\n")]).unwrap();
    assert!(output.contains("data:\n  f: \"7\"\nkind: ConfigMap\n"), "{output}");
    assert!(output.contains("data:\n  f: 7\n  l: \"8\"\nkind: Secret\n"), "{output}");
}

#[test]
fn only_the_first_openapi_setting_is_judged() {
    let base = "resources: [r.yaml]\nopenapi: {version: v9}\n";
    let files =
        |top| [("kustomization.yaml", top), ("base/kustomization.yaml", base), ("base/r.yaml", DEPLOYMENT)];
    assert!(built(&files("resources: [base]\nopenapi: {version: v1.21.2}\n")).is_ok());
    let error = built(&files("resources: [base]\n")).unwrap_err();
    assert!(error.ends_with("the specified OpenAPI version is not built in"), "{error}");
}

#[test]
fn a_list_behind_an_empty_document_is_expanded_by_way_of_json() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Foo, metadata: {name: a}, spec: {m: 0644}}\n- \
                {apiVersion: v1, kind: Bar, metadata: {name: b}, spec: {n: \"\"}}\n";
    let replacement = "replacements:\n- source: {kind: Foo, fieldPath: spec.m}\n  targets: [{select: {kind: Bar}, \
                       fieldPaths: [spec.n]}]\n";
    let copied = |before: &str| built_from(replacement, &format!("{before}{list}")).unwrap();
    assert!(copied("").contains("  \"n\": \"0644\"\n"), "{}", copied(""));
    for before in ["# c\n---\n", "---\n---\n", "\n---\n", "null\n---\n"] {
        assert!(copied(before).contains("  \"n\": \"420\"\n"), "{}", copied(before));
    }
}

#[test]
fn braces_of_a_variable_are_text_in_expressions() {
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${x}-a{}'}\n";
    let labelled = |name: &str| {
        let patch = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {l: m}}}";
        built_from(&format!("patches:\n- target: {{name: '{name}'}}\n  patch: '{patch}'\n"), resource)
    };
    // Outside of brackets, `$` is the end of the text.
    assert!(!labelled("${x}-a{}").unwrap().contains("l: m"));
    assert!(labelled("[$]{x}-a{}").unwrap().contains("l: m"));
    let error = labelled("a(").unwrap_err();
    assert!(error.ends_with("error parsing regexp: missing closing ): `^(?:a()$`"), "{error}");
}

#[test]
fn a_patch_takes_an_empty_namespace_away() {
    let resource = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: ''}\n";
    let patch = "patches:\n- patch: '{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {x: y}}'\n";
    assert!(built_from("", resource).unwrap().contains("  namespace: \"\"\n"));
    assert!(!built_from(patch, resource).unwrap().contains("namespace"));
}

#[test]
fn type_and_version_of_a_patched_resource_stay_texts() {
    let resource = "kind: 'null'\nmetadata: {name: a}\n";
    let patch = "patches:\n- target: {name: a}\n  patch: '{apiVersion: \"v1\", kind: K, metadata: {name: a}, x: y}'\n";
    assert_eq!(
        built_from(patch, resource).unwrap(),
        "apiVersion: \"\"\nkind: \"null\"\nmetadata:\n  name: a\nx: \"y\"\n"
    );
}

#[test]
fn a_var_in_an_annotation_is_replaced_in_the_template_of_any_kind() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {template: {}}\n";
    let vars = "commonAnnotations: {app: $(NAME)}\nvars:\n- name: NAME\n  objref: {apiVersion: apps/v1, kind: StatefulSet, name: a}\n";
    let text = built_from(vars, set).unwrap();
    assert_eq!((count(&text, "app: a"), text.contains("NAME")), (2, false), "{text}");
}

#[test]
fn elements_of_lists_that_merge_by_a_field_are_mappings() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}, c]}\n";
    let patch = "patches:\n- patch: '{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {l: m}}}'\n";
    let error = built_from(patch, pod).unwrap_err();
    assert!(error.contains("expected MappingNode but got ScalarNode"), "{error}");
}

#[test]
fn keys_of_values_in_json_patches_are_those_of_json() {
    let patch = "patches:\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data, value: {on: 1, 'y': 2, 0x10: 3, true: 4}}\n";
    let text = built_from(patch, &map("")).unwrap();
    assert!(text.contains("data:\n  \"16\": 3\n  \"true\": 4\n  \"y\": 2\n"), "{text}");
}

#[test]
fn of_equal_keys_in_a_patch_the_first_counts() {
    let patch = "patches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    data: {n: v, n: w}\n";
    let text = built_from(patch, &map("data: {k: v}\n")).unwrap();
    assert!(text.contains("data:\n  k: v\n  \"n\": v\n"), "{text}");
}

#[test]
fn a_patch_that_is_no_text_is_refused() {
    let mut fs = MemoryFs::from_files([
        ("kustomization.yaml", "resources: [r.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n"),
        ("r.yaml", &map("data: {k: v}\n")),
    ])
    .unwrap();
    fs.insert("p.yaml", [map("data: {k: \"").as_bytes(), b"\xff\"}\n"].concat()).unwrap();
    let error = build(&fs, &FsPath::root(), &Options::cli()).unwrap_err().to_string();
    assert!(error.contains("unable to parse SM or JSON patch from [path: \"p.yaml\"]"), "{error}");
}

#[test]
fn resources_that_end_with_one_id_are_refused() {
    let second = map("").replace("name: a", "name: b");
    let replacement =
        "replacements:\n- sourceValue: a\n  targets: [{select: {name: b}, fieldPaths: [metadata.name]}]\n";
    let error = built_from(replacement, &format!("{}---\n{second}", map(""))).unwrap_err();
    assert_eq!(error, "may not add resource with an already registered id: ConfigMap.v1.[noGrp]/a.[noNs]");
    let local = second.replace("name: b", "name: b\n  annotations: {config.kubernetes.io/local-config: x}");
    assert!(built_from(replacement, &format!("{}---\n{local}", map(""))).is_ok());
}
