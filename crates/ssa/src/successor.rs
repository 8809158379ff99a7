//! The object that takes the place of one that is to be deleted: would the API server make it (KS-SSA-52)?
//!
//! It is tried while the old one is there and holds what only one object can have: the name, addresses, a place in a quota. A refusal
//! for one of these says nothing against the new object.

use std::collections::{HashMap, HashSet};

use kube::api::DynamicObject;
use serde_json::Value;

use crate::Manifest;
use crate::error::status;

/// Objects of which a quota counts the number under their own name.
const COUNTED: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// Fields of a Service that only one can have.
const ADDRESSES: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// Returns true for a manifest that names one state of an object, as one that was exported from a cluster: no new object can be made
/// of it.
pub(crate) fn is_of_one_state(manifest: &Manifest) -> bool {
    let has =
        |field| manifest.value().pointer(field).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    has("/metadata/uid") || has("/metadata/resourceVersion")
}

/// Returns the new object without the addresses, ports and default that the old one still holds.
pub(crate) fn beside(manifest: &Manifest, live: &DynamicObject) -> Value {
    let mut value = manifest.value().clone();
    match (manifest.id().group.as_str(), manifest.id().kind.as_str()) {
        ("", "Service") => drop_addresses(&mut value, live),
        // There is one default at most.
        ("scheduling.k8s.io", "PriorityClass")
            if live.data.get("globalDefault") == Some(&Value::Bool(true)) =>
        {
            value.as_object_mut().map(|class| class.shift_remove("globalDefault"));
        }
        _ => {}
    }
    value
}

fn drop_addresses(value: &mut Value, live: &DynamicObject) {
    let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let held = live.data.get("spec");
    spec.retain(|field, value| {
        let is_address = ADDRESSES.contains(&field.as_str()) && !is_headless(value);
        !(is_address && held.and_then(|held| held.get(field)) == Some(value))
    });
    let node_port = |port: &Value| port.get("nodePort").and_then(Value::as_u64);
    let ports = held.and_then(|held| held.get("ports")).and_then(Value::as_array);
    let held: HashSet<u64> = ports.into_iter().flatten().filter_map(node_port).collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        if node_port(port).is_some_and(|number| held.contains(&number)) {
            port.as_object_mut().map(|port| port.shift_remove("nodePort"));
        }
    }
}

/// Returns true for the value by which a Service has no address, which any number of them may have.
fn is_headless(value: &Value) -> bool {
    value == "None" || value.get(0).is_some_and(|first| first == "None")
}

/// Returns true when the server refuses the object only because the old one is still there. It validates an object before it looks
/// whether the name is taken.
pub(crate) fn is_only_in_the_way(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| {
        status.reason == "AlreadyExists" || (status.code == 403 && lacks_one_place(&status.message))
    })
}

/// Returns true for the refusal of a quota in which the place of one object is all that is missing, and the old object has that. Of
/// amounts, like those of storage, and of objects of one class, the new one may need what the old one does not have.
fn lacks_one_place(text: &str) -> bool {
    quota(text).is_some_and(|[requested, used, limited]| {
        requested.iter().all(|(name, count)| {
            let is_place = name.starts_with("count/") || COUNTED.contains(name);
            is_place
                && *count == 1
                && used.get(name).zip(limited.get(name)).is_some_and(|(used, limit)| used <= limit)
        })
    })
}

/// Reads the refusal of a quota: the counts that are requested, used and allowed.
fn quota(text: &str) -> Option<[HashMap<&str, u64>; 3]> {
    let (_, text) = text.split_once("exceeded quota: ")?;
    let (_, text) = text.split_once(", requested: ")?;
    let (requested, text) = text.split_once(", used: ")?;
    let (used, limited) = text.split_once(", limited: ")?;
    Some([counts(requested)?, counts(used)?, counts(limited)?])
}

fn counts(text: &str) -> Option<HashMap<&str, u64>> {
    text.split(',')
        .map(|part| part.split_once('=').and_then(|(name, count)| Some((name, count.parse().ok()?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::addresses("v1", "Service",
        json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 1, "nodePort": 30001}, {"port": 2, "nodePort": 30002}]}}),
        json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 9, "nodePort": 30001}]}}),
        json!({"spec": {"ports": [{"port": 1}, {"port": 2, "nodePort": 30002}]}}))]
    #[case::other_address("v1", "Service", json!({"spec": {"clusterIP": "10.0.0.2"}}), json!({"spec": {"clusterIP": "10.0.0.1"}}),
        json!({"spec": {"clusterIP": "10.0.0.2"}}))]
    #[case::headless("v1", "Service", json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
        json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}), json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}))]
    #[case::default("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 2, "globalDefault": true}), json!({"globalDefault": true}), json!({"value": 2}))]
    #[case::new_default("scheduling.k8s.io/v1", "PriorityClass", json!({"globalDefault": true}), json!({}), json!({"globalDefault": true}))]
    fn an_object_is_tried_without_what_the_old_one_leaves_to_it(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] desired: Value,
        #[case] live: Value,
        #[case] expected: Value,
    ) {
        let object = |fields: &Value| {
            let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
            object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            object
        };
        let manifest = Manifest::try_from(object(&desired)).unwrap();
        let live: DynamicObject = serde_json::from_value(object(&live)).unwrap();
        assert_eq!(beside(&manifest, &live), object(&expected));
    }

    #[rstest]
    #[case::name(409, "AlreadyExists", "jobs.batch \"x\" already exists", true)]
    #[case::invalid(422, "Invalid", "spec.template: Required value", false)]
    #[case::denied(403, "Forbidden", "jobs.batch is forbidden: User \"u\" cannot create resource", false)]
    #[case::quota(
        403,
        "Forbidden",
        "jobs.batch \"x\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1",
        true
    )]
    #[case::one_of_two(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: pods=1,count/pods=1, used: pods=1,count/pods=3, limited: pods=1,count/pods=2",
        false
    )]
    #[case::amount(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=1Gi, limited: requests.storage=1Gi",
        false
    )]
    #[case::cores(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2",
        false
    )]
    #[case::class(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1, used: gold.storageclass.storage.k8s.io/persistentvolumeclaims=2, limited: gold.storageclass.storage.k8s.io/persistentvolumeclaims=2",
        false
    )]
    #[case::own_name(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
        true
    )]
    #[case::lowered(
        403,
        "Forbidden",
        "forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=2",
        false
    )]
    fn refusals_that_the_old_object_is_to_blame_for(
        #[case] code: u16,
        #[case] reason: &str,
        #[case] message: &str,
        #[case] expected: bool,
    ) {
        let status = Status { code, reason: reason.into(), message: message.into(), ..Status::default() };
        assert_eq!(is_only_in_the_way(&kube::Error::Api(Box::new(status))), expected);
    }
}
