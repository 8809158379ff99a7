//! The order of kinds (§13.1).

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::id::{Gvk, ResId, or_placeholder};
use crate::kustomization::{LegacySortOptions, SortOptions};
use crate::resource::Resource;
use crate::{Error, Reorder};

/// Kinds that come first (KZ-1303).
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that come last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The default rank of a kind: below zero for the first ones, above for the last.
fn default_rank(kind: &str) -> isize {
    if let Some(at) = FIRST.iter().position(|first| *first == kind) {
        return at as isize - FIRST.len() as isize;
    }
    LAST.iter().position(|last| *last == kind).map_or(0, |at| at as isize + 1)
}

/// Returns the key that orders field specs and name references (KZ-704).
pub(crate) fn gvk_key(gvk: Gvk<'_>) -> (isize, String) {
    (default_rank(gvk.kind), gvk_text(gvk))
}

fn gvk_text(gvk: Gvk<'_>) -> String {
    format!(
        "{}_{}_{}",
        or_placeholder(gvk.group, "~G"),
        or_placeholder(gvk.version, "~V"),
        or_placeholder(gvk.kind, "~K")
    )
}

/// Sorts the final resources by the root's `sortOptions` or the option.
pub(crate) fn sort(
    resources: &mut [Resource],
    options: Option<&SortOptions>,
    reorder: Reorder,
) -> Result<(), Error> {
    let lists = match options {
        Some(SortOptions { order, legacy }) => match (order.as_str(), legacy) {
            ("legacy", legacy) => legacy.clone().unwrap_or_else(default_lists),
            ("fifo", None) => return Ok(()),
            ("fifo", Some(_)) => {
                return Err(Error::SortOptions(
                    "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not \
                     'legacy'"
                        .to_owned(),
                ));
            }
            _ => {
                return Err(Error::SortOptions(
                    "the field 'sortOptions.order' must be one of [fifo, legacy]".to_owned(),
                ));
            }
        },
        None if matches!(reorder, Reorder::Legacy | Reorder::Unspecified) => default_lists(),
        None => return Ok(()),
    };
    legacy(resources, &lists);
    Ok(())
}

fn default_lists() -> LegacySortOptions {
    let owned = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    LegacySortOptions { order_first: owned(&FIRST), order_last: owned(&LAST) }
}

fn legacy(resources: &mut [Resource], lists: &LegacySortOptions) {
    let first =
        lists.order_first.iter().rev().enumerate().map(|(at, kind)| (kind.as_str(), -(at as isize) - 1));
    let last = lists.order_last.iter().enumerate().map(|(at, kind)| (kind.as_str(), at as isize + 1));
    let ranks: HashMap<&str, isize> = first.chain(last).collect();
    resources.sort_by_cached_key(|resource| {
        let id = resource.id();
        let rank = ranks.get(id.gvk.kind).copied().unwrap_or_default();
        LegacyKey { rank, group_is_empty: id.gvk.group.is_empty(), gvk: gvk_text(id.gvk), id: id_text(id) }
    });
}

#[derive(PartialEq, Eq)]
struct LegacyKey {
    rank: isize,
    group_is_empty: bool,
    gvk: String,
    id: String,
}

impl Ord for LegacyKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gvk = || {
            // Core Namespaces go before those of other groups, against the order of the texts.
            let both_namespaces = self.gvk.ends_with("_Namespace") && other.gvk.ends_with("_Namespace");
            if both_namespaces && self.group_is_empty != other.group_is_empty {
                return other.group_is_empty.cmp(&self.group_is_empty);
            }
            self.gvk.cmp(&other.gvk)
        };
        self.rank.cmp(&other.rank).then_with(by_gvk).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for LegacyKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn id_text(id: ResId<'_>) -> String {
    format!("{}|{}|{}", id.gvk, or_placeholder(id.namespace, "~X"), id.name)
}
