//! From documents to resources: validation and the expansion of lists (KZ-607, KZ-608).

use std::collections::{BTreeMap, VecDeque};

use weir_yaml::{Map, Node, Position};

use crate::Error;
use crate::normal::{Quotes, normalised};
use crate::resource::{Resource, text_at};
use crate::yaml;

/// Reads resources from the content of a file, or from text that stands in one. `name` is for messages.
///
/// # Errors
/// It is no YAML, or as for [`resources`].
pub(crate) fn read(name: &str, content: Vec<u8>) -> Result<Vec<Resource>, Error> {
    resources(yaml::documents(&yaml::source(name, content, name)?, name)?)
}

/// Turns the documents of one file into resources.
///
/// # Errors
/// A document lacks kind or name, or `items` is no list.
pub(crate) fn resources(documents: Vec<Node>) -> Result<Vec<Resource>, Error> {
    let mut queue: VecDeque<Node> =
        unwrap_single_list(documents).into_iter().filter(|node| !is_nothing(node)).collect();
    queue.iter().try_for_each(validate)?;
    let mut resources = Vec::with_capacity(queue.len());
    while let Some(node) = queue.pop_front() {
        let kind = node.text_at(&["kind"]).unwrap_or_default();
        let Some(items) = node.get("items").filter(|_| kind.ends_with("List")) else {
            resources.push(Resource::new(node));
            continue;
        };
        if items.is_null() {
            continue;
        }
        let Some(items) = items.as_seq() else {
            let problem = format!("expected array in {kind}/items, but found {}", go_type(items));
            return Err(invalid(problem, node.position()));
        };
        for item in items {
            // The reference sends items through JSON, which is why their quotes are JSON's.
            let item = normalised(&item.before_text(), Quotes::Json)
                .map_err(|cause| invalid(cause.to_string(), item.position()))?;
            if !is_nothing(&item) {
                validate(&item)?;
                queue.push_back(item);
            }
        }
    }
    Ok(resources)
}

/// A file that holds nothing but one `List` stands for the items of the list. Empty documents count, as in the reference. A list
/// without items that has the configuration of a function stands for nothing.
fn unwrap_single_list(mut documents: Vec<Node>) -> Vec<Node> {
    let [document] = documents.as_mut_slice() else { return documents };
    if !matches!(document.text_at(&["kind"]), Some("List" | "ResourceList")) {
        return documents;
    }
    if document.get("items").is_none() && document.get("functionConfig").is_some() {
        return Vec::new();
    }
    match document.get_mut("items").and_then(Node::as_seq_mut) {
        Some(items) => std::mem::take(items),
        None => documents,
    }
}

fn is_nothing(node: &Node) -> bool {
    node.is_null() || node.is_empty_collection()
}

/// Checks that a document has kind and name.
///
/// # Errors
/// One of them is missing (KZ-607).
pub(crate) fn validate(node: &Node) -> Result<(), Error> {
    let text = |path: &[&str]| text_at(node, path);
    let (api_version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    if node.as_map().is_none()
        || (api_version.is_empty() && kind.is_empty() && node.get("metadata").is_none())
    {
        return Err(invalid("missing Resource metadata".to_owned(), node.position()));
    }
    let (name, namespace) = (text(&["metadata", "name"]), text(&["metadata", "namespace"]));
    let missing = match () {
        () if kind.is_empty() => "kind",
        () if name.is_empty() && !kind.ends_with("List") => "metadata.name",
        () => return Ok(()),
    };
    let (labels, annotations) = (go_map(node, "labels"), go_map(node, "annotations"));
    let object = format!("{{{{{api_version} {kind}}} {{{{{name} {namespace}}} {labels} {annotations}}}}}");
    Err(invalid(format!("missing {missing} in object {object}"), node.position()))
}

/// Writes a map of `metadata` as Go prints it, in the order of its keys.
fn go_map(node: &Node, field: &str) -> String {
    let map = node.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Node::as_map);
    let entries: BTreeMap<_, _> = map.into_iter().flat_map(Map::iter).collect();
    let entries = entries.iter().map(|(key, value)| format!("{key}:{}", value.text().unwrap_or_default()));
    format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
}

fn invalid(problem: String, position: Option<Position>) -> Error {
    Error::InvalidResource { problem, position }
}

fn go_type(node: &Node) -> &'static str {
    match node {
        Node::Map(_) => "map[string]interface {}",
        Node::Seq(_) => "[]interface {}",
        Node::Scalar(scalar) => match scalar.value() {
            Ok(weir_yaml::Value::Bool(_)) => "bool",
            Ok(weir_yaml::Value::Str(_)) | Err(_) => "string",
            Ok(_) => "float64",
        },
    }
}

/// One document, for tests.
#[cfg(test)]
pub(crate) fn parse_one(text: &str) -> Node {
    let source = weir_yaml::Source::file("test.yaml", text.to_owned());
    weir_yaml::parse_first_document(&source, &weir_yaml::Limits::default()).unwrap().unwrap()
}
