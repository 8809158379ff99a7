//! The keys of elements, and what the reference makes of those that lack some.

use std::collections::HashSet;

use weir_yaml::Node;

/// The values of the keys of one element; empty where it lacks a key.
pub(super) type Tuple = Vec<String>;

/// The text that a key has in an element; the empty key stands for the element itself.
pub(super) fn key_text<'n>(element: &'n Node, key: &str) -> &'n str {
    let node = if key.is_empty() { Some(element) } else { element.get(key) };
    node.filter(|node| !node.is_null()).and_then(Node::text).unwrap_or_default()
}

pub(super) fn unique_tuples<'n>(elements: impl Iterator<Item = &'n Node>, keys: &[String]) -> Vec<Tuple> {
    let mut seen = HashSet::new();
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
pub(super) fn fill_gaps(tuples: &mut [Tuple]) {
    for first in 0..tuples.len() {
        let Some(before) = tuples.get(first).cloned() else { continue };
        for second in 0..tuples.len() {
            let other = tuples.get(second).filter(|other| may_be_one(&before, other));
            let Some(filled) = other.map(|other| filled(&before, other)) else { continue };
            for at in [first, second] {
                if let Some(tuple) = tuples.get_mut(at) {
                    tuple.clone_from(&filled);
                }
            }
        }
    }
}

fn may_be_one(a: &Tuple, b: &Tuple) -> bool {
    let mut agrees = false;
    for (a, b) in a.iter().zip(b) {
        agrees |= a == b;
        if a != b && !a.is_empty() && !b.is_empty() {
            return false;
        }
    }
    agrees
}

fn filled(a: &Tuple, b: &Tuple) -> Tuple {
    a.iter().zip(b).map(|(a, b)| if a.is_empty() { b } else { a }.clone()).collect()
}

/// The keys that any tuple has a value for; all of them if there is none.
pub(super) fn valid_keys(tuples: &[Tuple], keys: &[String]) -> Vec<String> {
    let has_value =
        |index: usize| tuples.iter().any(|tuple| tuple.get(index).is_some_and(|value| !value.is_empty()));
    let valid: Vec<String> =
        keys.iter().enumerate().filter(|(index, _)| has_value(*index)).map(|(_, key)| key.clone()).collect();
    if valid.is_empty() { keys.to_vec() } else { valid }
}

pub(super) fn valid_values(tuple: &Tuple, valid: &[String], keys: &[String]) -> Tuple {
    keys.iter().zip(tuple).filter(|(key, _)| valid.contains(key)).map(|(_, value)| value.clone()).collect()
}

/// The keys of one tuple that have values, for finding its element; all if none has.
pub(super) fn narrowed(valid: &[String], values: &[String]) -> (Vec<String>, Tuple) {
    let with_value = || valid.iter().zip(values).filter(|(_, value)| !value.is_empty());
    if with_value().next().is_none() {
        return (valid.to_vec(), values.to_vec());
    }
    with_value().map(|(key, value)| (key.clone(), value.clone())).unzip()
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
