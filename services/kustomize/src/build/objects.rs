//! The objects that one document of a build stands for: itself, or the items of a list (KS-BLD-40).

use serde_json::Value;
use weir_ssa::Manifest;

/// Adds the objects of a document. A kustomization file, and an item of a list that is no object, are left out.
pub(super) fn collect(document: Value, manifests: &mut Vec<Manifest>) {
    if let Some(items) = items(&document) {
        items.iter().for_each(|item| collect(item.clone(), manifests));
    } else if !is_kustomization_file(&document) {
        manifests.extend(Manifest::try_from(document).ok());
    }
}

/// Returns the number of objects that [`collect`] adds.
pub(super) fn count(document: &Value) -> usize {
    match items(document) {
        Some(items) => items.iter().map(count).sum(),
        None => usize::from(!is_kustomization_file(document) && Manifest::identify(document).is_ok()),
    }
}

/// Returns true if a document has a kind, and a version of the form `v1` or `group/v1`.
pub(super) fn has_kind(document: &Value) -> bool {
    !text(document, "kind").is_empty() && text(document, "apiVersion").matches('/').count() < 2
}

/// Returns the field without which a document, or the first such item of a list, is no object.
pub(super) fn missing(document: &Value) -> &'static str {
    let Some(items) = items(document) else {
        return Manifest::identify(document).err().map_or("its own kind", |error| error.field);
    };
    let incomplete = items.iter().find(|item| count(item) == 0);
    incomplete.map_or("items", missing)
}

fn items(document: &Value) -> Option<&Vec<Value>> {
    let is_list = text(document, "kind").ends_with("List");
    document.get("items").filter(|_| is_list)?.as_array()
}

fn is_kustomization_file(document: &Value) -> bool {
    text(document, "apiVersion").starts_with("kustomize.config.k8s.io/")
        && text(document, "kind") == "Kustomization"
}

fn text<'v>(document: &'v Value, field: &str) -> &'v str {
    document.get(field).and_then(Value::as_str).unwrap_or_default()
}
