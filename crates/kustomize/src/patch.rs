//! `patches`, `patchesStrategicMerge` and `patchesJson6902`: loading them and finding what they patch (§8.1, §8.2).

pub(crate) mod error;
mod json6902;
mod strategic;

use std::rc::Rc;

use weir_yaml::{Map, Node, emit};

use self::error::PatchError;
pub(crate) use self::json6902::Json6902Transformer;
pub(crate) use self::strategic::StrategicMergeTransformer;
use crate::Error;
use crate::build::Build;
use crate::jsonpatch::{self, Operation};
use crate::kustomization::{Patch, PatchOptions, Selector};
use crate::loader::Loader;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::selector::{CompiledSelector, SelectorError};
use crate::transform::Transformer;
use crate::{input, merge, quote};

/// An entry of `patches`: either kind, found out from its text.
pub(crate) struct PatchTransformer {
    content: Content,
    source: String,
    target: Option<CompiledSelector>,
    options: PatchOptions,
}

enum Content {
    Nothing,
    StrategicMerge(Vec<Resource>),
    Json(Vec<Operation>),
}

impl PatchTransformer {
    /// Loads and parses the patch.
    ///
    /// # Errors
    /// The text is missing, unreadable, or no patch.
    pub(crate) fn load(build: &Build<'_>, loader: &Rc<Loader>, patch: &Patch) -> Result<Self, Error> {
        let inline = patch.patch.trim();
        let (name, text, source) = match (inline.is_empty(), patch.path.is_empty()) {
            (true, true) => return Err(PatchError::NoPatch(config_yaml(patch)).into()),
            (false, false) => return Err(PatchError::PatchAndPath(config_yaml(patch)).into()),
            (false, true) => {
                let shown = quote::patch(inline, patch.target.as_ref());
                (String::new(), inline.as_bytes().to_vec(), format!("[patch: {shown:?}]"))
            }
            (true, false) => {
                let content = loader.read(build, &patch.path).map_err(|cause| PatchError::Unreadable {
                    path: patch.path.clone(),
                    cause: Box::new(cause),
                })?;
                (patch.path.clone(), content, format!("[path: {:?}]", patch.path))
            }
        };
        let target = patch.target.as_ref().map(CompiledSelector::of_build).transpose()?;
        Ok(Self { content: Content::parse(&name, text, &source)?, source, target, options: patch.options })
    }
}

impl Content {
    fn parse(name: &str, text: Vec<u8>, source: &str) -> Result<Self, Error> {
        let as_json = jsonpatch::parse(name, &text);
        let as_merge = input::read(name, text);
        match (as_merge, as_json) {
            (Ok(patches), Ok(operations)) if !patches.is_empty() && !operations.is_empty() => {
                Err(PatchError::BothKinds(source.to_owned()).into())
            }
            (Ok(patches), _) if patches.is_empty() => Ok(Self::Nothing),
            (Ok(patches), _) => Ok(Self::StrategicMerge(patches)),
            (Err(_), Ok(operations)) => Ok(Self::Json(operations)),
            (Err(as_merge), Err(as_json)) => Err(PatchError::NeitherKind {
                source_text: source.to_owned(),
                as_merge: Box::new(as_merge),
                as_json: Box::new(as_json),
            }
            .into()),
        }
    }
}

impl Transformer for PatchTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let schema = build.schema();
        match (&self.content, &self.target) {
            (Content::Nothing, _) => Ok(()),
            (Content::StrategicMerge(patches), None) => {
                patches.iter().try_for_each(|patch| self.apply_to_own_target(patch, resources, schema))
            }
            (Content::StrategicMerge(patches), Some(target)) => match patches.as_slice() {
                [patch] => self.apply_to_selected(patch, target, build, resources),
                _ => Err(PatchError::SeveralPatches(self.source.clone()).into()),
            },
            (Content::Json(_), None) => Err(PatchError::NoTarget(self.source.clone()).into()),
            (Content::Json(operations), Some(target)) => {
                apply_operations(operations, target, build, resources)
            }
        }
    }
}

impl PatchTransformer {
    fn apply_to_own_target(
        &self,
        patch: &Resource,
        resources: &mut ResMap,
        schema: &Schema,
    ) -> Result<(), Error> {
        let position = find_target(patch, resources, schema)
            .map_err(|cause| PatchError::NoMatch { id: patch.id().to_string(), cause: Box::new(cause) })?;
        apply_strategic_merge(patch, position, self.options, resources, schema)
    }

    fn apply_to_selected(
        &self,
        patch: &Resource,
        target: &CompiledSelector,
        build: &Build<'_>,
        resources: &mut ResMap,
    ) -> Result<(), Error> {
        let schema = build.schema();
        for position in selected(target, resources, schema)? {
            build.options.stop.check()?;
            merge_copy(patch, position, self.options, resources, schema)?;
        }
        if self.options == PatchOptions::default() { Ok(()) } else { resources.check_unique(schema) }
    }
}

/// Merges a copy of a patch into one resource, whose version may be another than the patch names (KZ-813). The reference writes
/// labels and annotations of the copy anew, which makes strings of their values: `null` does not remove a label there.
fn merge_copy(
    patch: &Resource,
    position: usize,
    options: PatchOptions,
    resources: &mut ResMap,
    schema: &Schema,
) -> Result<(), Error> {
    let Some(target) = resources.get(position) else { return Ok(()) };
    let mut copy = patch.clone();
    copy.set_api_version(target.api_version());
    copy.stringify("labels");
    copy.stringify("annotations");
    apply_strategic_merge(&copy, position, options, resources, schema)
}

/// Positions of the resources that a target means.
fn selected(
    target: &CompiledSelector,
    resources: &ResMap,
    schema: &Schema,
) -> Result<Vec<usize>, SelectorError> {
    let mut positions = Vec::new();
    for (position, resource) in resources.iter().enumerate() {
        if !resource.is_empty() && target.matches_target(resource, schema)? {
            positions.push(position);
        }
    }
    Ok(positions)
}

/// The only resource that has or had the id of a patch.
fn find_target(patch: &Resource, resources: &mut ResMap, schema: &Schema) -> Result<usize, PatchError> {
    let id = patch.id();
    let problem = match resources.find_any(&id, schema).as_slice() {
        [position] => return Ok(*position),
        [] => "no matches for Id",
        _ => "multiple matches for Id",
    };
    Err(PatchError::NotUnique { problem, id: id.to_string() })
}

/// Merges one patch into one resource; name, kind and namespace stay unless the options allow otherwise (KZ-813).
fn apply_strategic_merge(
    patch: &Resource,
    position: usize,
    options: PatchOptions,
    resources: &mut ResMap,
    schema: &Schema,
) -> Result<(), Error> {
    let may_change_id = options != PatchOptions::default();
    let target = if may_change_id { resources.get_mut(position) } else { resources.content_mut(position) };
    let Some(target) = target else { return Ok(()) };
    let (name, namespace, kind) =
        (target.name().to_owned(), target.namespace().to_owned(), target.kind().to_owned());
    let mut annotated;
    let patch = if may_change_id {
        target.store_previous_id(schema);
        // The reference notes the options in annotations of the patch.
        annotated = patch.clone();
        annotated.stringify("annotations");
        &annotated
    } else {
        patch
    };
    target.shared.forget_replaced(&patch.node);
    let node = std::mem::replace(&mut target.node, Node::map());
    let Some(merged) = merge::merge(node, &patch.node, schema)? else { return Ok(()) };
    target.node = merged;
    if target.is_empty() {
        return Ok(());
    }
    if takes_all_annotations(&patch.node) {
        target.forget_notes();
    }
    if !options.allow_kind_change && target.kind() != kind {
        target.set_kind(&kind);
    }
    if !options.allow_name_change {
        target.set_metadata("name", &name);
    }
    target.set_namespace(&namespace);
    target.follow_shared();
    Ok(())
}

/// Returns true when no annotation that was there before stays.
fn takes_all_annotations(patch: &Node) -> bool {
    let takes_all = |node: &Node| matches!(node.text_at(&["$patch"]), Some("replace" | "delete"));
    let Some(metadata) = patch.get("metadata") else { return false };
    let annotations = metadata.get("annotations");
    takes_all(metadata) || annotations.is_some_and(|node| node.is_null() || takes_all(node))
}

/// Applies a JSON patch of `patches`; unlike `patchesJson6902` it may rename its targets.
fn apply_operations(
    operations: &[Operation],
    target: &CompiledSelector,
    build: &Build<'_>,
    resources: &mut ResMap,
) -> Result<(), Error> {
    let schema = build.schema();
    for position in selected(target, resources, schema)? {
        build.options.stop.check()?;
        let Some(resource) = resources.get_mut(position) else { continue };
        // This leaves a mapping of annotations, so operations find one (KZ-856).
        resource.store_previous_id(schema);
        resource.replace_node(jsonpatch::apply(&resource.node, operations)?);
    }
    Ok(())
}

/// The step of loading a patch, for messages (KZ-415).
pub(crate) fn configuring(name: &str, patch: &Patch) -> String {
    format!("trouble configuring builtin {name} with config: `\n{}`", config_yaml(patch))
}

/// The step of loading `patchesStrategicMerge`.
pub(crate) fn configuring_list(name: &str, sources: &[String]) -> String {
    let mut map = Map::new();
    map.set(
        "paths",
        Node::Seq(sources.iter().map(|source| Node::string(quote::patch(source, None))).collect()),
    );
    format!("trouble configuring builtin {name} with config: `\n{}`", printed(map))
}

fn config_yaml(patch: &Patch) -> String {
    let mut map = Map::new();
    let shown = quote::patch(&patch.patch, patch.target.as_ref());
    for (key, value) in [("path", patch.path.as_str()), ("patch", shown)] {
        if !value.is_empty() {
            map.set(key, Node::string(value));
        }
    }
    if let Some(target) = &patch.target {
        map.set("target", Node::Map(selector_map(target)));
    }
    printed(map)
}

fn selector_map(selector: &Selector) -> Map {
    let mut map = Map::new();
    for (key, value) in [
        ("group", &selector.group),
        ("version", &selector.version),
        ("kind", &selector.kind),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
        ("labelSelector", &selector.label_selector),
        ("annotationSelector", &selector.annotation_selector),
    ] {
        if !value.is_empty() {
            map.set(key, Node::string(value.as_str()));
        }
    }
    map
}

fn printed(map: Map) -> String {
    let mut out = String::new();
    // Maps of strings always print.
    let _printed = emit(&Node::Map(map), &mut out);
    out
}

#[cfg(test)]
mod tests;
