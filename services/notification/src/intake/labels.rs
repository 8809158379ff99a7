//! Labels of the object that an event is about (NTF-27).

use std::collections::BTreeMap;

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

use crate::event::ObjectReference;

/// Reads the metadata of the object by its own apiVersion, kind and name.
pub(super) async fn of(
    client: &kube::Client,
    object: &ObjectReference,
) -> Result<BTreeMap<String, String>, String> {
    let version = object.api_version.rsplit('/').next().unwrap_or_default();
    if version.is_empty() {
        return Err("the event names no apiVersion".to_owned());
    }
    let gvk = GroupVersionKind::gvk(object.group(), version, &object.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &crate::kind::plural(&object.kind));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &object.namespace, &resource);
    let found = api.get_metadata(&object.name).await.map_err(crate::api_reason)?;
    Ok(found.metadata.labels.unwrap_or_default())
}

/// Returns true when all of these labels are there.
pub(super) fn match_all(wanted: &BTreeMap<String, String>, labels: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}
