//! The error texts that consumers search for (§15, KZ-1501), each as release v5.8.1 prints it for the same tree.

use weir_kustomize::{FsPath, MemoryFs, Options, build};

/// Files that the kustomizations below refer to.
const FILES: &[(&str, &str)] = &[
    ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"),
    ("again.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    (
        "twice.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n",
    ),
    ("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n"),
    ("unnamed.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a-b: c, a: b}}\n"),
    ("typed.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 1}\n"),
    (
        "other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: two}\n",
    ),
    ("config.yaml", "nameReferences: []\n"),
    ("definition.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {}\n"),
    ("definition.json", "{\"kind\": 1, \"apiVersion\": [\"b\"], \"a\": {}}"),
    ("broken/kustomization.yaml", "resources: [a\nb: [\n"),
    ("empty/x.txt", "x\n"),
    ("base/kustomization.yaml", "resources: [map.yaml]\n"),
    ("base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"),
    (
        "component/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n",
    ),
    ("loop/kustomization.yaml", "resources: [../loop]\n"),
];

#[rstest::rstest]
#[case::a_missing_file(
    "resources: [nothing.yaml]\n",
    "accumulating resources: accumulation err='accumulating resources from 'nothing.yaml': evalsymlink failure on '/nothing.yaml' : lstat /nothing.yaml: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '/nothing.yaml' : lstat /nothing.yaml: no such file or directory"
)]
#[case::a_base_without_a_file(
    "resources: [empty]\n",
    "accumulating resources: accumulation err='accumulating resources from 'empty': '/empty' must resolve to a file': couldn't make target for path '/empty': unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/empty'"
)]
#[case::an_id_that_is_taken(
    "resources: [map.yaml, again.yaml]\n",
    "accumulating resources: accumulation err='merging resources from 'again.yaml': may not add resource with an already registered id: ConfigMap.v1.[noGrp]/a.[noNs]': must build at directory: '/again.yaml': file is not directory"
)]
#[case::an_id_that_is_taken_in_the_same_file(
    "resources: [map.yaml, twice.yaml]\n",
    "accumulating resources: accumulation err='accumulating resources from 'twice.yaml': may not add resource with an already registered id: ConfigMap.v1.[noGrp]/t.[noNs]': must build at directory: '/twice.yaml': file is not directory"
)]
#[case::malformed_yaml(
    "resources: [bad.yaml]\n",
    "accumulating resources: accumulating resources from 'bad.yaml': MalformedYAMLError: yaml: line "
)]
#[case::a_resource_without_a_name(
    "resources: [unnamed.yaml]\n",
    "missing metadata.name in object {{v1 ConfigMap} {{ } map[a:b a-b:c] map[]}}"
)]
#[case::a_cycle(
    "resources: [loop]\n",
    "cycle detected: candidate root '/loop' contains visited root '/loop'"
)]
#[case::a_component_as_a_base(
    "resources: [component]\n",
    "expected kind != 'Component' for path '/component'"
)]
#[case::a_base_as_a_component(
    "components: [base]\n",
    "accumulating components: accumulateDirectory: \"expected kind 'Component' for path '/base' but got 'Kustomization'\""
)]
#[case::a_component_that_is_not_there(
    "components: [nothing]\n",
    "accumulating components: loader.New \"must build at directory: not a valid directory: evalsymlink failure on '/nothing' : lstat /nothing: no such file or directory\""
)]
#[case::another_kind("kind: Kustomisation\nnamePrefix: a\n", "kind should be Kustomization or Component")]
#[case::another_version(
    "apiVersion: kustomize.config.k8s.io/v9\nnamePrefix: a\n",
    "apiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1"
)]
#[case::an_empty_file("apiVersion: kustomize.config.k8s.io/v1beta1\n", "kustomization.yaml is empty")]
#[case::an_unknown_field("resource: [a]\n", "invalid Kustomization: json: unknown field \"resource\"")]
#[case::no_mapping(
    "- namePrefix: a\n",
    "invalid Kustomization: json: cannot unmarshal array into Go value of type types.Kustomization"
)]
#[case::another_type("namePrefix: 1\n", "invalid Kustomization: json: cannot unmarshal number")]
#[case::a_patch_for_nothing(
    "resources: [map.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: b}\n",
    "no resource matches strategic merge patch \"ConfigMap.v1.[noGrp]/b.[noNs]\": no matches for Id ConfigMap.v1.[noGrp]/b.[noNs]; failed to find unique target for patch ConfigMap.v1.[noGrp]/b.[noNs]"
)]
#[case::an_old_patch_for_nothing(
    "resources: [map.yaml]\npatchesStrategicMerge:\n- |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\n",
    "no matches for Id ConfigMap.v1.[noGrp]/b.[noNs]; failed to find unique target for patch ConfigMap.v1.[noGrp]/b.[noNs]"
)]
#[case::no_patch(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}}]\n",
    "must specify one of patch and path in"
)]
#[case::two_patches(
    "resources: [map.yaml]\npatches: [{patch: x, path: map.yaml}]\n",
    "patch and path can't be set at the same time"
)]
#[case::neither_kind_of_patch(
    "resources: [map.yaml]\npatches: [{patch: some text}]\n",
    "unable to parse SM or JSON patch from [patch: \"some text\"]"
)]
#[case::a_patch_that_is_not_there(
    "resources: [map.yaml]\npatches: [{path: nothing.yaml}]\n",
    "failed to get the patch file from path(nothing.yaml)"
)]
#[case::operations_without_a_target(
    "resources: [map.yaml]\npatches: [{patch: '[{\"op\": \"remove\", \"path\": \"/data\"}]'}]\n",
    "must specify a target for JSON patch"
)]
#[case::removing_what_is_not_there(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"remove\", \"path\": \"/data/x\"}]'}]\n",
    "error in remove for path: '/data/x': Unable to remove nonexistent key: x: missing value"
)]
#[case::adding_below_nothing(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/spec/x\", \"value\": 1}]'}]\n",
    "add operation does not apply: doc is missing path: \"/spec/x\": missing value"
)]
#[case::replacing_below_nothing(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/x\", \"value\": 1}]'}]\n",
    "replace operation does not apply: doc is missing path: /spec/x: missing value"
)]
#[case::an_unknown_operation(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"increment\", \"path\": \"/data/k\"}]'}]\n",
    "Unexpected kind: increment"
)]
#[case::a_test_that_fails(
    "resources: [map.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"test\", \"path\": \"/data/k\", \"value\": \"w\"}]'}]\n",
    "testing value /data/k failed: test failed"
)]
#[case::a_merge_onto_nothing(
    "configMapGenerator: [{name: g, behavior: merge}]\n",
    "does not exist; cannot merge or replace"
)]
#[case::a_generated_name_that_is_taken(
    "resources: [map.yaml]\nconfigMapGenerator: [{name: a, behavior: create}]\n",
    "exists; can not use behavior: 'create', behavior must be merge or replace"
)]
#[case::a_key_that_is_taken(
    "configMapGenerator: [{name: g, literals: [a=1, a=2]}]\n",
    "configmap g illegally repeats the key `a`"
)]
#[case::a_literal_without_a_value(
    "configMapGenerator: [{name: g, literals: [a]}]\n",
    "invalid literal source a, expected key=value"
)]
#[case::a_generator_without_a_name(
    "configMapGenerator: [{literals: [a=1]}]\n",
    "a configmap must have a name"
)]
#[case::replicas_of_nothing(
    "resources: [map.yaml]\nreplicas: [{name: b, count: 1}]\n",
    "resource with name b does not match a config with the following GVK [Deployment.[noVer].[noGrp] "
)]
#[case::two_that_move_into_one_namespace(
    "resources: [other.yaml]\nnamespace: three\n",
    "namespace transformation produces ID conflict"
)]
#[case::a_source_that_is_not_there(
    "resources: [map.yaml]\nreplacements: [{source: {kind: Secret}, targets: [{select: {kind: ConfigMap}}]}]\n",
    "nothing selected by Secret.[noVer].[noGrp]/[noName].[noNs]"
)]
#[case::a_source_without_the_field(
    "resources: [map.yaml]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}}]}]\n",
    "fieldPath `data.x` is missing for replacement source ConfigMap.[noVer].[noGrp]/[noName].[noNs]"
)]
#[case::a_target_without_the_field(
    "resources: [map.yaml]\nreplacements: [{source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]\n",
    "unable to find field \"data.x\" in replacement target"
)]
#[case::a_target_whose_path_has_an_escape(
    "resources: [map.yaml]\nreplacements: [{source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: ['data.a\\.b']}]}]\n",
    "unable to find field \"data.a\\\\.b\" in replacement target"
)]
#[case::text_in_a_number(
    "resources: [typed.yaml]\nreplacements: [{source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k]}]}]\n",
    "yaml: cannot decode !!str `a` as a !!int"
)]
#[case::a_var_of_nothing(
    "resources: [map.yaml]\nvars: [{name: V, objref: {apiVersion: v1, kind: Secret, name: s}}]\n",
    "var '{V Secret.v1.[noGrp] {metadata.name}}' cannot be mapped to a field in the set of known resources"
)]
#[case::the_first_var_by_name_of_nothing(
    "resources: [map.yaml]\nvars: [{name: Z, objref: {apiVersion: v1, kind: Secret, name: s}}, {name: A, objref: {apiVersion: v1, kind: Secret, name: s}}]\n",
    "var '{A Secret.v1.[noGrp] {metadata.name}}' cannot be mapped to a field in the set of known resources"
)]
#[case::a_var_that_is_taken(
    "resources: [map.yaml]\nvars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: a}}, {name: V, objref: {apiVersion: v1, kind: ConfigMap, name: a}}]\n",
    "var 'V' already encountered"
)]
#[case::an_unknown_order(
    "resources: [map.yaml]\nsortOptions: {order: random}\n",
    "the field 'sortOptions.order' must be one of [fifo, legacy]"
)]
#[case::options_of_another_order(
    "resources: [map.yaml]\nsortOptions: {order: fifo, legacySortOptions: {orderFirst: [Pod]}}\n",
    "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'"
)]
#[case::an_unknown_section_of_configurations(
    "resources: [map.yaml]\nconfigurations: [config.yaml]\n",
    "json: unknown field \"nameReferences\""
)]
#[case::an_unknown_openapi_version(
    "resources: [map.yaml]\nopenapi: {version: v1.99.0}\n",
    "the specified OpenAPI version is not built in"
)]
#[case::two_openapi_schemas(
    "resources: [map.yaml]\nopenapi: {version: v1.21.2, path: map.yaml}\n",
    "builtin version and custom schema provided, cannot use both"
)]
#[case::a_base_that_is_not_yaml(
    "resources: [broken]\n",
    "accumulating resources: accumulation err='accumulating resources from 'broken': '/broken' must resolve to a file': couldn't make target for path '/broken': invalid Kustomization: yaml: line "
)]
#[case::a_file_that_is_not_yaml("resources: [\n", "invalid Kustomization: yaml: line ")]
#[case::a_definition_in_crds(
    "resources: [map.yaml]\ncrds: [definition.yaml]\n",
    "loading CRDs [definition.yaml]: unable to parse open API definition from 'definition.yaml': error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type accumulator.OpenAPIDefinition"
)]
#[case::another_json_in_crds(
    "resources: [map.yaml]\ncrds: [definition.json]\n",
    "unable to parse open API definition from 'definition.json': json: cannot unmarshal array into Go value of type accumulator.OpenAPIDefinition"
)]
#[case::a_long_label_in_a_selector(
    "resources: [map.yaml]\npatches: [{target: {labelSelector: 'a=b_'}, patch: '[{\"op\": \"remove\", \"path\": \"/data\"}]'}]\n",
    "unable to parse requirement: invalid label value: \"b_\": at key: \"a\": a valid label must be an empty string or consist of"
)]
#[case::a_selector_of_a_replacement_that_fits_nothing(
    "resources: [map.yaml]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.k}, targets: [{select: {kind: Other, labelSelector: a=b=c}}]}]\n",
    "found '=', expected: ',' or 'end of string'"
)]
#[case::a_version_with_a_schema(
    "resources: [map.yaml]\nopenapi: {version: '', path: map.yaml}\n",
    "builtin version and custom schema provided, cannot use both"
)]
#[case::a_namespace_for_a_field_that_is_no_text(
    "resources: [map.yaml]\ntransformers:\n- |\n  apiVersion: builtin\n  kind: NamespaceTransformer\n  metadata: {name: t, namespace: n}\n  fieldSpecs: [{path: data}]\n",
    "namespace field specs must target scalar nodes: considering field 'data' of object ConfigMap.v1.[noGrp]/a.n: wrong node kind: expected ScalarNode but got MappingNode"
)]
#[case::helm_charts("helmCharts: [{name: c}]\n", "must specify --enable-helm")]
#[case::labels_that_conflict(
    "resources: [map.yaml]\nlabels: [{pairs: {a: b}, fields: [{path: metadata/labels}]}]\n",
    "failed to merge labels: conflicting fieldspecs"
)]
fn a_failure_has_the_text_of_the_reference(#[case] kustomization: &str, #[case] wanted: &str) {
    let mut fs = MemoryFs::from_files(FILES.iter().copied()).unwrap();
    fs.insert("kustomization.yaml", kustomization).unwrap();
    let result = build(&fs, &FsPath::root(), &Options::cli()).and_then(|output| output.to_yaml());
    let error = result.unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}");
}

/// The reference opens files without asking first where symlinks lead if files outside of the root may be read, as in Flux.
#[rstest::rstest]
#[case::a_resource(
    "resources: [nothing.yaml]\n",
    "accumulating resources: accumulation err='accumulating resources from 'nothing.yaml': open /nothing.yaml: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '/nothing.yaml' : lstat /nothing.yaml: no such file or directory"
)]
#[case::a_directory(
    "resources: [folder]\n",
    "accumulating resources: accumulation err='accumulating resources from 'folder': read /folder: is a directory': couldn't make target for path '/folder': unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '/folder'"
)]
#[case::a_directory_as_a_source_of_a_generator(
    "configMapGenerator: [{name: a, files: [folder]}]\n",
    "loading KV pairs: file sources: [folder]: read /folder: is a directory"
)]
#[case::a_source_of_a_generator(
    "configMapGenerator: [{name: a, files: [gone.txt]}]\n",
    "loading KV pairs: file sources: [gone.txt]: open /gone.txt: no such file or directory"
)]
fn a_missing_file_is_named_as_by_flux(#[case] kustomization: &str, #[case] wanted: &str) {
    let fs = MemoryFs::from_files([("kustomization.yaml", kustomization), ("folder/x.txt", "x")]).unwrap();
    let error = build(&fs, &FsPath::root(), &Options::gitops()).err().unwrap().to_string();
    assert_eq!(error, wanted);
}
