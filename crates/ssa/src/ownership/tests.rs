use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn managers() -> Managers {
    Managers { own: "kustomize-controller".into(), overridden: vec!["old-tool".into()] }
}

fn meta(entries: Value) -> ObjectMeta {
    serde_json::from_value(json!({"name": "x", "resourceVersion": "7", "managedFields": entries})).unwrap()
}

fn entry(manager: &str, operation: &str, field: &str) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {format!("f:{field}"): {}}}})
}

#[rstest]
#[case::kubectl_edit("kubectl-edit", "Update", true)]
#[case::kubectl_apply("kubectl", "Apply", true)]
#[case::first("before-first-apply", "Update", true)]
#[case::first_applied("before-first-apply", "Apply", false)]
#[case::own_update("kustomize-controller", "Update", true)]
#[case::flag("old-tool", "Apply", true)]
#[case::flux_escape_hatch("flux-client-side-apply", "Apply", false)]
#[case::other("helm", "Update", false)]
fn managers_whose_fields_become_ours(#[case] name: &str, #[case] operation: &str, #[case] taken: bool) {
    let live = meta(json!([entry("kustomize-controller", "Apply", "a"), entry(name, operation, "b")]));
    let patch = managers().cleanup(&live);
    assert_eq!(patch.is_some(), taken);
    if let Some(patch) = patch {
        let fields = &patch[0]["value"][0]["fieldsV1"];
        assert_eq!(*fields, json!({"f:data": {"f:a": {}, "f:b": {}}}));
        assert_eq!(patch[1], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
    }
}

#[test]
fn first_foreign_entry_is_renamed_when_we_have_none() {
    let live = meta(json!([entry("kubectl-create", "Update", "a"), entry("helm", "Apply", "b")]));
    let patch = managers().cleanup(&live).unwrap();
    let names: Vec<_> = patch[0]["value"].as_array().unwrap().iter().map(|e| e["manager"].as_str()).collect();
    assert_eq!(names, [Some("helm"), Some("kustomize-controller")]);
    assert_eq!(patch[0]["value"][1]["operation"], "Apply");
}

#[test]
fn status_entries_and_clean_objects_are_left_alone() {
    let mut status = entry("kubectl", "Update", "a");
    status["subresource"] = json!("status");
    assert_eq!(managers().cleanup(&meta(json!([status]))), None);
    assert_eq!(managers().cleanup(&meta(json!([entry("kustomize-controller", "Apply", "a")]))), None);
}

#[test]
fn marks_of_other_tools_are_removed() {
    let mut live = meta(json!([]));
    live.annotations = Some([(OLD_ANNOTATIONS[0].to_owned(), "{}".to_owned())].into());
    let patch = managers().cleanup(&live).unwrap();
    let path = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
    assert_eq!(patch[0], json!({"op": "remove", "path": path}));
}

/// KS-SSA-22
#[test]
fn managers_of_other_versions_are_migrated_and_become_one() {
    let of = |version: &str, field: &str| {
        let mut entry = entry("kustomize-controller", "Apply", field);
        entry["apiVersion"] = json!(version);
        entry
    };
    let live = meta(json!([of("v1beta1", "a"), of("v1", "b"), entry("helm", "Update", "c")]));
    let patch = migration(&live, "v1").unwrap();
    let entries = &patch[0]["value"];
    assert_eq!(entries[0]["fieldsV1"], json!({"f:data": {"f:a": {}, "f:b": {}}}));
    assert_eq!((&entries[0]["apiVersion"], &entries[1]["manager"]), (&json!("v1"), &json!("helm")));
    assert_eq!(patch[1], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
    assert_eq!(migration(&meta(json!([of("v1", "a")])), "v1"), None);
}

fn live_object(meta: &ObjectMeta) -> LiveObject {
    serde_json::from_value(json!({"metadata": meta})).unwrap()
}

fn fingerprint(entries: Value) -> u64 {
    managers().fingerprint("kustomize.toolkit.fluxcd.io", &live_object(&meta(entries)))
}

#[test]
fn fingerprint_heeds_our_fields_and_managers_to_take_over_only() {
    let own = || entry("kustomize-controller", "Apply", "a");
    let clean = fingerprint(json!([own()]));
    assert_eq!(clean, fingerprint(json!([own(), entry("helm", "Update", "b")])));
    assert_ne!(clean, fingerprint(json!([entry("kustomize-controller", "Apply", "b")])));
    assert_ne!(clean, fingerprint(json!([own(), entry("kubectl-edit", "Update", "b")])));
    assert_ne!(clean, fingerprint(json!([])));
    let at = |time: &str| {
        let mut own = own();
        own["time"] = json!(time);
        fingerprint(json!([own]))
    };
    assert_ne!(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:01Z"), "other values in our name");
}

#[test]
fn fingerprint_heeds_toolkit_annotations_only() {
    let group = "kustomize.toolkit.fluxcd.io";
    let with = |key: &str| {
        let mut live = meta(json!([]));
        live.annotations = Some([(key.to_owned(), "x".to_owned())].into());
        managers().fingerprint(group, &live_object(&live))
    };
    assert_eq!(fingerprint(json!([])), with("deployment.kubernetes.io/revision"));
    assert_ne!(fingerprint(json!([])), with("kustomize.toolkit.fluxcd.io/reconcile"));
}

proptest! {
    #[test]
    fn union_of_fields_holds_both(a in fields(), b in fields()) {
        let union = union_fields(a.clone(), b.clone());
        prop_assert_eq!(union_fields(union.clone(), a.clone()), union.clone());
        prop_assert_eq!(union_fields(union.clone(), b), union.clone());
        prop_assert_eq!(union_fields(a.clone(), a.clone()), a);
    }
}

fn fields() -> impl Strategy<Value = Value> {
    Just(json!({})).prop_recursive(3, 12, 3, |inner| {
        prop::collection::btree_map("f:[a-c]", inner, 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}
