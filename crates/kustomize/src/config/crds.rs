//! `crds`: OpenAPI snippets that mark fields of custom types (KZ-1206).

use weir_yaml::{Limits, Map, Node, Source, parse_first_document};

use super::{Config, ConfigError, NameReference};
use crate::Error;
use crate::fieldspec::FieldSpec;

/// Longest chain of types that is followed; real types nest a handful of levels, cycles would not end.
const MAX_DEPTH: usize = 32;

/// Reads one file of `crds`.
pub(crate) fn from_crds(file: &str, content: Vec<u8>) -> Result<Config, Error> {
    let limits = Limits::default();
    let malformed = |cause| Error::MalformedYaml { file: file.to_owned(), cause };
    let source = Source::read(file, content, &limits).map_err(malformed)?;
    let node = parse_first_document(&source, &limits).map_err(malformed)?;
    let Some(types) = node.as_ref().and_then(Node::as_map) else {
        return Err(ConfigError::Crds(format!("{file}: expected a mapping of type names")).into());
    };
    let mut config = Config::default();
    for (name, definition) in types.iter() {
        let kind = name.rsplit('.').next().unwrap_or(name);
        if is_root(definition) {
            let mut walk = Walk { types, kind, config: &mut config };
            walk.properties(definition, &[], 0);
        }
    }
    config.sort();
    Ok(config)
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
}

impl Walk<'_> {
    fn properties(&mut self, definition: &Node, path: &[&str], depth: usize) {
        if depth >= MAX_DEPTH {
            return;
        }
        let Some(map) = properties(definition) else { return };
        for (name, property) in map.iter() {
            let path: Vec<&str> = path.iter().copied().chain([name]).collect();
            self.property(property, &path);
            if let Some(target) = property.text_at(&["$ref"]).and_then(|name| self.types.get(name)) {
                self.properties(target, &path, depth + 1);
            }
        }
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
