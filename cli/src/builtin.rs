//! Kubernetes' own kinds, read as JSON. This command needs a handful of their fields; their types are hundreds of structures,
//! and for each of them a parser would have to be compiled.

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Client, Resource};
use serde_json::Value;

use crate::kind::condition;

/// Returns the API of a kind in one namespace.
pub(crate) fn namespaced<K: Resource<DynamicType = ()>>(
    client: &Client,
    namespace: &str,
) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<K>(&()))
}

/// Returns the API of a kind in the whole cluster.
pub(crate) fn all<K: Resource<DynamicType = ()>>(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<K>(&()))
}

/// Returns a kind as a manifest names it: `apps/v1` and `Deployment`.
pub(crate) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Returns the values of an array at a JSON pointer; none where there is no array.
pub(crate) fn array<'a>(object: &'a DynamicObject, pointer: &str) -> &'a [Value] {
    object.data.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the images of a Deployment's containers.
pub(crate) fn images(deployment: &DynamicObject) -> impl Iterator<Item = &str> {
    let containers = array(deployment, "/spec/template/spec/containers").iter();
    containers.filter_map(|container| container.get("image")?.as_str())
}

/// Returns the labels at a JSON pointer as a selector; empty where there are none.
pub(crate) fn selector(object: &DynamicObject, pointer: &str) -> String {
    let labels = object.data.pointer(pointer).and_then(Value::as_object);
    let labels = labels.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
    labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// Returns true when a Pod is ready.
pub(crate) fn is_ready(pod: &DynamicObject) -> bool {
    condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}
