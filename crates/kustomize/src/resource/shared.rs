//! Values that stand in several places of a resource at once.
//!
//! A label that the reference adds to several fields of a resource is one node that hangs in all of them: whoever changes
//! it in one place later, be it a patch or another label of the same name, changes it in all. Selectors follow labels that
//! way, so manifests depend on it.

use std::sync::Arc;

use weir_yaml::{Node, Scalar};

/// The only list on the way to labels whose elements patches merge; they replace the others.
const MERGED_LIST: &str = "topologySpreadConstraints";

/// The facts about the shared values of one resource.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedValues {
    values: Vec<SharedValue>,
}

/// One key with one value in several mappings.
#[derive(Debug, Clone)]
struct SharedValue {
    key: Arc<str>,
    value: Scalar,
    /// Paths of the mappings, in the order in which a merge comes to them.
    places: Vec<Arc<[String]>>,
}

impl SharedValues {
    /// Notes that a value was put into these mappings as one node.
    pub(crate) fn add(&mut self, key: &str, value: Scalar, mut places: Vec<Arc<[String]>>) {
        places.sort();
        places.dedup();
        if places.len() > 1 {
            self.values.push(SharedValue { key: key.into(), value, places });
        }
    }

    /// Carries a change in one place to the others. Places that are gone are forgotten.
    pub(crate) fn follow(&mut self, node: &mut Node) {
        self.values.retain_mut(|shared| shared.follow(node));
    }

    /// Forgets the places in and below a field that has been written anew.
    pub(crate) fn forget_below(&mut self, path: &[&str]) {
        self.forget(|place| place.len() >= path.len() && place.iter().zip(path).all(|(a, b)| a == b));
    }

    /// Forgets the places whose mappings a patch puts others in the place of.
    pub(crate) fn forget_replaced(&mut self, patch: &Node) {
        self.forget(|place| is_replaced(patch, place));
    }

    fn forget(&mut self, is_gone: impl Fn(&[String]) -> bool) {
        for shared in &mut self.values {
            shared.places.retain(|place| !is_gone(place));
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }
}

impl SharedValue {
    /// As [`SharedValues::follow`]; returns true when there still are several places.
    fn follow(&mut self, node: &mut Node) -> bool {
        let mut changed = None;
        let (key, value) = (&self.key, &self.value);
        self.places.retain(|path| {
            let mut is_there = false;
            each_value(node, path, key, &mut |found| {
                is_there = true;
                // The style is that of the place: a text that YAML 1.1 would read as something else was quoted there.
                if found.text != value.text {
                    changed = Some(found.clone());
                }
            });
            is_there
        });
        if let Some(changed) = changed {
            for path in &self.places {
                each_value(node, path, &self.key, &mut |found| found.clone_from(&changed));
            }
            self.value = changed;
        }
        self.places.len() > 1
    }
}

/// Returns true when a patch replaces a mapping, or something above it, as a whole. At its root the directive has no
/// effect.
fn is_replaced(patch: &Node, place: &[String]) -> bool {
    let Some((part, rest)) = place.split_first() else { return false };
    let part = part.strip_suffix("[]").unwrap_or(part);
    match patch.get(part) {
        Some(field @ Node::Map(_)) => {
            field.text_at(&["$patch"]) == Some("replace") || is_replaced(field, rest)
        }
        Some(Node::Seq(_)) => part != MERGED_LIST,
        Some(Node::Scalar(_)) | None => false,
    }
}

/// Visits what stands under `key` in every mapping that the path leads to; lists on the way are entered.
fn each_value(node: &mut Node, path: &[String], key: &str, visit: &mut dyn FnMut(&mut Scalar)) {
    match (node, path.split_first()) {
        (Node::Seq(items), _) => items.iter_mut().for_each(|item| each_value(item, path, key, visit)),
        (Node::Map(map), Some((part, rest))) => {
            if let Some(field) = map.get_mut(part.strip_suffix("[]").unwrap_or(part)) {
                each_value(field, rest, key, visit);
            }
        }
        (Node::Map(map), None) => {
            if let Some(Node::Scalar(found)) = map.get_mut(key) {
                visit(found);
            }
        }
        (Node::Scalar(_), _) => {}
    }
}
