//! Lists in which all elements have the same keys and no two of a list the same values, as nearly all real ones are. None
//! of the reference's quirks with gaps and doubled elements concerns them: [`super::pairwise`] says the same of them.

use std::collections::{HashMap, HashSet};

use weir_yaml::{Node, Tag};

use super::key::key_text;
use super::{Lists, Pair, replaces};
use crate::Error;
use crate::merge::Merger;
use crate::schema::Field;

/// The merge of two such lists.
pub(super) struct Plan {
    /// Elements of the patch, then those that only the target has.
    pairs: Vec<Pair>,
    /// Of a list with several keys, the reference takes the target's elements out and puts them at the end.
    keeps_target_order: bool,
}

/// The values of all keys of one element; empty for keys that the list does not use.
type Identity<'n> = Vec<&'n str>;

impl Plan {
    /// The plan for two lists; nothing when they are not plain.
    pub(super) fn of(lists: &Lists, keys: &[String]) -> Option<Self> {
        let target = identities(&lists.target, keys)?;
        let patch = identities(lists.patch.given(), keys)?;
        let mut all = patch.iter().chain(&target);
        let first = all.next()?;
        let used = first.iter().filter(|value| !value.is_empty()).count();
        if used == 0 || !all.all(|other| uses_same_keys(first, other)) {
            return None;
        }
        let in_target: HashMap<_, _> =
            target.iter().enumerate().map(|(at, identity)| (identity, at)).collect();
        let patched = patch.iter().enumerate();
        let mut pairs: Vec<Pair> = patched
            .map(|(at, identity)| Pair { target: in_target.get(identity).copied(), patch: Some(at) })
            .collect();
        let mentioned: HashSet<usize> = pairs.iter().filter_map(|pair| pair.target).collect();
        let others = (0..target.len()).filter(|at| !mentioned.contains(at));
        pairs.extend(others.map(|at| Pair { target: Some(at), patch: None }));
        Some(Self { pairs, keeps_target_order: used > 1 })
    }
}

/// The identities of a list's elements; nothing when two are the same.
fn identities<'n>(list: &'n [Node], keys: &[String]) -> Option<Vec<Identity<'n>>> {
    let identity = |element| keys.iter().map(|key| key_text(element, key)).collect();
    let identities: Vec<Identity<'n>> = list.iter().map(identity).collect();
    let mut seen = HashSet::with_capacity(identities.len());
    identities.iter().all(|identity| seen.insert(identity)).then_some(identities)
}

fn uses_same_keys(a: &[&str], b: &[&str]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.is_empty() == b.is_empty())
}

impl Merger<'_> {
    pub(super) fn plain(&self, mut lists: Lists, plan: &Plan, element: &Field) -> Result<Vec<Node>, Error> {
        let mut target: Vec<Option<Node>> = std::mem::take(&mut lists.target).into_iter().map(Some).collect();
        let mut merged = Vec::with_capacity(plan.pairs.len());
        for pair in &plan.pairs {
            let before = pair.target.and_then(|at| target.get_mut(at)).and_then(Option::take);
            let patch = lists.patch_of(*pair);
            let unchanged = if replaces(patch) { before.clone() } else { None };
            let Some(value) = self.element(before, patch, element)? else { continue };
            let mut value = unchanged.unwrap_or(value);
            if let Node::Scalar(scalar) = &mut value {
                scalar.tag = Tag::Unset;
            }
            merged.push((pair.target, value));
        }
        if plan.keeps_target_order {
            merged.sort_by_key(|(at, _)| *at);
        }
        Ok(merged.into_iter().map(|(_, value)| value).collect())
    }
}
