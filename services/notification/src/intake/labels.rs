//! Labels of the object that an event is about (NTF-27).

use std::collections::BTreeMap;

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use weir_label::CURRENT;
use weir_runtime::client::reason;

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
    let found = api.get_metadata(&object.name).await.map_err(reason)?;
    Ok(found.metadata.labels.unwrap_or_default())
}

/// Returns true when all of these labels are there.
pub(super) fn match_all(wanted: &BTreeMap<String, String>, labels: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Returns true when labels of these names and values can be there at all.
pub(super) fn are_valid(wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| {
        CURRENT.faults_of_key(key).is_empty() && CURRENT.faults_of_value(value).is_empty()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("app.kubernetes.io/name", "web-1", true)]
    #[case("team", "", true)]
    #[case("team", "a b", false)]
    #[case("team", "-a", false)]
    #[case("", "a", false)]
    #[case("te am", "a", false)]
    #[case("Example.com/team", "a", false)]
    #[case("a/b/team", "a", false)]
    fn labels_that_can_be(#[case] key: &str, #[case] value: &str, #[case] expected: bool) {
        assert_eq!(are_valid(&BTreeMap::from([(key.to_owned(), value.to_owned())])), expected);
    }
}
