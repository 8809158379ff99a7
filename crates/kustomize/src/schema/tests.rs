use rstest::rstest;

use super::Schema;
use crate::id::Gvk;
use crate::input::parse_one;

fn keys_at(schema: &Schema, api_version: &str, kind: &str, path: &[&str]) -> Option<Vec<String>> {
    let mut current = schema.type_of(Gvk::new(api_version, kind));
    let mut keys = None;
    for name in path {
        let field = current.and_then(|id| schema.field(id, name));
        keys = field.and_then(|field| field.merge_keys.clone());
        current = field.and_then(|field| field.target);
    }
    keys
}

#[rstest]
#[case("apps/v1", "Deployment", "spec/template/spec/containers/ports", Some("containerPort,protocol"))]
#[case("batch/v1", "CronJob", "spec/jobTemplate/spec/template/spec/initContainers/env", Some("name"))]
#[case("v1", "Service", "spec/ports", Some("port,protocol"))]
#[case("v1", "ConfigMap", "metadata/finalizers", Some(""))]
#[case("v1", "Pod", "spec/containers/args", None)]
#[case("v1", "Pod", "spec/ephemeralContainers/ports", None)]
#[case("networking.k8s.io/v1", "Ingress", "spec/rules", None)]
#[case("example.com/v1", "Thing", "metadata/finalizers", None)]
fn built_in_lists_merge_by_their_keys(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] path: &str,
    #[case] wanted: Option<&str>,
) {
    let path: Vec<&str> = path.split('/').collect();
    let keys = keys_at(Schema::built_in(), api_version, kind, &path).map(|keys| keys.join(","));
    assert_eq!(keys.as_deref(), wanted);
}

#[rstest]
#[case("v1", "Namespace", true)]
#[case("v1", "Pod", false)]
#[case("rbac.authorization.k8s.io/v1", "ClusterRole", true)]
#[case("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", false)]
#[case("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", true)]
fn cluster_scope_is_certain_for_listed_pairs_only(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] wanted: bool,
) {
    assert_eq!(Schema::built_in().is_cluster_scoped(Gvk::new(api_version, kind)), wanted);
}

const CUSTOM: &str = r#"{"definitions": {
  "my.Thing": {
    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
    "properties": {"spec": {"properties": {"parts": {
      "items": {"$ref": "\#/definitions/my.Part"},
      "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}},
  "my.Part": {"properties": {"subs": {"x-kubernetes-list-map-keys": ["a", "b"],
      "x-kubernetes-patch-strategy": "merge"}}}},
 "paths": {"/apis/example.com/v1/things": {"get": {
   "x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Thing"}}}}}"#;

#[test]
fn custom_schemas_replace_or_extend_the_built_in_types() {
    let document = parse_one(&CUSTOM.replace("\\#", "#"));
    let alone = Schema::custom(&document, None).unwrap();
    let added = Schema::custom(&document, Some(Schema::built_in())).unwrap();
    for schema in [&alone, &added] {
        assert_eq!(
            keys_at(schema, "example.com/v1", "Thing", &["spec", "parts"]),
            Some(vec!["name".to_owned()])
        );
        assert_eq!(keys_at(schema, "example.com/v1", "Thing", &["spec", "parts", "subs"]).unwrap().len(), 2);
        assert!(schema.is_cluster_scoped(Gvk::new("example.com/v1", "Thing")));
        assert!(schema.is_cluster_scoped(Gvk::new("v1", "Namespace")));
    }
    assert!(alone.type_of(Gvk::new("apps/v1", "Deployment")).is_none());
    assert!(added.type_of(Gvk::new("apps/v1", "Deployment")).is_some());
    assert!(Schema::built_in().type_of(Gvk::new("example.com/v1", "Thing")).is_none());
}
