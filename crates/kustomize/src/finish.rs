//! The last steps of a build: what was only for the build is taken out again (§13.2).

use std::collections::HashSet;

use weir_yaml::{Map, Node, Style, Tag};

use crate::origin::transformations_annotation;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::{Error, input};

/// Says that a resource is for the build only (KZ-1315).
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
const ORIGIN: &str = "config.kubernetes.io/origin";
const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The version whose behaviour this is (KZ-1312).
const MANAGED_BY_VALUE: &str = "kustomize-v5.8.1";

const INTERNAL_PREFIX: &str = "internal.config.kubernetes.io/";
/// Internal annotations that never reach the output; others with the prefix do (KZ-1314).
const INTERNAL: [&str; 16] = [
    "previousKinds",
    "previousNames",
    "previousNamespaces",
    "prefixes",
    "suffixes",
    "refBy",
    "generatorBehavior",
    "needsHashSuffix",
    "allowNameChange",
    "allowKindChange",
    "path",
    "index",
    "seqindent",
    "id",
    "annotations-migration-resource-id",
    "helm-generated",
];
const LEGACY_INTERNAL: [&str; 3] =
    ["config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id"];

/// Removes resources that are for the build only.
///
/// # Errors
/// A resource has lost its kind or name.
pub(crate) fn drop_local(resources: &mut ResMap) -> Result<(), Error> {
    resources
        .iter()
        .filter(|resource| !resource.is_empty())
        .try_for_each(|resource| input::validate(&resource.node))?;
    resources.retain(|resource| {
        !resource.is_empty()
            && resource.metadata_entry("annotations", LOCAL_CONFIG).is_none_or(|value| value == "false")
    });
    Ok(())
}

/// Adds the wanted metadata and strips the notes of the build.
pub(crate) fn clean(resources: &mut [Resource], build_metadata: &[String], managed_by: bool) {
    let wants = |name: &str| build_metadata.iter().any(|wanted| wanted == name);
    let managed_by = managed_by || wants("managedByLabel");
    let (origins, transformations) = (wants("originAnnotations"), wants("transformerAnnotations"));
    for resource in resources {
        if managed_by && let Some(labels) = section(resource, "labels") {
            labels.set(MANAGED_BY, Node::string(MANAGED_BY_VALUE));
        }
        let origin = resource.origin.take().filter(|_| origins).map(|origin| origin.annotation());
        let steps = std::mem::take(&mut resource.transformations);
        let steps = (transformations && !steps.is_empty()).then(|| transformations_annotation(&steps));
        tidy_annotations(resource, origin, steps);
    }
}

/// A mapping of `metadata`, made when it is missing.
fn section<'r>(resource: &'r mut Resource, name: &str) -> Option<&'r mut Map> {
    let section = resource.metadata_mut()?.get_or_insert_with(name, Node::map)?;
    if section.is_null() {
        *section = Node::map();
    }
    section.as_map_mut()
}

fn is_internal(key: &str) -> bool {
    LEGACY_INTERNAL.contains(&key)
        || matches!(key, ORIGIN | TRANSFORMATIONS)
        || key.strip_prefix(INTERNAL_PREFIX).is_some_and(|name| INTERNAL.contains(&name))
}

/// Strips internal annotations and makes strings of the others; an empty mapping goes, but not the metadata that the
/// reference makes for it, which lists without items may lack (KZ-1316).
fn tidy_annotations(resource: &mut Resource, origin: Option<String>, steps: Option<String>) {
    if let Some(annotations) = resource.node.get_mut("metadata").and_then(|node| node.get_mut("annotations"))
    {
        strip(annotations);
    }
    for (key, text) in [(ORIGIN, origin), (TRANSFORMATIONS, steps)] {
        if let Some(text) = text
            && let Some(annotations) = section(resource, "annotations")
        {
            annotations.set(key, Node::string(text));
        }
    }
    let metadata = resource.node.as_map_mut().and_then(|map| map.get_or_insert_with("metadata", Node::map));
    let Some(metadata) = metadata.and_then(Node::as_map_mut) else { return };
    if metadata.get("annotations").is_some_and(|node| node.as_map().is_none_or(Map::is_empty)) {
        metadata.remove("annotations");
    }
}

fn strip(annotations: &mut Node) {
    let Some(map) = annotations.as_map_mut() else { return };
    let mut seen = HashSet::new();
    // Of an annotation that stands twice, the last counts.
    map.entries.reverse();
    map.entries.retain(|entry| !is_internal(&entry.key.text) && seen.insert(entry.key.text.to_string()));
    map.entries.reverse();
    for entry in &mut map.entries {
        match &mut entry.value {
            // The reference takes the text of the node, and only scalars have one.
            Node::Scalar(scalar) => (scalar.tag, scalar.style) = (Tag::Str, Style::Plain),
            value => *value = Node::string(""),
        }
    }
}
