use std::collections::HashMap;

use kube::ResourceExt;
use kube::api::DynamicObject;
use weir_api::{KUSTOMIZE_NAME_LABEL, KUSTOMIZE_NAMESPACE_LABEL};
use weir_ssa::ObjectId;

use crate::cluster::{Cluster, Selection};
use crate::kind::Kind;

/// From so many on, Kustomizations are listed; fewer are read one by one, for which the right to get them is enough.
const LISTED_FROM: usize = 5;

/// Reads the Kustomizations among `children` with one request, by the labels that they have from the one that applies them. One that the
/// answer has not, because somebody took its labels away or the user may not list, is missing in the result.
pub(super) async fn below(
    cluster: &Cluster,
    kind: &'static Kind,
    parent: &ObjectId,
    children: &[ObjectId],
) -> HashMap<ObjectId, DynamicObject> {
    let wanted = || children.iter().filter(|child| child.group == kind.group && child.kind == kind.name);
    let mut namespaces: Vec<_> = wanted().map(|child| &child.namespace).collect();
    if namespaces.len() < LISTED_FROM {
        return HashMap::new();
    }
    namespaces.sort_unstable();
    namespaces.dedup();
    let all_namespaces = namespaces.len() > 1;
    let labels =
        format!("{KUSTOMIZE_NAME_LABEL}={},{KUSTOMIZE_NAMESPACE_LABEL}={}", parent.name, parent.namespace);
    let selection = Selection { all_namespaces, name: None, labels: Some(labels) };
    let cluster = cluster.in_namespace(namespaces.first().map_or("", |namespace| namespace));
    let listed = cluster.list(kind, &selection).await.unwrap_or_default();
    let id =
        |object: &DynamicObject| super::id(kind, &object.namespace().unwrap_or_default(), &object.name_any());
    listed.into_iter().map(|object| (id(&object), object)).collect()
}
