//! Lists whose elements are matched by keys (KZ-826..829).

use weir_yaml::{Node, Scalar, Tag};

use super::directive::{Directive, is_empty_map};
use super::{Merger, Patch, quote_ambiguous};
use crate::Error;
use crate::patch::error::PatchError;
use crate::schema::Field;

/// Longest list that is merged by keys. The algorithm looks at all elements for each one, as the reference's does;
/// real lists have tens of elements.
const MAX_ELEMENTS: usize = 5_000;

/// The values of the keys of one element; empty where it lacks a key.
type Tuple = Vec<String>;

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
        match (directive, patched) {
            (Directive::Delete, _) => Ok(None),
            (Directive::Replace, Some(patched)) => self.elements(patched, Source::Same, keys, field),
            (_, Some(patched)) => self.elements(target, Source::Given(patched), keys, field),
            (_, None) if is_same => self.elements(target, Source::Same, keys, field),
            (_, None) => self.elements(target, Source::Absent, keys, field),
        }
        .map(|merged| merged.map(Node::Seq))
    }

    fn elements(
        &self,
        mut target: Vec<Node>,
        patch: Source,
        keys: &[String],
        field: &Field,
    ) -> Result<Option<Vec<Node>>, Error> {
        let (is_same, mut patched) = match patch {
            Source::Given(elements) => (false, elements),
            Source::Same => (true, Vec::new()),
            Source::Absent => (false, Vec::new()),
        };
        let length = target.len() + patched.len();
        if length > MAX_ELEMENTS {
            return Err(PatchError::LongList { length, limit: MAX_ELEMENTS }.into());
        }
        let primitive = [String::new()];
        let keys = if keys.is_empty() { &primitive } else { keys };
        let mut tuples = unique_tuples(patched.iter().chain(&target), keys);
        if tuples.is_empty() {
            return Ok(Some(target));
        }
        if keys.len() > 1 {
            fill_gaps(&mut tuples);
        }
        let valid = valid_keys(&tuples, keys);
        // An element without a type of its own is still looked up by its apiVersion and kind.
        let element = Field { target: field.target, merge_keys: None };
        let mut merged = Vec::new();
        for tuple in &tuples {
            let values = valid_values(tuple, &valid, keys);
            let (by_keys, by_values) = narrowed(&valid, &values);
            let at = find(&target, &by_keys, &by_values);
            let before = at.and_then(|at| target.get(at)).cloned();
            let given = find(&patched, &by_keys, &by_values);
            let source = match given.and_then(|given| patched.get(given)) {
                None if is_same && at.is_some() => Patch::Same,
                given => Patch::of(given),
            };
            let replaces = source.given().is_some_and(|node| node.text_at(&["$patch"]) == Some("replace"));
            let value = self.node(before, source, Some(&element))?.filter(|value| !is_nothing(value));
            // A directive works once: where gaps made two tuples the same, the element is an ordinary one the next time.
            if let Some(map) = given.and_then(|given| patched.get_mut(given)).and_then(Node::as_map_mut) {
                map.remove("$patch");
            }
            let Some(mut value) = value else {
                set(&mut target, None, &valid, &values);
                continue;
            };
            complete(&mut value, &valid, &values);
            // The reference changes the target's element in place, unless the patch's took its place (QK-01).
            if let Some(slot) = at.filter(|_| !replaces).and_then(|at| target.get_mut(at)) {
                *slot = value.clone();
            }
            set(&mut merged, Some(value), &valid, &values);
        }
        append_all(&mut merged, target, &valid)?;
        Ok(Some(merged))
    }
}

/// The elements of the patch for a list.
enum Source {
    Absent,
    Same,
    Given(Vec<Node>),
}

fn is_nothing(node: &Node) -> bool {
    node.is_null() || is_empty_map(node)
}

/// The text that a key has in an element; the empty key stands for the element itself.
fn key_text<'n>(element: &'n Node, key: &str) -> &'n str {
    let node = if key.is_empty() { Some(element) } else { element.get(key) };
    node.filter(|node| !node.is_null()).and_then(Node::text).unwrap_or_default()
}

fn unique_tuples<'n>(elements: impl Iterator<Item = &'n Node>, keys: &[String]) -> Vec<Tuple> {
    let mut seen = std::collections::HashSet::new();
    let mut tuples = Vec::new();
    for element in elements {
        let tuple: Tuple = keys.iter().map(|key| key_text(element, key).to_owned()).collect();
        if seen.insert(tuple.clone()) {
            tuples.push(tuple);
        }
    }
    tuples
}

/// Tuples that agree where both have values, and agree somewhere, become one (KZ-827, step 2). The reference compares each
/// tuple with the others as it was before its own round.
fn fill_gaps(tuples: &mut [Tuple]) {
    for first in 0..tuples.len() {
        let Some(before) = tuples.get(first).cloned() else { continue };
        for second in 0..tuples.len() {
            let filled = tuples.get(second).and_then(|other| filled(&before, other));
            if let Some(filled) = filled {
                for at in [first, second] {
                    if let Some(tuple) = tuples.get_mut(at) {
                        tuple.clone_from(&filled);
                    }
                }
            }
        }
    }
}

fn filled(a: &Tuple, b: &Tuple) -> Option<Tuple> {
    let mut agrees = false;
    let mut both = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(b) {
        agrees |= a == b;
        if a != b && !a.is_empty() && !b.is_empty() {
            return None;
        }
        both.push(if a.is_empty() { b.clone() } else { a.clone() });
    }
    agrees.then_some(both)
}

/// The keys that any tuple has a value for; all of them if there is none.
fn valid_keys(tuples: &[Tuple], keys: &[String]) -> Vec<String> {
    let has_value =
        |index: usize| tuples.iter().any(|tuple| tuple.get(index).is_some_and(|value| !value.is_empty()));
    let valid: Vec<String> =
        keys.iter().enumerate().filter(|(index, _)| has_value(*index)).map(|(_, key)| key.clone()).collect();
    if valid.is_empty() { keys.to_vec() } else { valid }
}

fn valid_values(tuple: &Tuple, valid: &[String], keys: &[String]) -> Tuple {
    keys.iter().zip(tuple).filter(|(key, _)| valid.contains(key)).map(|(_, value)| value.clone()).collect()
}

/// The keys of one tuple that have values, for finding its element; all if none has.
fn narrowed(valid: &[String], values: &[String]) -> (Vec<String>, Tuple) {
    let with_value = || valid.iter().zip(values).filter(|(_, value)| !value.is_empty());
    if with_value().next().is_none() {
        return (valid.to_vec(), values.to_vec());
    }
    with_value().map(|(key, value)| (key.clone(), value.clone())).unzip()
}

fn find(elements: &[Node], keys: &[String], values: &[String]) -> Option<usize> {
    elements.iter().position(|element| {
        keys.iter().zip(values).all(|(key, value)| match key.as_str() {
            "" => element.text().unwrap_or_default() == value,
            key => element.get(key).is_some_and(|field| field.text().unwrap_or_default() == value),
        })
    })
}

/// Returns true when a field has the text; any content will do when none is asked for.
fn has_field(element: &Node, key: &str, value: &str) -> bool {
    element.get(key).is_some_and(|field| value.is_empty() || field.text() == Some(value))
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
    let mut kept = Vec::with_capacity(list.len() + 1);
    for old in list.drain(..).filter(|old| !is_nothing(old)) {
        if old.as_map().is_none() && wants_maps {
            kept.push(old);
            continue;
        }
        let matches = !values.is_empty()
            && keys.iter().zip(values).all(|(key, value)| match key.as_str() {
                "" => old.text().unwrap_or_default() == value,
                key => has_field(&old, key, value),
            });
        if matches {
            found = true;
            kept.extend(element.clone());
        } else if !values.is_empty() {
            kept.push(old);
        }
    }
    if !found {
        kept.extend(element);
    }
    *list = kept;
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

#[cfg(test)]
mod tests {
    use super::fill_gaps;

    #[test]
    fn regression_4_each_round_of_filling_gaps_starts_with_the_tuple_as_it_was() {
        let mut tuples =
            [["", "UDP"], ["80", "UDP"], ["81", "UDP"]].map(|tuple| tuple.map(str::to_owned).to_vec());
        fill_gaps(&mut tuples);
        assert_eq!(tuples, [["81", "UDP"], ["80", "UDP"], ["81", "UDP"]]);
    }
}
