use rstest::rstest;
use serde_json::json;

use super::*;
use crate::ownership::Managers;

fn object(value: &Value, managers: &[(&str, &str, Value)]) -> DynamicObject {
    let fields: Vec<Value> = managers
        .iter()
        .map(|(manager, operation, fields)| json!({"manager": manager, "operation": operation, "fieldsV1": fields}))
        .collect();
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    object["metadata"]["managedFields"] = json!(fields);
    object["spec"] = value.clone();
    serde_json::from_value(object).unwrap()
}

fn others(live: &DynamicObject, is_taking_over: bool) -> Vec<&Value> {
    let managers = Managers { own: "me".to_owned(), overridden: vec!["mine".to_owned()] };
    managers.others_that_apply(&live.metadata, is_taking_over)
}

#[rstest]
#[case::field("/spec/replicas", json!({"paused": true, "list": [1, 2]}))]
#[case::item("/spec/list/0", json!({"paused": true, "replicas": 3, "list": [2]}))]
#[case::nowhere("/spec/no/such", json!({"paused": true, "replicas": 3, "list": [1, 2]}))]
#[case::no_pointer("spec/replicas", json!({"paused": true, "replicas": 3, "list": [1, 2]}))]
#[case::root("", json!({"paused": true, "replicas": 3, "list": [1, 2]}))]
fn fields_are_taken_out(#[case] pointer: &str, #[case] expected: Value) {
    let object = object(&json!({"paused": true, "replicas": 3, "list": [1, 2]}), &[]);
    assert_eq!(without(&object, &[pointer.to_owned()]).data["spec"], expected);
}

/// KS-SSA-73, KS-SSA-74
#[rstest]
#[case::applied_by_another(("vpa", "Apply"), json!({"f:spec": {"f:replicas": {}}}), json!({"paused": false}))]
#[case::updated_by_another(("hpa", "Update"), json!({"f:spec": {"f:replicas": {}}}), json!({"paused": false, "replicas": 5}))]
#[case::ours(("me", "Apply"), json!({"f:spec": {"f:replicas": {}}}), json!({"paused": false, "replicas": 5}))]
#[case::of_kubectl(("kubectl", "Apply"), json!({"f:spec": {"f:replicas": {}}}), json!({"paused": false, "replicas": 5}))]
#[case::of_an_overridden_manager(("mine", "Apply"), json!({"f:spec": {"f:replicas": {}}}), json!({"paused": false, "replicas": 5}))]
#[case::of_nobody(("vpa", "Apply"), json!({"f:spec": {"f:paused": {}}}), json!({"paused": false, "replicas": 5}))]
fn ignored_fields_are_left_out_or_taken_from_the_cluster(
    #[case] manager: (&str, &str),
    #[case] fields: Value,
    #[case] expected: Value,
) {
    let live = object(&json!({"paused": true, "replicas": 5}), &[(manager.0, manager.1, fields)]);
    let tried = object(&json!({"paused": false, "replicas": 2}), &[]);
    let mut manifest = json!({"spec": {"paused": false, "replicas": 2}});
    resolve(&mut manifest, &["/spec/replicas".to_owned()], &live, &tried, &others(&live, true));
    assert_eq!(manifest["spec"], expected);
}

/// An object that is merged with what others apply leaves them their fields.
#[test]
fn fields_that_kubectl_keeps_are_left_out() {
    let live =
        object(&json!({"replicas": 5}), &[("kubectl", "Apply", json!({"f:spec": {"f:replicas": {}}}))]);
    let tried = object(&json!({"replicas": 2}), &[]);
    let mut manifest = json!({"spec": {"replicas": 2}});
    resolve(&mut manifest, &["/spec/replicas".to_owned()], &live, &tried, &others(&live, false));
    assert_eq!(manifest["spec"], json!({}));
}

/// KS-SSA-73: a field that another has applied by way of `/scale` is adopted, as in Flux.
#[test]
fn a_field_that_is_applied_by_way_of_a_subresource_is_taken_from_the_cluster() {
    let mut live =
        object(&json!({"replicas": 5}), &[("scaler", "Apply", json!({"f:spec": {"f:replicas": {}}}))]);
    live.metadata.managed_fields.as_mut().unwrap()[0].subresource = Some("scale".to_owned());
    let tried = object(&json!({"replicas": 2}), &[]);
    let mut manifest = json!({"spec": {"replicas": 2}});
    resolve(&mut manifest, &["/spec/replicas".to_owned()], &live, &tried, &others(&live, true));
    assert_eq!(manifest["spec"], json!({"replicas": 5}));
}

#[test]
fn fields_that_do_not_differ_stay_in_what_is_sent() {
    let live = object(
        &json!({"selector": {"a": "b"}}),
        &[("other", "Apply", json!({"f:spec": {"f:selector": {}}}))],
    );
    let mut manifest = json!({"spec": {"selector": {"a": "b"}}});
    resolve(&mut manifest, &["/spec/selector".to_owned()], &live, &live.clone(), &others(&live, true));
    assert_eq!(manifest["spec"]["selector"], json!({"a": "b"}));
}

#[rstest]
#[case::by_key("/spec/containers/1/image", true)]
#[case::other_item("/spec/containers/0/image", false)]
#[case::no_such_item("/spec/containers/7/image", false)]
#[case::escaped("/metadata/annotations/a~1b", true)]
fn items_of_lists_are_known_by_their_keys(#[case] pointer: &str, #[case] expected: bool) {
    let live = json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}});
    let fields = json!({"f:spec": {"f:containers": {r#"k:{"name":"b"}"#: {".": {}, "f:image": {}}}},
        "f:metadata": {"f:annotations": {"f:a/b": {}}}});
    assert_eq!(names(&fields, &live, pointer), expected);
}
