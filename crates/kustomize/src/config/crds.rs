//! `crds`: OpenAPI snippets that mark fields of custom types (KZ-1206).

use weir_yaml::{Map, Node, Value, read_first_document, yaml11_value};

use super::{Config, ConfigError, NameReference};
use crate::Error;
use crate::fieldspec::FieldSpec;

/// Longest chain of types that is followed; real types nest a handful of levels, cycles would not end.
const MAX_DEPTH: usize = 32;
/// Fields of all types of a file, those of referenced types once for each reference. The types of Kubernetes have some
/// ten thousand; types that refer to each other have without end.
const MAX_FIELDS: usize = 100_000;

/// Reads one file of `crds`.
pub(crate) fn from_crds(file: &str, content: Vec<u8>) -> Result<Config, Error> {
    let unusable = |problem| ConfigError::Crds { file: file.to_owned(), problem };
    let is_json = content.starts_with(b"{");
    let node = read_first_document(file, content);
    let node = node.map_err(|cause| unusable(format!("error converting YAML to JSON: {cause}")))?;
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Config::default()) };
    let decoding = if is_json { "" } else { "error unmarshaling JSON: while decoding JSON: " };
    let types = types(&node).map_err(|problem| unusable(format!("{decoding}{problem}")))?;
    let (mut config, mut left) = (Config::default(), MAX_FIELDS);
    for (name, definition) in types.iter() {
        let kind = name.rsplit('.').next().unwrap_or(name);
        if is_root(definition) {
            let mut walk = Walk { types, kind, config: &mut config, left: &mut left };
            walk.properties(definition, &[], 0).map_err(unusable)?;
        }
    }
    config.sort();
    Ok(config)
}

/// Returns the types by name. A manifest is no map of types, not even one of a CustomResourceDefinition. Of several values
/// that are no types, the error names the one that Go comes to first: its names are sorted.
fn types(node: &Node) -> Result<&Map, String> {
    let mismatch = |node, wanted| {
        format!("json: cannot unmarshal {} into Go value of type accumulator.{wanted}", json_kind(node))
    };
    let types = node.as_map().ok_or_else(|| mismatch(node, "nameToApiMap"))?;
    let others = types.iter().filter(|(_, value)| value.as_map().is_none() && !value.is_null());
    match others.min_by_key(|(name, _)| *name) {
        Some((_, value)) => Err(mismatch(value, "OpenAPIDefinition")),
        None => Ok(types),
    }
}

fn json_kind(node: &Node) -> &'static str {
    match node {
        Node::Map(_) => "object",
        Node::Seq(_) => "array",
        Node::Scalar(scalar) => match yaml11_value(scalar) {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Str(_) => "string",
            Value::Int(_) | Value::Uint(_) | Value::Float(_) => "number",
        },
    }
}

fn properties(definition: &Node) -> Option<&Map> {
    let schema = definition.get("Schema").or_else(|| definition.get("schema"))?;
    schema.get("properties").and_then(Node::as_map)
}

/// Root types are those that make objects of their own.
fn is_root(definition: &Node) -> bool {
    properties(definition)
        .is_some_and(|map| ["kind", "apiVersion", "metadata"].iter().all(|name| map.contains(name)))
}

struct Walk<'c> {
    types: &'c Map,
    kind: &'c str,
    config: &'c mut Config,
    /// Fields that may still be visited.
    left: &'c mut usize,
}

impl Walk<'_> {
    fn properties(&mut self, definition: &Node, path: &[&str], depth: usize) -> Result<(), String> {
        if depth >= MAX_DEPTH {
            return Ok(());
        }
        for (name, property) in properties(definition).into_iter().flat_map(Map::iter) {
            *self.left = self.left.checked_sub(1).ok_or_else(|| format!("more than {MAX_FIELDS} fields"))?;
            let path: Vec<&str> = path.iter().copied().chain([name]).collect();
            self.property(property, &path);
            if let Some(target) = property.text_at(&["$ref"]).and_then(|name| self.types.get(name)) {
                self.properties(target, &path, depth + 1)?;
            }
        }
        Ok(())
    }

    fn property(&mut self, property: &Node, path: &[&str]) {
        let spec = |path: &[&str]| FieldSpec {
            kind: self.kind.to_owned(),
            path: path.join("/"),
            ..FieldSpec::default()
        };
        if property.get("x-kubernetes-annotation").is_some() {
            self.config.common_annotations.push(spec(path));
        }
        if property.get("x-kubernetes-label-selector").is_some() {
            self.config.common_labels.push(spec(path));
        }
        if property.get("x-kubernetes-identity").is_some() {
            self.config.name_prefix.push(spec(path));
        }
        let (Some(kind), Some(version)) = (
            property.text_at(&["x-kubernetes-object-ref-kind"]),
            property.text_at(&["x-kubernetes-object-ref-api-version"]),
        ) else {
            return;
        };
        let key = property.text_at(&["x-kubernetes-object-ref-name-key"]).unwrap_or("name");
        let path: Vec<&str> = path.iter().copied().chain([key]).collect();
        let referrers = vec![spec(&path)];
        self.config.name_reference.push(NameReference {
            kind: kind.to_owned(),
            version: version.to_owned(),
            referrers,
            ..NameReference::default()
        });
    }
}
