use rstest::rstest;

use crate::{FsPath, MemoryFs, Options, build};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";

fn built(field: &str, plugin: &str) -> Result<String, String> {
    let kustomization = format!("resources: [c.yaml]\n{field}: [plugin.yaml]\n");
    let files =
        [("kustomization.yaml", kustomization.as_str()), ("c.yaml", CONFIG_MAP), ("plugin.yaml", plugin)];
    let fs = MemoryFs::from_files(files).unwrap();
    let output = build(&fs, &FsPath::root(), &Options::gitops()).map_err(|error| error.to_string())?;
    Ok(output.to_yaml().unwrap())
}

fn plugin(kind: &str, rest: &str) -> String {
    format!("apiVersion: builtin\nkind: {kind}\nmetadata: {{name: p}}\n{rest}")
}

#[rstest]
#[case(
    "transformers",
    "apiVersion: x/v1\nkind: Custom\nmetadata: {name: p}\n",
    "external plugins disabled; unable to load external plugin 'Custom'"
)]
#[case(
    "generators",
    "apiVersion: x/v1\nkind: Custom\nmetadata: {name: p}\n",
    "loading generator plugins: failed to load generator: external plugins disabled; unable to load external plugin 'Custom'"
)]
#[case("transformers", &plugin("Nothing", ""), "unable to load builtin Nothing.builtin.[noGrp]")]
#[case("transformers", &plugin("SecretGenerator", ""), "plugin SecretGenerator.builtin.[noGrp]/p.[noNs] not a transformer")]
#[case("generators", &plugin("LabelTransformer", ""), "plugin LabelTransformer.builtin.[noGrp]/p.[noNs] not a generator")]
#[case("transformers", &plugin("PrefixTransformer", "prefix: a-\n"), "fieldSpecs is not expected to be nil")]
#[case("validators", &plugin("LabelTransformer", "labels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]\n"), "validator shouldn't modify the resource map")]
fn configurations_that_cannot_work_are_refused(
    #[case] field: &str,
    #[case] plugin: &str,
    #[case] wanted: &str,
) {
    let error = built(field, plugin).unwrap_err();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn validators_may_add_their_mark() {
    let mark = "labels: {validated-by: me}\nfieldSpecs: [{path: metadata/labels, create: true}]\n";
    let out = built("validators", &plugin("LabelTransformer", mark)).unwrap();
    assert!(out.contains("validated-by: me"), "{out}");
}

#[test]
fn plugins_get_no_fields_by_default() {
    let out = built("transformers", &plugin("LabelTransformer", "labels: {a: b}\n")).unwrap();
    assert!(!out.contains("labels"), "{out}");
}
