//! Lists with elements that lack keys, or with several of the same keys. As in the reference, each element is compared
//! with all others: the results depend on it.

use weir_yaml::{Node, Scalar, Tag};

use super::key::{fill_gaps, narrowed, unique_tuples, valid_keys, valid_values};
use super::{Lists, Pair, is_nothing, replaces};
use crate::Error;
use crate::merge::{Merger, quote_ambiguous};
use crate::patch::error::PatchError;
use crate::schema::Field;

/// Longest list that is merged in this way, whose time is its length squared; real lists have tens of elements.
const MAX_ELEMENTS: usize = 5_000;

impl Merger<'_> {
    pub(super) fn pairwise(
        &self,
        mut lists: Lists,
        keys: &[String],
        element: &Field,
    ) -> Result<Vec<Node>, Error> {
        let length = lists.target.len() + lists.patch.given().len();
        if length > MAX_ELEMENTS {
            return Err(PatchError::LongList { length, limit: MAX_ELEMENTS }.into());
        }
        let mut tuples = unique_tuples(lists.patch.given().iter().chain(&lists.target), keys);
        if keys.len() > 1 {
            fill_gaps(&mut tuples);
        }
        let valid = valid_keys(&tuples, keys);
        let mut merged = Vec::new();
        for tuple in &tuples {
            let values = valid_values(tuple, &valid, keys);
            let pair = lists.pair(&valid, &values);
            let patch = lists.patch_of(pair);
            let replaces = replaces(patch);
            let before = pair.target.and_then(|at| lists.target.get(at)).cloned();
            let value = self.element(before, patch, element)?;
            lists.obeyed(pair);
            let Some(mut value) = value else {
                set(&mut lists.target, None, &valid, &values);
                continue;
            };
            complete(&mut value, &valid, &values);
            if !replaces {
                lists.change_target(pair, &value);
            }
            set(&mut merged, Some(value), &valid, &values);
        }
        append_all(&mut merged, lists.target, &valid)?;
        Ok(merged)
    }
}

impl Lists {
    /// Finds an element by those of its keys that have values.
    fn pair(&self, valid: &[String], values: &[String]) -> Pair {
        let (keys, values) = narrowed(valid, values);
        Pair { target: find(&self.target, &keys, &values), patch: find(self.patch.given(), &keys, &values) }
    }

    /// A directive works once: where gaps made two tuples the same, the element is an ordinary one the next time.
    fn obeyed(&mut self, pair: Pair) {
        let given = pair.patch.and_then(|at| self.patch.given_mut().get_mut(at));
        if let Some(map) = given.and_then(Node::as_map_mut) {
            map.remove("$patch");
        }
    }

    fn change_target(&mut self, pair: Pair, value: &Node) {
        if let Some(slot) = pair.target.and_then(|at| self.target.get_mut(at)) {
            slot.clone_from(value);
        }
    }
}

fn find(elements: &[Node], keys: &[String], values: &[String]) -> Option<usize> {
    elements.iter().position(|element| {
        keys.iter().zip(values).all(|(key, value)| match key.as_str() {
            "" => element.text().unwrap_or_default() == value,
            key => element.get(key).is_some_and(|field| field.text().unwrap_or_default() == value),
        })
    })
}

/// Makes sure that a merged element has its keys.
fn complete(element: &mut Node, keys: &[String], values: &[String]) {
    match element {
        Node::Map(map) => {
            for (key, value) in keys.iter().zip(values) {
                if !value.is_empty() && !map.contains(key) {
                    let mut text = Node::plain(value.as_str());
                    quote_ambiguous(&mut text);
                    map.set(key, text);
                }
            }
        }
        Node::Scalar(scalar) => *scalar = Scalar { tag: Tag::Unset, ..scalar.clone() },
        Node::Seq(_) => {}
    }
}

/// Replaces the elements that match with `element`, appends it when none does; removes them when it is `None`
/// (KZ-828).
fn set(list: &mut Vec<Node>, element: Option<Node>, keys: &[String], values: &[String]) {
    let wants_maps = keys.first().is_some_and(|key| !key.is_empty())
        && values.first().is_some_and(|value| !value.is_empty());
    let mut found = false;
    list.retain_mut(|old| {
        if is_nothing(old) {
            return false;
        }
        if old.as_map().is_none() && wants_maps {
            return true;
        }
        if values.is_empty() || !has_fields(old, keys, values) {
            return !values.is_empty();
        }
        found = true;
        if let Some(element) = &element {
            old.clone_from(element);
        }
        element.is_some()
    });
    if !found {
        list.extend(element);
    }
}

fn has_fields(element: &Node, keys: &[String], values: &[String]) -> bool {
    keys.iter().zip(values).all(|(key, value)| match key.as_str() {
        "" => element.text().unwrap_or_default() == value,
        key => has_field(element, key, value),
    })
}

/// Returns true when a field has the text; any content will do when none is asked for.
fn has_field(element: &Node, key: &str, value: &str) -> bool {
    element.get(key).is_some_and(|field| value.is_empty() || field.text() == Some(value))
}

/// Puts the target's elements behind the merged ones; those that are there already take their places (step 4).
fn append_all(merged: &mut Vec<Node>, target: Vec<Node>, keys: &[String]) -> Result<(), Error> {
    for element in target {
        if keys.first().is_some_and(String::is_empty) {
            let value = vec![element.text().unwrap_or_default().to_owned()];
            set(merged, Some(element), keys, &value);
            continue;
        }
        if element.as_map().is_none() && !element.is_null() {
            return Err(Error::wrong_kind("MappingNode", &element));
        }
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            match element.get(key).filter(|field| !field.is_null() || field.text().is_some()) {
                Some(field) => values.push(field.text().unwrap_or_default().to_owned()),
                None => merged.push(element.clone()),
            }
        }
        if keys.len() > 1 {
            set(merged, None, keys, &values);
        }
        set(merged, Some(element), keys, &values);
    }
    Ok(())
}
