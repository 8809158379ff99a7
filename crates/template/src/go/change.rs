//! The values that a run makes and changes.

use std::rc::Rc;

use super::value::{Map, Value};
use crate::limit::MAX_MADE;

/// Counts the bytes of new values, and holds the dictionaries that `set` and its like have changed, which it empties in the
/// end. Only these can hold themselves, or stand in a chain of values that is longer than the cap; emptied one by one, all
/// are freed without deep recursion.
#[derive(Debug, Default)]
pub(super) struct Changes {
    changed: Vec<Rc<Map>>,
    made: usize,
}

impl Changes {
    /// Counts a value that a function or the source has made.
    pub(super) fn count(&mut self, value: &Value) -> Result<(), String> {
        self.add(value.own_bytes())
    }

    /// Sets an entry of a dictionary.
    pub(super) fn set(&mut self, map: &Rc<Map>, key: &str, value: Value) -> Result<(), String> {
        self.note(map);
        if map.set(key, value)? { self.add(Map::ENTRY_BYTES + key.len()) } else { Ok(()) }
    }

    /// Takes an entry of a dictionary away, if it is there.
    pub(super) fn unset(&mut self, map: &Rc<Map>, key: &str) {
        self.note(map);
        map.unset(key);
    }

    fn note(&mut self, map: &Rc<Map>) {
        if !self.changed.last().is_some_and(|last| Rc::ptr_eq(last, map)) {
            self.changed.push(Rc::clone(map));
        }
    }

    fn add(&mut self, bytes: usize) -> Result<(), String> {
        self.made = self.made.saturating_add(bytes);
        if self.made > MAX_MADE { Err(format!("values of more than {MAX_MADE} bytes")) } else { Ok(()) }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.changed.iter().for_each(|map| map.empty());
    }
}
