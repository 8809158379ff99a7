use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::Value;

/// Kind of objects whose metrics may stand twice.
const SCALER: &str = "HorizontalPodAutoscaler";

/// Most metrics among which doubles are looked for, each beside all others: far more than anybody scales by.
const MAX_METRICS: usize = 256;

/// The field that is not ours.
const STATUS: &str = "status";

/// Returns true when an apply would change what people see of an object: labels, annotations, or anything outside
/// `metadata` and `status` (KS-SSA-40). Both objects come from the server, so its defaults are on both sides.
pub(crate) fn has_drifted(live: &DynamicObject, tried: &DynamicObject) -> bool {
    let maps = |object: &DynamicObject| {
        [&object.metadata.labels, &object.metadata.annotations].map(|map| map.clone().unwrap_or_default())
    };
    let (live_maps, tried_maps): ([BTreeMap<_, _>; 2], [BTreeMap<_, _>; 2]) = (maps(live), maps(tried));
    let is_scaler = tried.types.as_ref().is_some_and(|types| types.kind == SCALER);
    live_maps != tried_maps
        || match is_scaler {
            true => !same_but_status(&without_doubles(live), &without_doubles(tried)),
            false => !same_but_status(&live.data, &tried.data),
        }
}

/// Old API servers double the metrics of a scaler in a dry run, or add an empty one (KS-SSA-42).
fn without_doubles(object: &DynamicObject) -> Value {
    let mut data = object.data.clone();
    if let Some(Value::Array(metrics)) = data.pointer_mut("/spec/metrics")
        && metrics.len() <= MAX_METRICS
    {
        drop_doubles(metrics);
    }
    data
}

fn drop_doubles(metrics: &mut Vec<Value>) {
    let mut seen: Vec<Value> = Vec::new();
    metrics.retain(|metric| {
        let has_type = metric.get("type").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        let is_new = has_type && !seen.contains(metric);
        if is_new {
            seen.push(metric.clone());
        }
        is_new
    });
}

fn same_but_status(a: &Value, b: &Value) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return true };
    let fields = |map: &serde_json::Map<String, Value>| map.len() - usize::from(map.contains_key(STATUS));
    fields(a) == fields(b) && a.iter().all(|(key, a)| key == STATUS || b.get(key).is_some_and(|b| same(a, b)))
}

/// Deep equality in which null and empty are the same. A field that is there and empty is another thing than none: `podSelector: {}`
/// means all Pods.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ if is_empty(a) && is_empty(b) => true,
        _ => a == b,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(SCALER, false)]
    #[case("Deployment", true)]
    fn doubled_metrics_of_scalers_are_no_drift(#[case] kind: &str, #[case] expected: bool) {
        let object = |metrics: Value| -> DynamicObject {
            let object =
                json!({"apiVersion": "x/v1", "kind": kind, "metadata": {}, "spec": {"metrics": metrics}});
            serde_json::from_value(object).unwrap()
        };
        let once = json!([{"type": "a"}, {"type": "b"}]);
        for more in [json!({"type": "a"}), json!({"type": ""}), json!({})] {
            let twice = json!([{"type": "a"}, {"type": "b"}, more]);
            assert_eq!(has_drifted(&object(once.clone()), &object(twice)), expected);
        }
    }

    #[rstest]
    #[case(json!({"spec": {"a": 1}}), json!({"spec": {"a": 1}, "status": {"x": 1}}), false)]
    #[case(json!({"spec": {"a": {}}}), json!({"spec": {}}), true)]
    #[case(json!({"spec": {"a": {"b": {}}}}), json!({"spec": {"a": {"c": {}}}}), true)]
    #[case(json!({"spec": {"a": {}}}), json!({"spec": {"a": null}}), false)]
    #[case(json!({"spec": {"a": []}}), json!({"spec": {"a": null}}), false)]
    #[case(json!({"data": {"k": "1"}}), json!({"data": {"k": "2"}}), true)]
    #[case(json!({"spec": {"a": [1, 2]}}), json!({"spec": {"a": [2, 1]}}), true)]
    #[case(json!({"spec": {"a": ""}}), json!({"spec": {}}), true)]
    #[case(json!({"metadata": {"labels": {"a": "b"}}}), json!({}), true)]
    #[case(json!({"metadata": {"annotations": {}, "generation": 2}}), json!({}), false)]
    fn drift(#[case] live: Value, #[case] tried: Value, #[case] expected: bool) {
        let object = |mut value: Value| -> DynamicObject {
            value.as_object_mut().unwrap().entry("metadata").or_insert(json!({}));
            serde_json::from_value(value).unwrap()
        };
        assert_eq!(has_drifted(&object(live), &object(tried)), expected);
    }
}
