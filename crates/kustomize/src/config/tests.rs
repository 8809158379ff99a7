use std::sync::Arc;

use super::Config;

fn read(text: &str) -> Result<Arc<Config>, crate::Error> {
    Config::read("config.yaml", text.as_bytes().to_vec()).map(Arc::new)
}

#[test]
fn the_default_table_is_complete() {
    let config = Config::defaults();
    assert_eq!(config.common_labels.len(), 32);
    assert_eq!(config.template_labels.len(), 10);
    assert_eq!(config.common_annotations.len(), 9);
    assert_eq!(config.var_reference.len(), 72);
    assert_eq!(config.name_reference.len(), 16);
    let referrers: usize = config.name_reference.iter().map(|reference| reference.referrers.len()).sum();
    assert_eq!(referrers, 166);
    assert!(config.replicas.iter().all(|spec| spec.create && spec.path == "spec/replicas"));
    assert_eq!(config.replicas[0].kind, "Deployment");
}

#[test]
fn configurations_add_to_what_is_there() {
    let defaults = Config::defaults();
    let more =
        read("nameReference:\n- kind: ConfigMap\n  version: v1\n  fieldSpecs:\n  - {kind: X, path: a/b}\n")
            .unwrap();
    let merged = defaults.merged(&more).unwrap();
    assert_eq!(merged.name_reference.len(), 16);
    let added =
        merged.name_reference.iter().flat_map(|reference| &reference.referrers).find(|spec| spec.kind == "X");
    assert!(added.is_some());
    assert!(Arc::ptr_eq(&defaults.merged(&defaults).unwrap(), &defaults));
}

#[test]
fn contradictions_and_unknown_sections_are_errors() {
    let defaults = Config::defaults();
    let other = read("commonLabels:\n- {path: metadata/labels}\n").unwrap();
    let error = defaults.merged(&other).unwrap_err().to_string();
    assert_eq!(error, "failed to merge CommonLabels fieldSpec: conflicting fieldspecs");
    let error = read("namePrefixes: []\n").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "error unmarshaling JSON: while decoding JSON: json: unknown field \"namePrefixes\""
        )
    );
}

#[test]
fn the_defaults_hide_nothing_of_themselves() {
    let defaults = Config::defaults();
    let unsettled = Arc::new(Config { is_settled: false, ..Config::clone(&defaults) });
    let merged = Arc::new(Config::default()).merged(&unsettled).unwrap();
    assert_eq!(merged, defaults);
}

#[test]
fn specific_fields_hide_the_general_one() {
    let custom = read("namePrefix:\n- {kind: Deployment, path: metadata/name}\n").unwrap();
    let own = Config::defaults().merged(&custom).unwrap();
    let merged = Arc::new(Config::default()).merged(&own).unwrap();
    assert_eq!(merged.name_prefix.len(), 1);
    assert_eq!(merged.name_prefix[0].kind, "Deployment");
}
