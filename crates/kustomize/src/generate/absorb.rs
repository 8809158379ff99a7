//! Generated objects meet the ones that are there (§9.3).

use weir_yaml::{Entry, Map, Node, Tag};

use super::error::GenerateError;
use crate::Error;
use crate::accumulator::Accumulator;
use crate::id::ResId;
use crate::resource::{Behavior, Resource};
use crate::schema::Schema;

/// Adds, merges or replaces, by the object's behaviour.
pub(super) fn into(accumulated: &mut Accumulator, made: Resource, schema: &Schema) -> Result<(), Error> {
    let matches = accumulated.resources.find_any(&made.id(), schema);
    let wants_old = matches!(made.behavior, Behavior::Merge | Behavior::Replace);
    match matches.as_slice() {
        [] if wants_old => Err(GenerateError::NothingToMerge(go_id(made.id())).into()),
        [] => accumulated.resources.append(made, schema),
        [_] if !wants_old => {
            Err(GenerateError::Exists { id: go_id(made.id()), behavior: made.behavior.name() }.into())
        }
        [position] => {
            if let Some(old) = accumulated.resources.get_mut(*position) {
                *old = combined(old, made);
            }
            Ok(())
        }
        several => {
            let ids: Vec<String> = several
                .iter()
                .filter_map(|position| accumulated.resources.get(*position))
                .map(|resource| resource.id().to_string())
                .collect();
            Err(GenerateError::Ambiguous { id: go_id(made.id()), matches: ids.join(", ") }.into())
        }
    }
}

/// Prints an id with all its fields, as Go does.
fn go_id(id: ResId<'_>) -> String {
    format!(
        "resid.ResId{{Gvk:resid.Gvk{{Group:\"{}\", Version:\"{}\", Kind:\"{}\", isClusterScoped:false}}, \
         Name:\"{}\", Namespace:\"{}\"}}",
        id.gvk.group, id.gvk.version, id.gvk.kind, id.name, id.namespace
    )
}

/// The new object in the place of the old one: old name, old metadata under the new, and for a merge old data
/// under the new (KZ-924, KZ-925).
fn combined(old: &Resource, mut made: Resource) -> Resource {
    for section in ["labels", "annotations"] {
        merge_metadata(old, &mut made, section);
    }
    let (name, namespace) = (old.name().to_owned(), old.namespace().to_owned());
    made.set_metadata("name", &name);
    if namespace.is_empty() {
        made.metadata_mut().map(|metadata| metadata.remove("namespace"));
    } else {
        made.set_metadata("namespace", &namespace);
    }
    if made.behavior == Behavior::Merge {
        for section in ["data", "binaryData"] {
            if let Some(map) = made.node.as_map_mut() {
                merge_into(old.node.get(section), map, section);
            }
        }
        made.origin = old.origin.clone();
    } else if old.origin.is_some() && made.origin.is_none() {
        made.origin = old.origin.clone();
    }
    made.needs_hash = old.needs_hash && made.needs_hash;
    made.history = old.history.clone();
    made.prefixes = old.prefixes.clone();
    made.suffixes = old.suffixes.clone();
    made.transformations = old.transformations.clone();
    made.behavior = old.behavior;
    made.var_names = old.var_names.clone();
    made
}

fn merge_metadata(old: &Resource, made: &mut Resource, section: &str) {
    let Some(from) = old.node.at(&["metadata", section]) else { return };
    if let Some(metadata) = made.metadata_mut() {
        merge_into(Some(from), metadata, section);
    }
}

/// Puts the entries of `from` under those that `parent.section` has. All values become strings; a section without
/// entries goes.
fn merge_into(from: Option<&Node>, parent: &mut Map, section: &str) {
    let from = from.and_then(Node::as_map).map(|map| map.entries.as_slice()).unwrap_or_default();
    let Some(into) = parent.get_or_insert_with(section, Node::map).and_then(Node::as_map_mut) else { return };
    let old: Vec<Entry> = {
        let present = into.index();
        from.iter().filter(|entry| present.get(&entry.key.text).is_none()).cloned().collect()
    };
    into.entries.extend(old);
    for entry in &mut into.entries {
        if let Node::Scalar(scalar) = &mut entry.value {
            scalar.tag = Tag::Str;
        }
    }
    if into.is_empty() {
        parent.remove(section);
    }
}
