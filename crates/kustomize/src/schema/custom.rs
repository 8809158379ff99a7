//! Reads OpenAPI documents that users bring along (KZ-1210).

use std::collections::HashMap;

use weir_yaml::{Map, Node};

use super::{Field, Schema, SchemaError, Type, TypeId, kind_key};
use crate::id::Gvk;

const GVK_EXTENSION: &str = "x-kubernetes-group-version-kind";

pub(super) fn read(document: &Node, base: Option<&Schema>) -> Result<Schema, SchemaError> {
    let Some(root) = document.as_map() else { return Err(SchemaError::NotASchema) };
    let mut schema = base.cloned().unwrap_or_else(|| Schema {
        cluster_scoped: Schema::built_in().cluster_scoped.clone(),
        ..Schema::default()
    });
    if let Some(definitions) = root.get("definitions").and_then(Node::as_map) {
        let mut reader = Reader::new(&mut schema, definitions);
        reader.read_all(definitions);
    }
    if let Some(paths) = root.get("paths").and_then(Node::as_map) {
        read_scopes(&mut schema, paths);
    }
    Ok(schema)
}

/// Turns definitions into types; references may point forward, so ids are given out first.
struct Reader<'s> {
    schema: &'s mut Schema,
}

impl<'s> Reader<'s> {
    fn new(schema: &'s mut Schema, definitions: &Map) -> Self {
        let first = schema.types.len();
        for (index, (name, _)) in definitions.iter().enumerate() {
            schema.definitions.insert(name.to_owned(), first + index);
        }
        schema.types.resize_with(first + definitions.len(), Type::default);
        Self { schema }
    }

    fn read_all(&mut self, definitions: &Map) {
        for (name, definition) in definitions.iter() {
            let Some(id) = self.schema.definitions.get(name).copied() else { continue };
            let read = self.read_type(definition);
            if let Some(slot) = self.schema.types.get_mut(id) {
                *slot = read;
            }
            for gvk in definition.get(GVK_EXTENSION).and_then(Node::as_seq).unwrap_or_default() {
                self.schema.kinds.insert(kind_key(gvk_of(gvk)), id);
            }
        }
    }

    fn read_type(&mut self, definition: &Node) -> Type {
        let mut fields = HashMap::new();
        for (name, property) in
            definition.get("properties").and_then(Node::as_map).into_iter().flat_map(Map::iter)
        {
            fields.insert(name.to_owned(), self.read_field(property));
        }
        let additional = definition
            .get("additionalProperties")
            .filter(|node| node.as_map().is_some())
            .map(|node| self.read_field(node));
        Type { fields, additional }
    }

    fn read_field(&mut self, property: &Node) -> Field {
        let element = property.get("items").unwrap_or(property);
        let merges = property
            .text_at(&["x-kubernetes-patch-strategy"])
            .is_some_and(|strategy| strategy.contains("merge"));
        Field { target: self.target_of(element), merge_keys: merges.then(|| merge_keys(property)) }
    }

    fn target_of(&mut self, property: &Node) -> Option<TypeId> {
        if let Some(reference) = property.text_at(&["$ref"]) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return self.schema.definitions.get(name).copied();
        }
        if property.get("properties").is_none() && property.get("additionalProperties").is_none() {
            return None;
        }
        let read = self.read_type(property);
        self.schema.types.push(read);
        Some(self.schema.types.len().saturating_sub(1))
    }
}

fn merge_keys(property: &Node) -> Vec<String> {
    if let Some(keys) = property.get("x-kubernetes-list-map-keys").and_then(Node::as_seq) {
        return keys.iter().filter_map(Node::text).map(str::to_owned).collect();
    }
    property.text_at(&["x-kubernetes-patch-merge-key"]).map(str::to_owned).into_iter().collect()
}

fn gvk_of(node: &Node) -> Gvk<'_> {
    let text = |key| node.text_at(&[key]).unwrap_or_default();
    Gvk { group: text("group"), version: text("version"), kind: text("kind") }
}

/// A kind is cluster-scoped when it is served, and never below a namespace.
fn read_scopes(schema: &mut Schema, paths: &Map) {
    let mut is_namespaced: HashMap<String, bool> = HashMap::new();
    for (path, operations) in paths.iter() {
        let Some(gvk) = operations.at(&["get", GVK_EXTENSION]) else { continue };
        *is_namespaced.entry(kind_key(gvk_of(gvk))).or_default() |= path.contains("namespaces/{namespace}");
    }
    let cluster_scoped = is_namespaced.into_iter().filter(|(_, namespaced)| !namespaced).map(|(key, _)| key);
    schema.cluster_scoped.extend(cluster_scoped);
}
