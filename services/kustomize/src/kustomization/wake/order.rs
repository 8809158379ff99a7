//! The order in which Kustomizations start that one change concerns (KS-REC-5).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_api::Kustomization;
use weir_runtime::ObjectKey;

use crate::kustomization::observe::dependencies_of;

/// Returns the Kustomizations, those first that others among them depend on. A circle leaves all in the order of before; each
/// of its members says so in its own condition.
#[must_use]
pub fn in_order(concerned: &[Arc<Kustomization>]) -> Vec<&Arc<Kustomization>> {
    let places: HashMap<ObjectKey, usize> =
        concerned.iter().enumerate().map(|(place, object)| (ObjectKey::of(&**object), place)).collect();
    let mut waits_for = vec![0_usize; concerned.len()];
    let mut waited_for_by: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, object) in concerned.iter().enumerate() {
        for dependency in dependencies_of(object).filter_map(|key| places.get(&key)) {
            waited_for_by.entry(*dependency).or_default().push(place);
            if let Some(count) = waits_for.get_mut(place) {
                *count += 1;
            }
        }
    }
    let free = waits_for.iter().enumerate().filter(|(_, count)| **count == 0).map(|(place, _)| place);
    let mut left: VecDeque<usize> = free.collect();
    let mut sorted = Vec::with_capacity(concerned.len());
    while let Some(place) = left.pop_front() {
        sorted.extend(concerned.get(place));
        for next in waited_for_by.remove(&place).unwrap_or_default() {
            let Some(count) = waits_for.get_mut(next) else { continue };
            *count -= 1;
            if *count == 0 {
                left.push_back(next);
            }
        }
    }
    if sorted.len() == concerned.len() {
        return sorted;
    }
    tracing::warn!("circular dependency among Kustomizations: they start unsorted");
    concerned.iter().collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("c:b b:a a", "a b c")]
    #[case("x:elsewhere b:a,a a", "x a b")]
    #[case("b:a a:b c", "b a c")]
    #[case("", "")]
    fn dependencies_come_first(#[case] objects: &str, #[case] expected: &str) {
        let objects: Vec<Arc<Kustomization>> = objects
            .split_whitespace()
            .map(|object| {
                let (name, on) = object.split_once(':').unwrap_or((object, ""));
                let on = on.split(',').filter(|name| !name.is_empty());
                let on: Vec<_> = on.map(|name| json!({"name": name})).collect();
                let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                    "metadata": {"name": name, "namespace": "apps"}, "spec": {"interval": "1h", "prune": true,
                    "dependsOn": on, "sourceRef": {"kind": "GitRepository", "name": "src"}}});
                Arc::new(serde_json::from_value(object).unwrap())
            })
            .collect();
        let sorted = in_order(&objects);
        let names: Vec<&str> = sorted.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
        assert_eq!(names.join(" "), expected);
    }
}
