//! Kustomizations that wait for each other, and so never begin (KS-REC-5).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_api::Kustomization;
use weir_runtime::ObjectKey;

use super::observe::dependencies_of;

/// Returns the end of a message about a Kustomization that waits: the circle that it is part of, or nothing.
pub(super) fn text(start: &ObjectKey, find: impl Fn(&ObjectKey) -> Option<Arc<Kustomization>>) -> String {
    let circle = circle_of(start, find);
    if circle.is_empty() {
        return String::new();
    }
    let names: Vec<String> = circle.iter().map(ToString::to_string).collect();
    format!(": circular dependency detected: {}", names.join(" -> "))
}

/// The shortest way from a Kustomization over its dependencies back to it. Each is looked at once.
fn circle_of(start: &ObjectKey, find: impl Fn(&ObjectKey) -> Option<Arc<Kustomization>>) -> Vec<ObjectKey> {
    let mut came_from: HashMap<ObjectKey, ObjectKey> = HashMap::new();
    let mut left = VecDeque::from([start.clone()]);
    while let Some(key) = left.pop_front() {
        let Some(found) = find(&key) else { continue };
        for next in dependencies_of(&found) {
            if next == *start {
                let back = std::iter::successors(Some(key.clone()), |at| came_from.get(at).cloned());
                let mut way: Vec<ObjectKey> = std::iter::once(start.clone()).chain(back).collect();
                way.reverse();
                return way;
            }
            if !came_from.contains_key(&next) {
                came_from.insert(next.clone(), key.clone());
                left.push_back(next);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::none(&["a: b", "b: c"], "")]
    #[case::itself(&["a: a"], ": circular dependency detected: f/a -> f/a")]
    #[case::the_shortest(&["a: b d", "b: c", "c: a", "d: a"], ": circular dependency detected: f/a -> f/d -> f/a")]
    #[case::of_others(&["a: b", "b: c", "c: b"], "")]
    fn circles_are_named(#[case] edges: &[&str], #[case] expected: &str) {
        let find = |key: &ObjectKey| {
            let mut edges = edges.iter().filter_map(|edges| edges.split_once(": "));
            let (name, dependencies) = edges.find(|(name, _)| *name == key.name)?;
            let depends_on: Vec<_> = dependencies.split(' ').map(|name| json!({"name": name})).collect();
            let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": name, "namespace": "f"}, "spec": {"interval": "1m", "prune": true,
                    "sourceRef": {"kind": "Bucket", "name": "s"}, "dependsOn": depends_on}});
            Some(Arc::new(serde_json::from_value(object).unwrap()))
        };
        assert_eq!(text(&ObjectKey::new("f", "a"), find), expected);
    }
}
