//! Lists whose elements are matched by keys (KZ-826..829).
//!
//! ```text
//! list ── directive of the list ──► Lists ── every element has its keys, once? ──► plain    one look at each element
//!                                                            else ───────────────► pairwise all of them for each one
//! ```

mod key;
mod pairwise;
mod plain;

use weir_yaml::Node;

use super::directive::{Directive, is_empty_map};
use super::{Merger, Patch};
use crate::Error;
use crate::schema::Field;

/// The two lists of a merge.
struct Lists {
    target: Vec<Node>,
    patch: Elements,
}

/// The elements of the patch for a list.
enum Elements {
    /// The patch does not mention the list.
    Absent,
    /// They are those of the target.
    Same,
    /// The patch's own.
    Given(Vec<Node>),
}

/// The places of an element in the two lists.
#[derive(Debug, Clone, Copy)]
struct Pair {
    target: Option<usize>,
    patch: Option<usize>,
}

impl Merger<'_> {
    pub(super) fn list(
        &self,
        target: Option<Node>,
        patch: Patch<'_>,
        keys: &[String],
        field: &Field,
    ) -> Result<Option<Node>, Error> {
        if patch.is_null() {
            return Ok(None);
        }
        let given = patch.given().and_then(Node::as_seq);
        let (mut target, mut patched) = match (target, given) {
            // A list that the target lacks is taken as it is, a directive in it included (QK-02).
            (None | Some(Node::Scalar(_) | Node::Map(_)), Some(given)) => (given.to_vec(), None),
            (Some(Node::Seq(target)), given) => (target, given.map(<[Node]>::to_vec)),
            (_, None) => return Ok(None),
        };
        let is_same = patched.is_none() && !matches!(patch, Patch::Absent);
        let is_adopted = is_same && matches!(patch, Patch::Given(_));
        let directive = match &mut patched {
            Some(patched) => Directive::take_from_list(patched)?,
            None if is_same && !is_adopted => Directive::take_from_list(&mut target)?,
            None => Directive::Merge,
        };
        let lists = match (directive, patched) {
            (Directive::Delete, _) => return Ok(None),
            (Directive::Replace, Some(patched)) => Lists { target: patched, patch: Elements::Same },
            (_, Some(patched)) => Lists { target, patch: Elements::Given(patched) },
            (_, None) if is_same => Lists { target, patch: Elements::Same },
            (_, None) => Lists { target, patch: Elements::Absent },
        };
        self.elements(lists, keys, field).map(|merged| Some(Node::Seq(merged)))
    }

    fn elements(&self, lists: Lists, keys: &[String], field: &Field) -> Result<Vec<Node>, Error> {
        if lists.is_empty() {
            return Ok(lists.target);
        }
        let primitive = [String::new()];
        let keys = if keys.is_empty() { &primitive } else { keys };
        // An element without a type of its own is still looked up by its apiVersion and kind.
        let element = Field { target: field.target, merge_keys: None };
        match plain::Plan::of(&lists, keys) {
            Some(plan) => self.plain(lists, &plan, &element),
            None => self.pairwise(lists, keys, &element),
        }
    }

    /// Merges one element; `None` when nothing is left of it.
    fn element(
        &self,
        before: Option<Node>,
        patch: Patch<'_>,
        element: &Field,
    ) -> Result<Option<Node>, Error> {
        Ok(self.node(before, patch, Some(element))?.filter(|value| !is_nothing(value)))
    }
}

impl Lists {
    fn is_empty(&self) -> bool {
        self.target.is_empty() && self.patch.given().is_empty()
    }

    /// The patch for an element.
    fn patch_of(&self, pair: Pair) -> Patch<'_> {
        match pair.patch.and_then(|at| self.patch.given().get(at)) {
            None if matches!(self.patch, Elements::Same) && pair.target.is_some() => Patch::Same,
            given => Patch::of(given),
        }
    }
}

impl Elements {
    fn given(&self) -> &[Node] {
        match self {
            Self::Given(elements) => elements,
            Self::Absent | Self::Same => &[],
        }
    }

    fn given_mut(&mut self) -> &mut [Node] {
        match self {
            Self::Given(elements) => elements,
            Self::Absent | Self::Same => &mut [],
        }
    }
}

/// Returns true when the patch puts an element in the place of the target's. The reference changes the target's element in
/// place, which here it does not see (QK-01).
fn replaces(patch: Patch<'_>) -> bool {
    patch.given().is_some_and(|node| node.text_at(&["$patch"]) == Some("replace"))
}

fn is_nothing(node: &Node) -> bool {
    node.is_null() || is_empty_map(node)
}

#[cfg(test)]
mod tests;
